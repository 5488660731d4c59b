// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "export/export_counters.hpp"
#include "export/outgoing_message.hpp"

namespace tributary {

/// Who has which record, so that each is counted once however many collectors it goes to: it is
/// exported as soon as one of them has it, and lost when none can have it any more. Each collector
/// has its own account beside that.
///
/// One octet per record that is under way to anybody.
/// @thread  the export thread
class DeliveryBook {
public:
    /// @param counters  outlive the book
    /// @param copies    collectors that each record goes to
    DeliveryBook(ExportCounters& counters, std::size_t copies) noexcept
        : counters_(counters), copies_(copies) {}

    /// Begins a record. Each of its copies must then be told of once, in whatever order.
    ///
    /// @return  its number
    [[nodiscard]] std::uint64_t begin();
    void delivered(std::size_t collector, const RecordEntry& record) noexcept;
    void lost(std::size_t collector, const RecordEntry& record, ExportLoss cause) noexcept;
    /// Records that some collector may still get.
    [[nodiscard]] std::size_t under_way() const noexcept { return states_.size(); }

private:
    /// Copies under way, and kExported.
    using State = std::uint8_t;
    static constexpr State kExported = 0x80;

    [[nodiscard]] State& state_of(const RecordEntry& record) noexcept {
        return states_[static_cast<std::size_t>(record.number - first_)];
    }
    void forget_settled() noexcept;

    ExportCounters& counters_;
    std::size_t copies_;
    std::deque<State> states_;
    std::uint64_t first_ = 0;  ///< number of the first of them
};

}  // namespace tributary
