// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/metering_process.hpp"
#include "flowcache/input/packet_reader.hpp"
#include "flowcache/record/cache_counters.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Counts by name, in alphabetical order; every name that can occur is there, also at 0.
using NamedCounts = std::map<std::string, std::uint64_t, std::less<>>;

/// A live queue's clock beside the host's.
struct ClockLedger {
    /// By how much the host's clock was set back, as far as that is not made good.
    Timestamp::duration lead{};
    std::uint64_t times_set_back{};  ///< by so much that the queue's clock went back too

    /// Of many queues, the worst of each.
    void worsen(const ClockLedger& other) noexcept {
        lead = std::max(lead, other.lead);
        times_set_back = std::max(times_set_back, other.times_set_back);
    }
};

/// Where the packets and records of one queue are (or of all queues, summed up). Always, after a
/// drain:
///
///     received = metered.packets + ignored (by reason) + filtered
///     metered  = exported + lost (by cause) + active     in records, packets and octets
struct QueueLedger {
    std::string name;  ///< input and queue, for instance "uplink/0"
    std::uint64_t received{};
    std::uint64_t filtered{};
    std::uint64_t bad_timestamp{};
    std::uint64_t frames_cut{};        ///< announce more octets than came; live only
    std::uint64_t length_unknown{};    ///< fill their buffer, and announce no length; live only
    std::optional<ClockLedger> clock;  ///< absent offline: a capture brings its own
    /// Dropped by the NIC for this queue; nothing: unknown, for this queue or for one of the sum.
    std::optional<std::uint64_t> nic_queue_errors{0};
    std::uint64_t unified_headers_missing{};    ///< numbered by their sender, never received
    std::uint64_t unified_headers_untracked{};  ///< of streams whose missing ones are not known
    NamedCounts ignored;
    std::uint64_t ignored_octets{};  ///< of all these packets, on the wire
    NamedCounts
        cut_headers;        ///< metered although the trimmed path could not read this header whole
    NamedCounts fragments;  ///< what a FragmentTable does with them; all metered
    /// Segments that TCP analysis has not read, because the header was not there, or that are
    /// `tcpAnalysisOverflow` of their flows (`unjudged`); all metered.
    NamedCounts tcp_unanalysed;
    std::uint64_t nic_hint_mismatches{};  ///< packets that are not what the NIC says; metered
    RecordTally metered;  ///< flow records created, with the packets and octets accounted to them
    RecordTally exported;
    RecordTally spooled;  ///< at the end: still active, because a spool keeps them
    std::map<std::string, RecordTally, std::less<>> lost;    ///< by cause
    std::array<std::uint64_t, kFlowEndReasonCount> ended{};  ///< by FlowEndReason

    [[nodiscard]] std::uint64_t ignored_sum() const noexcept;
    [[nodiscard]] RecordTally lost_sum() const noexcept;
    /// Records that have ended, by reason.
    [[nodiscard]] NamedCounts ended_by_reason() const;
    /// Records that are in the cache.
    [[nodiscard]] std::uint64_t in_cache() const noexcept;
    /// In the cache, the ring or an unsent message.
    [[nodiscard]] RecordTally active() const noexcept;

    QueueLedger& operator+=(const QueueLedger& other);
};

/// Reads what a flow cache counts into `queue`. Call it after the counts of exported and lost
/// records are in, so that a ledger read at full speed never shows more records gone than created;
/// for the same reason it reads the ended ones first.
void read_cache(const CacheCounters& counters, QueueLedger& queue);
/// Reads what an input path counts into `queue`; after read_cache(), for the same reason.
void read_input(const InputCounters& counters, QueueLedger& queue);

/// One collector's own account.
struct CollectorLedger {
    std::string name;  ///< transport and address
    NamedCounts counts;
    NamedCounts lost_by_cause;
    bool is_removed{};  ///< a reload took it away
};

/// The account of the spool that all collectors of a group have. What it has inherited and stored
/// was handed over to a collector, lost (by cause), is spooled at the end, or waits.
struct GroupSpoolLedger {
    std::uint64_t inherited{};  ///< records that a former process has left
    std::uint64_t stored{};     ///< records of this process
    std::uint64_t handed_over{};
    NamedCounts lost_by_cause;
    std::uint64_t spooled{};
    std::uint64_t estimated{};   ///< records among inherited and spool_damaged
    std::uint64_t octets{};      ///< on the disk
    std::uint64_t max_octets{};  ///< may be on the disk
    std::uint64_t errors{};      ///< the disk refused something, or does not give it back

    [[nodiscard]] std::uint64_t lost() const noexcept;
    /// 0 where counts that belong together were read while one of them changed.
    [[nodiscard]] std::uint64_t waiting() const noexcept;
};

/// What the NIC of one input counts beside the packets that it delivers. Few drivers tell it per
/// queue.
struct PortLedger {
    std::string name;
    std::optional<std::uint64_t> missed{0};  ///< no free descriptor; nothing: unknown
    std::uint64_t no_buffer{};               ///< no free buffer in the mempool
    std::uint64_t errors{};                  ///< broken frames
};

struct Ledger {
    std::size_t captures_cut{};  ///< capture files that are cut or damaged
    std::vector<QueueLedger> queues;
    std::vector<PortLedger> ports;
    std::vector<CollectorLedger> collectors;
    std::optional<GroupSpoolLedger> spool{};  ///< nothing: there is none

    [[nodiscard]] QueueLedger total() const;
    /// What one port does not know is unknown of all.
    [[nodiscard]] PortLedger all_ports() const;
};

/// The number, or "unknown".
[[nodiscard]] std::string number_text(std::optional<std::uint64_t> number);
/// The number; where it is a part, and the rest is unknown, "unknown + " the number, if that is
/// any.
[[nodiscard]] std::string part_text(std::uint64_t number, bool rest_is_unknown);
/// a + b; unknown where one of them is.
[[nodiscard]] std::optional<std::uint64_t> sum_of_known(std::optional<std::uint64_t> a,
                                                        std::optional<std::uint64_t> b);

/// What collectors are told of losses before the export.
[[nodiscard]] PreExportLosses metering_totals(const Ledger& ledger);

/// The ledger as DESIGN 3 fixes it, indented.
[[nodiscard]] std::string to_json(const Ledger& ledger);

/// The ledger in one line for the log.
[[nodiscard]] std::string to_line(const Ledger& ledger);

/// What does not add up after a drain, in one line; empty when everything does.
[[nodiscard]] std::string imbalance(const Ledger& ledger);

}  // namespace tributary
