// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "perf/support/huge_memory.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/metering.hpp"
#include "perf/support/this_thread.hpp"
#include "tests/support/allocation_counter.hpp"

namespace tributary::perf {

/// @return  nanoseconds of CPU time per packet
template <class Work>
double time_per_packet(std::uint64_t packets, Work work) {
    const double start = cpu_time_of_this_thread();
    work();
    return (cpu_time_of_this_thread() - start) * 1e9 / static_cast<double>(packets);
}

inline void receive_only(FlowNic& nic, std::uint64_t packets) {
    for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
        const FrameBurst burst = nic.receive();
        keep(burst);
        nic.release(burst);
    }
}

/// A pipeline in its steady state, and its source alone. Packet time passes at the pipeline's rate
/// in the round before, without source and export, which are not the input thread's in a live
/// probe: so expiry and new flows come at the stated rates.
class PipelineBench {
public:
    /// Nanoseconds per packet.
    struct Round {
        double source{};
        double total{};
        double exporting{};
        double pipeline{};  ///< total minus source and exporting
    };

    /// @param packets    per round
    /// @param on_record  gets each exported record
    /// @param beside     what the queue does beside its own table
    PipelineBench(const FlowTraffic& traffic, std::uint64_t packets, bool tcp_analysis = false,
                  const Metering::Listener& on_record = {}, BesideTable beside = {})
        : packets_(packets), resident_before_(resident_bytes()), source_alone_(traffic) {
        receive_only(source_alone_, packets_);
        const std::size_t with_source = resident_bytes();
        source_resident_ = with_source - resident_before_;
        metering_ = std::make_unique<Metering>(traffic, tcp_analysis, std::move(beside));
        if (on_record) {
            metering_->listen(on_record);
        }
        bring_to_steady_state();
        resident_ = resident_bytes() - with_source;
        created_before_ = metering_->counters().flows_created.read();
    }
    void measure_round() {
        const std::size_t resident = resident_bytes();
        const std::size_t allocations = test::allocations();
        const std::size_t exporting = metering_->export_allocations;
        const Round round = time_round();
        set_packet_time(round.pipeline);
        const std::size_t by_export = metering_->export_allocations - exporting;
        export_allocations_ += by_export;
        allocations_ += test::allocations() - allocations - by_export;
        resident_ += resident_bytes() - resident;
        rounds_.push_back(round);
        demand(metering_->counters().lost_ring_full.read() == RecordTally{}, "the ring was full");
    }

    [[nodiscard]] std::vector<double> values(double Round::*what) const {
        std::vector<double> all(rounds_.size());
        std::ranges::transform(rounds_, all.begin(), what);
        return all;
    }
    [[nodiscard]] double middle(double Round::*what) const { return median_of(values(what)); }
    [[nodiscard]] double least(double Round::*what) const { return std::ranges::min(values(what)); }
    [[nodiscard]] double most(double Round::*what) const { return std::ranges::max(values(what)); }

    /// Opened records per packet, in all rounds.
    [[nodiscard]] double records_per_packet() const {
        const std::uint64_t created = metering().counters().flows_created.read() - created_before_;
        return static_cast<double>(created) /
               (static_cast<double>(packets_) * static_cast<double>(rounds_.size()));
    }
    /// Bytes of the pipeline with its source.
    [[nodiscard]] std::size_t resident() const noexcept { return resident_; }
    /// Bytes of such a source.
    [[nodiscard]] std::size_t source_resident() const noexcept { return source_resident_; }
    /// In all rounds, by all but the export side.
    [[nodiscard]] std::size_t allocations() const noexcept { return allocations_; }
    [[nodiscard]] std::size_t export_allocations() const noexcept { return export_allocations_; }
    [[nodiscard]] std::uint64_t packets() const noexcept { return packets_; }
    [[nodiscard]] Metering& metering() noexcept { return *metering_; }
    [[nodiscard]] const Metering& metering() const noexcept { return *metering_; }

private:
    void bring_to_steady_state() {
        constexpr double kFirstGuess = 30;
        metering_->fill();
        set_packet_time(kFirstGuess);
        for (int turn = 0; turn < 2; ++turn) {
            set_packet_time(time_round().pipeline);
        }
    }
    [[nodiscard]] Round time_round() {
        Round round;
        round.source = time_per_packet(packets_, [this] { receive_only(source_alone_, packets_); });
        const double export_before = exporting();
        round.total = time_per_packet(packets_, [this] { metering_->run(packets_); });
        round.exporting = (exporting() - export_before) / static_cast<double>(packets_);
        round.pipeline = round.total - round.source - round.exporting;
        return round;
    }
    [[nodiscard]] double exporting() const {
        double nanoseconds = metering_->export_side.nanoseconds();
        for (const auto& side : metering_->sides_beside) {
            nanoseconds += side->nanoseconds();
        }
        return nanoseconds;
    }
    /// @param nanoseconds  a difference of times, may be negative for few packets
    void set_packet_time(double nanoseconds) noexcept {
        nanoseconds = std::max(nanoseconds, 1.0);
        metering_->set_packet_time(nanoseconds);
        source_alone_.set_packet_time(nanoseconds);
    }

    std::uint64_t packets_;
    std::size_t resident_before_;
    FlowNic source_alone_;
    std::size_t source_resident_ = 0;
    std::unique_ptr<Metering> metering_;
    std::vector<Round> rounds_;
    std::uint64_t created_before_ = 0;
    std::size_t resident_ = 0;
    std::size_t allocations_ = 0;
    std::size_t export_allocations_ = 0;
};

}  // namespace tributary::perf
