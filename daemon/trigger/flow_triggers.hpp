// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "daemon/machine/numa_memory.hpp"
#include "daemon/trigger/armed_trigger.hpp"
#include "daemon/trigger/trigger_events.hpp"
#include "daemon/trigger/trigger_state.hpp"
#include "export/listing/flow_filter.hpp"
#include "export/listing/record_viewer.hpp"
#include "export/options.hpp"
#include "flowcache/flow_holders.hpp"
#include "flowcache/input/flow_watcher.hpp"
#include "flowcache/running_flows.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// A cache of flows, and where it lies.
struct CachePlace {
    std::size_t entries{};
    std::optional<unsigned> numa_node{};
    PageUse pages = PageUse::live;
};

/// Tests the records of one cache for the conditions of its table's triggers: after each packet
/// that of its flow, where a field that a condition names has changed, and each record at its end.
/// A trigger fires once for a record.
///
/// The number of the file that is written for a record leaves in the record (PacketDumpGroup).
///
/// @thread  the input thread; constructed by main
class FlowTriggers final : public FlowWatcher, FlowHolder {
public:
    /// @param events      gets what fires
    /// @param triggers    of the table; at most kMostTriggers. They outlive this
    /// @param numbers     outlive this
    /// @param timestamps  whose names conditions may have
    /// @param cache       whose flows they are
    /// @errors            FilterError: a condition does not fit the table's records; std::bad_alloc
    FlowTriggers(std::shared_ptr<TriggerEvents> events, std::span<ArmedTrigger* const> triggers,
                 FileNumbers& numbers, TimestampUnit timestamps, const CachePlace& cache);

    [[nodiscard]] bool huge_pages() const noexcept { return memory_.huge_pages(); }

    void attach(RunningFlows& flows) noexcept override;
    void detach() noexcept override { flows_ = nullptr; }
    void on_packet(const KeyedPacket& packet) noexcept override;

private:
    struct Condition {
        ArmedTrigger* trigger;
        FlowFilter when;
    };

    [[nodiscard]] bool holds_all() const noexcept override { return true; }
    void record_ends(FlowHandle flow, FlowEndReason reason,
                     std::span<std::byte> record) noexcept override;
    void record_ended(FlowHandle /*flow*/, FlowEndReason /*reason*/,
                      std::span<const std::byte> /*record*/) noexcept override {}
    void flow_ended(FlowHandle flow, FlowEndReason /*reason*/) noexcept override {
        states_[flow.entry] = {};
    }

    void look(TriggerState& state, std::span<const std::byte> record, Timestamp at,
              bool is_at_end) noexcept;
    void fire(const Condition& condition, TriggerState& state, std::span<const std::byte> record,
              Timestamp at, bool is_at_end) noexcept;
    [[nodiscard]] std::uint32_t digest_of(const std::byte* record,
                                          std::span<const RecordPlace> places) const noexcept;
    void mark(std::uint32_t file, std::span<std::byte> record) const noexcept;

    std::shared_ptr<TriggerEvents> events_;
    FileNumbers& numbers_;
    RecordViewer viewer_;
    std::vector<Condition> conditions_;
    std::uint16_t all_;  ///< a bit for each condition
    /// What conditions depend on; nothing: each packet changes it.
    std::optional<std::vector<RecordPlace>> places_;
    bool depends_on_end_ = false;
    RunningFlows* flows_ = nullptr;
    NumaMemory memory_;
    std::span<TriggerState> states_;  ///< of each entry
};

}  // namespace tributary
