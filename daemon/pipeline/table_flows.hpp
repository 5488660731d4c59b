// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>

#include "flowcache/cache_scan.hpp"
#include "flowcache/deadlines.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Room for copies of records.
struct RecordCopies {
    std::byte* at{};        ///< aligned to 8
    std::size_t room{};     ///< octets, at least those of one record
    std::size_t records{};  ///< copied, one after the other
    bool is_full = false;   ///< there is no room for another one

    /// Copies a record. @return  false: is_full
    template <class Record>
    [[nodiscard]] bool add(const Record& record) noexcept {
        std::memcpy(at + records * sizeof record, &record, sizeof record);
        ++records;
        is_full = (records + 1) * sizeof record > room;
        return !is_full;
    }
};

/// The flows of a further table in one queue, for the commands of other threads.
///
/// @thread  the queue's input thread, which carries the commands out; nothing allocates
class TableFlows {
public:
    TableFlows() = default;
    TableFlows(const TableFlows&) = delete;
    TableFlows& operator=(const TableFlows&) = delete;
    virtual ~TableFlows() = default;

    /// As CacheScan::end_some().
    [[nodiscard]] virtual bool end_some(CacheScan& scan, std::size_t most,
                                        Timestamp now) noexcept = 0;
    /// As CacheScan::copy_some(), until there is no more room.
    [[nodiscard]] virtual bool copy_some(CacheScan& scan, std::size_t most,
                                         RecordCopies& copies) noexcept = 0;
    /// For records from now on, and for those of running flows after a while.
    virtual void set_timeouts(const Timeouts& timeouts) noexcept = 0;
};

}  // namespace tributary
