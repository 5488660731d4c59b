// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// Takes ended records from a flow cache: a ring towards the export thread, a vector in a test.
template <class S, class Record>
concept RecordSink = requires(S sink, const Record& record) {
    {
        sink.try_push(record)
    } noexcept -> std::same_as<bool>;  // false: full, the record was not taken
};

/// Where the export worker takes records from: one per queue. Virtual, because it is called once
/// per batch.
class RecordSource {
public:
    RecordSource() = default;
    RecordSource(const RecordSource&) = delete;
    RecordSource& operator=(const RecordSource&) = delete;
    virtual ~RecordSource() = default;

    /// Moves up to `max_records` records to the front of `out`, back to back, record_bytes() each.
    ///
    /// @param out  at least max_records * record_bytes() bytes, aligned to 8
    /// @return     number of records moved; 0 when there are none now
    /// @thread     the export thread
    [[nodiscard]] virtual std::size_t drain(std::span<std::byte> out,
                                            std::size_t max_records) noexcept = 0;
    /// Of its records; it never changes.
    [[nodiscard]] virtual const RecordLayout& layout() const noexcept = 0;
    /// Which table of flows its records are of: the index of the table's layout and key in the
    /// MeteringProcess. Two tables may have one layout, and records with different keys.
    [[nodiscard]] virtual std::size_t table() const noexcept { return 0; }
    /// Size of one record, one of kRecordSizes.
    [[nodiscard]] std::size_t record_bytes() const noexcept { return record_size(layout()); }
};

}  // namespace tributary
