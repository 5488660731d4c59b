// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/base/options.hpp"
#include "daemon/pipeline/queue_worker.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "perf/support/ended_records.hpp"
#include "perf/support/export_side.hpp"
#include "perf/support/flow_traffic.hpp"
#include "tests/support/allocation_counter.hpp"

namespace tributary::perf {

/// Timeouts in packet time. The idle one is short, so that the number of silent flows is soon
/// steady. At 15 Mpps or more it is long enough for the rarest of 10 M flows to send in time; rarer
/// flows end as idle, and begin anew.
inline constexpr std::chrono::seconds kIdleTimeout{10};
inline constexpr std::chrono::seconds kActiveTimeout{60};

[[nodiscard]] inline FlowCacheOptions cache_options(const FlowTraffic& traffic, bool tcp_analysis) {
    // Beside active flows, the cache holds silent ones that are not yet idle.
    const double entries = traffic.flows * (1 + traffic.new_per_second * kIdleTimeout.count());
    FlowCacheOptions options;
    options.max_flows = static_cast<std::uint32_t>(entries * 17 / 16) + 1024;
    options.idle_timeout = kIdleTimeout;
    options.active_timeout = kActiveTimeout;
    options.direction = traffic.direction;
    options.tcp_analysis = tcp_analysis;
    options.tcp_duplicate_time = 2 * kIdleTimeout;  // even for the rarest flow
    return options;
}

/// What a queue does beside its own table.
struct BesideTable {
    StageList stages{};
    std::vector<RecordSource*> records{};  ///< that the stages make; they outlive the metering
};

/// One queue with its export side, all in one thread: the daemon's own queue, in memory that is
/// touched only when used.
class Metering {
public:
    explicit Metering(const FlowTraffic& traffic, bool tcp_analysis = false,
                      BesideTable beside = {})
        : Metering(traffic, parts_of(cache_options(traffic, tcp_analysis)), std::move(beside)) {}

    /// Brings the cache to its state after a long time of this traffic.
    void fill() {
        begin_fill();
        while (!nic_.filled()) {
            run(kBurstPackets);
        }
    }
    /// Makes the next packets those of fill().
    void begin_fill() noexcept { nic_.fill(parts_.flows.idle_timeout); }
    /// @param count  packets, rounded up to whole bursts
    void run(std::uint64_t count) {
        for (std::uint64_t done = 0; done < count; done += kBurstPackets) {
            packets += queue_->step();
            if (++bursts_ % kDrainInterval == 0) {
                const std::size_t before = test::allocations();
                drain();
                export_allocations += test::allocations() - before;
            }
        }
    }
    /// Ends all flows.
    void finish() {
        while (!queue_->drain()) {
            drain();
        }
        drain();
        export_side.flush();
    }

    using Listener = std::function<void(const FlowRecordCore&, const RecordLayout&)>;
    /// Adds a listener for each exported record.
    void listen(const Listener& listener) {
        export_side.on_record = [listener, layout = parts_.layout,
                                 before = export_side.on_record](const FlowRecordCore& record) {
            listener(record, layout);
            if (before) {
                before(record);
            }
        };
    }
    void set_packet_time(double nanoseconds) noexcept { nic_.set_packet_time(nanoseconds); }
    [[nodiscard]] const FlowCacheOptions& options() const noexcept { return parts_.flows; }
    [[nodiscard]] SentSegments sent() const noexcept { return nic_.sent(); }
    [[nodiscard]] Timestamp now() const noexcept { return queue_->clock.read(); }
    [[nodiscard]] const CacheCounters& counters() const noexcept { return queue_->cache_counters; }

    std::uint64_t packets = 0;  ///< from the source
    ExportSide export_side;
    std::size_t export_allocations = 0;                     ///< of the export side, within run()
    std::vector<std::unique_ptr<ExportSide>> sides_beside;  ///< of BesideTable::records

private:
    Metering(const FlowTraffic& traffic, const QueueParts& parts, BesideTable further)
        : export_side({}, parts.layout),
          nic_(traffic),
          path_(nic_, {.parse = parse_options(parts.flows, ParseMode::full, 0)}),
          parts_(parts),
          records_beside_(std::move(further.records)),
          queue_(make_queue_worker(path_, parts_, FlowHasher(1), std::move(further.stages))) {
        for (const RecordSource* const source : records_beside_) {
            sides_beside.push_back(std::make_unique<ExportSide>(ExportOptions{}, source->layout()));
        }
    }

    void drain() {
        export_side.drain(queue_->records());
        for (std::size_t index = 0; index < sides_beside.size(); ++index) {
            sides_beside[index]->drain(*records_beside_[index]);
        }
    }

    [[nodiscard]] static QueueParts parts_of(const FlowCacheOptions& flows) {
        QueueParts parts;
        parts.flows = flows;
        parts.layout = RecordLayout::of(effective_groups({}, flows), flows.direction);
        parts.pages = PageUse::offline;
        return parts;
    }

    /// Bursts between two drains of the ring: so many that reading the clock costs nothing, and so
    /// few that the records of bursts' expiry do not fill the ring.
    static constexpr std::uint64_t kDrainInterval = 128;

    FlowNic nic_;
    FrameReader<FlowNic> path_;
    QueueParts parts_;
    std::vector<RecordSource*> records_beside_;
    std::unique_ptr<QueueWorker> queue_;
    std::uint64_t bursts_ = 0;
};

}  // namespace tributary::perf
