// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/pipeline/ledger.hpp"
#include "daemon/port/eth_port.hpp"
#include "daemon/preparse/preparse_stream.hpp"

namespace tributary {

/// The packets of one stream, or the sums over all. After a flush always:
///
///     received = filtered + sent + lost (by cause)
struct StreamLedger {
    QueueLedger input;       ///< received, filtered, and the parser's counts; nothing is metered.
                             ///< Ignored packets are sent, as records with only the reason
    std::uint32_t stream{};  ///< its number
    std::uint64_t sent{};
    NamedCounts lost;  ///< by cause
    std::uint64_t frames_sent{};
    std::uint64_t frames_lost{};

    [[nodiscard]] std::uint64_t lost_sum() const noexcept;
    StreamLedger& operator+=(const StreamLedger& other);
};

/// The counts of `tributary preparse`.
struct PreparseLedger {
    std::size_t captures_cut{};  ///< capture files cut or damaged inside a frame
    std::vector<StreamLedger> streams;
    NicCounters nic;  ///< of the input

    [[nodiscard]] StreamLedger total() const;
};

/// Adds a stream's counters to its ledger.
void read_stream(const PreparseCounters& counters, StreamLedger& ledger);

/// The ledger as JSON, indented, in the shape of tributaryd's.
[[nodiscard]] std::string to_json(const PreparseLedger& ledger);

/// The ledger in one line for the log.
[[nodiscard]] std::string to_line(const PreparseLedger& ledger);

/// The sums that do not add up after a flush, in one line; empty: all add up.
[[nodiscard]] std::string imbalance(const PreparseLedger& ledger);

}  // namespace tributary
