// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/options.hpp"
#include "daemon/machine/numa_memory.hpp"
#include "daemon/machine/pinned_thread.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/recorder/packet_dump.hpp"
#include "daemon/recorder/recorder_stage.hpp"
#include "flowcache/input/burst_stage.hpp"
#include "flowcache/input/filter_slot.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

/// A queue of the probe, as its recorder sees it.
struct RecorderPlace {
    std::string name{};          ///< input and queue, for instance "uplink/0"
    std::string interface {};    ///< the name of its input's interface, for dumps
    std::uint32_t number{};      ///< of the queue, among those of its input
    bool is_recorded = true;     ///< RecorderOptions::inputs has its input
    std::size_t flow_entries{};  ///< of its cache, entries_for() its options
    ParseOptions parse{};        ///< of its packets
    std::optional<unsigned> numa_node{};
    PageUse pages = PageUse::live;
    std::optional<std::uint32_t> cpu{};  ///< of its input thread, which does not run yet
};

/// Octets that each recorded queue's ring takes.
///
/// @param queues  that are recorded, at least 1
[[nodiscard]] std::size_t ring_octets(const RecorderOptions& options, std::size_t queues) noexcept;

/// The last packets of a probe's queues, in memory. It outlives the pipeline whose stages are here.
///
/// @thread  main; functions that say so by any
class Recorder {
public:
    /// Makes the rings, all at once, each by a thread on its queue's CPU.
    ///
    /// @param options  with `memory`
    /// @param hasher   of the process
    /// @errors         MemoryShortage, std::bad_alloc; StartupError(71): no thread
    /// @cost           some 0.5 s of each CPU for a GiB of memory there
    Recorder(RecorderOptions options, FlowHasher hasher, std::vector<RecorderPlace> places);
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;
    ~Recorder();

    /// The filter that frames must pass; nullptr: there is none. Until it is in its slot, frames
    /// are counted as `filter_not_ready`.
    [[nodiscard]] FilterSlot* filter() noexcept {
        return options_.filter.empty() ? nullptr : &filter_;
    }
    /// A stage that keeps a queue's packets.
    ///
    /// @param queue  in the order of the places
    /// @return       nullptr: the queue is not recorded
    [[nodiscard]] std::unique_ptr<BurstStage> stage(std::size_t queue);
    /// Whether all rings got explicit huge pages.
    [[nodiscard]] bool huge_pages() const noexcept;

    /// The rings, for a dump.
    /// @thread  any
    [[nodiscard]] std::vector<DumpQueue> rings() const;
    /// Adds the accounts of the queues; those of dumps are for the caller to add.
    /// @thread  any
    void read(RecorderLedger& ledger) const;

private:
    void make_queues(std::size_t octets);
    void make_queue(std::size_t place, std::size_t octets, std::exception_ptr& failure) noexcept;

    RecorderOptions options_;
    FlowHasher hasher_;
    std::vector<RecorderPlace> places_;
    std::vector<RecorderRules> rules_;
    FilterSlot filter_;
    std::vector<std::unique_ptr<RecorderQueue>> queues_;  ///< nullptr: not recorded
};

}  // namespace tributary
