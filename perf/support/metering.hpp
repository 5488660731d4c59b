// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "daemon/record_ring.hpp"
#include "flowcache/flow_cache.hpp"
#include "flowcache/frame_input.hpp"
#include "flowcache/input_worker.hpp"
#include "perf/support/export_side.hpp"
#include "perf/support/flow_traffic.hpp"
#include "perf/support/huge_memory.hpp"
#include "tests/support/allocation_counter.hpp"

namespace tributary::perf {

/// The size of records without field groups.
inline constexpr std::size_t kPlainRecord = record_size(RecordLayout{});

/// Timeouts in packet time. The idle one is short, so that what new flows leave behind reaches its
/// steady state soon, and long enough for the rarest flow of 20 M to send before it.
inline constexpr std::chrono::seconds kIdleTimeout{10};
inline constexpr std::chrono::seconds kActiveTimeout{60};

[[nodiscard]] inline FlowCacheOptions cache_options(const FlowTraffic& traffic) {
    // Beside those that send, the cache holds those that are silent and not yet idle.
    const double entries = traffic.flows * (1 + traffic.new_per_second * kIdleTimeout.count());
    FlowCacheOptions options;
    options.max_flows = static_cast<std::uint32_t>(entries * 17 / 16) + 1024;
    options.idle_timeout = kIdleTimeout;
    options.active_timeout = kActiveTimeout;
    return options;
}

/// One queue with its export side, all in one thread: the objects of SizedInputQueue in memory that
/// is touched only as it is used.
class Metering {
public:
    explicit Metering(const FlowTraffic& traffic)
        : options_(cache_options(traffic)),
          nic_(traffic),
          path_(nic_, {}),
          memory_(Cache::bytes_needed(options_)),
          ring_(kRingSlots, {}, PageUse::offline),
          sink_(ring_, WhenRingFull::refuse),
          cache_(options_, {}, FlowHasher(1), memory_.bytes(), counters),
          worker_(path_, cache_, sink_, clock_) {}

    /// Brings the cache to where it is after a long time of this traffic.
    void fill() {
        begin_fill();
        while (!nic_.filled()) {
            run(kBurstPackets);
        }
    }
    /// The next packets are those of fill().
    void begin_fill() noexcept { nic_.fill(options_.idle_timeout); }
    /// @param packets  rounded up to whole bursts
    void run(std::uint64_t packets) {
        for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
            worker_.step();
            if (++bursts_ % kDrainInterval == 0) {
                const std::size_t before = test::allocations();
                export_side.drain(ring_);
                export_allocations += test::allocations() - before;
            }
        }
    }
    /// Ends all flows.
    void finish() {
        while (!worker_.drain()) {
            export_side.drain(ring_);
        }
        export_side.drain(ring_);
        export_side.flush();
    }

    void set_packet_time(double nanoseconds) noexcept { nic_.set_packet_time(nanoseconds); }
    [[nodiscard]] const FlowNic& nic() const noexcept { return nic_; }
    [[nodiscard]] const FlowCacheOptions& options() const noexcept { return options_; }
    [[nodiscard]] Timestamp now() const noexcept { return clock_.read(); }
    [[nodiscard]] bool explicit_pages() const noexcept { return memory_.explicit_pages(); }

    CacheCounters counters;
    ExportSide export_side;
    std::size_t export_allocations = 0;  ///< those of the export side, within run()

private:
    using Cache = FlowCache<kPlainRecord>;
    using Sink = RingSink<kPlainRecord>;
    static constexpr std::uint32_t kRingSlots = 1U << 15U;  ///< as QueueParts has it
    /// Bursts until the ring is drained: rarely enough that reading the clock costs nothing, and
    /// before all that a burst's expiry can end fills the ring.
    static constexpr std::uint64_t kDrainInterval = 128;

    FlowCacheOptions options_;
    FlowNic nic_;
    FrameInput<FlowNic> path_;
    HugeMemory memory_;
    RecordRing<kPlainRecord> ring_;
    Sink sink_;
    PublishedClock clock_;
    Cache cache_;
    InputWorker<Cache, Sink> worker_;
    std::uint64_t bursts_ = 0;
};

}  // namespace tributary::perf
