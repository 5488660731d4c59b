// SPDX-License-Identifier: Apache-2.0
// The cost of the packet recorder: its stage by itself, and the pipeline of cache_pipeline without
// and with it.
//
//   recorder_cost                       JSON on standard output
//   recorder_cost --check               only checks what is in the rings
//                                       (--help: all options)
//
// All kinds of one number of flows exist at once, and their rounds take turns.

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/recorder/recorder_stage.hpp"
#include "daemon/recorder/ring_reader.hpp"
#include "flowcache/cache_room.hpp"
#include "perf/support/huge_memory.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/kinds_run.hpp"
#include "perf/support/metering.hpp"
#include "perf/support/pipeline_bench.hpp"
#include "perf/support/report_failure.hpp"

namespace tributary::perf {
namespace {

using Json = nlohmann::ordered_json;
using Round = PipelineBench::Round;

constexpr std::size_t kRing = std::size_t{512} << 20U;

struct Kind {
    const char* name;
    bool is_recorded;
    RecorderRules rules;
};

const std::array kKinds{
    Kind{.name = "plain pipeline", .is_recorded = false, .rules = {}},
    Kind{.name = "with a recorder of whole frames", .is_recorded = true, .rules = {}},
    Kind{.name = "with a recorder that cuts off after 1000 octets of each direction",
         .is_recorded = true,
         .rules = {.cutoff = 1000, .parse = {}}}};

/// The stage of a kind, and its ring.
class Recording {
public:
    Recording(const Kind& kind, const FlowTraffic& traffic, std::size_t ring = kRing) {
        if (kind.is_recorded) {
            queue_ =
                std::make_unique<RecorderQueue>(ring, entries_for(cache_options(traffic, false)),
                                                kind.rules, std::nullopt, PageUse::offline);
            stages_.push_back(
                std::make_unique<RecorderStage>(*queue_, kind.rules, nullptr, FlowHasher(3)));
        }
    }
    /// Once.
    [[nodiscard]] BesideTable beside() {
        return {.stages = StageList(std::move(stages_)), .records = {}};
    }
    [[nodiscard]] const RecorderQueue& queue() const noexcept { return *queue_; }

private:
    std::unique_ptr<RecorderQueue> queue_;
    std::vector<std::unique_ptr<BurstStage>> stages_;
};

/// The ring has as many frames as came, each as long as it should be, and of its flow.
void check_kind(const Kind& kind, FlowDirection direction) {
    constexpr std::uint64_t kPackets = 20'000;
    const FlowTraffic traffic{.flows = 500, .direction = direction};
    Recording recording(kind, traffic, std::size_t{32} << 20U);
    Metering metering(traffic, false, recording.beside());
    metering.fill();
    metering.run(kPackets);
    const RecorderQueue& queue = recording.queue();
    const std::uint64_t packets = metering.counters().packets.read();
    demand(queue.counters.seen.read() == packets, std::string(kind.name) + ": frames seen");
    RingReader reader(queue.ring, Timestamp{});
    std::uint64_t read = 0;
    std::uint64_t octets = 0;
    for (auto part = reader.read(); !part.empty(); part = reader.read()) {
        for (const RecordedPacket& packet : part) {
            demand(packet.metadata.flow_hash != 0 && packet.metadata.wire_bytes >= 60,
                   std::string(kind.name) + ": metadata");
            octets += packet.octets.size();
        }
        read += part.size();
    }
    demand(read == packets && reader.overwritten() == 0, std::string(kind.name) + ": packets");
    demand(octets == queue.counters.kept_octets.read(), std::string(kind.name) + ": octets");
    if (kind.rules.cutoff == 0) {
        demand(octets == packets * 60, std::string(kind.name) + ": whole frames");
    }
}

void check_all() {
    for (const Kind& kind : std::span(kKinds).subspan(1)) {
        check_kind(kind, FlowDirection::uniflow);
        check_kind(kind, FlowDirection::biflow);
    }
}

/// The stage alone, with frames of one length that lie in huge pages as those of a NIC do. Views,
/// fields and keys are those of one burst, which the reader uses again and again.
class StageAlone {
public:
    explicit StageAlone(std::size_t octets) : octets_(octets), frames_(kFrames * kApart) {
        std::ranges::fill(frames_.bytes(), std::byte{1});
        for (std::size_t place = 0; place < kBurstPackets; ++place) {
            fields_[place].protocol = ip_protocol::kUdp;
            fields_[place].ip_version = 4;
            keyed_[place].packet = &views_[place];
            keyed_[place].fields = &fields_[place];
        }
    }
    void measure_round() {
        constexpr std::uint64_t kOctets = std::uint64_t{4} << 30U;
        const std::uint64_t packets = kOctets / (octets_ + PacketRing::kMetadataOctets);
        nanoseconds_.push_back(time_per_packet(packets, [this, packets] { run(packets); }));
        demand(queue_.ring.kept() >= packets, "the stage keeps packets");
    }
    [[nodiscard]] Json to_json() const {
        const double middle = median_of(nanoseconds_);
        constexpr double kBits = 8;
        return {{"octets", octets_},
                {"ns", middle},
                {"ns_least", std::ranges::min(nanoseconds_)},
                {"ns_most", std::ranges::max(nanoseconds_)},
                {"mpps", 1000 / middle},
                {"gbits", static_cast<double>(octets_) * kBits / middle}};
    }

private:
    static constexpr std::size_t kFrames = 4096;
    static constexpr std::size_t kApart = 2176;  // as receive buffers lie

    void run(std::uint64_t packets) {
        for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
            receive(done);
            FrameBurst burst{.frames = views_, .now = kFirstTimestamp + std::chrono::hours(1)};
            stage_.on_burst(burst, keyed_);
        }
    }
    /// Its cost counts as the stage's.
    void receive(std::uint64_t first) {
        for (std::size_t place = 0; place < kBurstPackets; ++place) {
            const std::size_t frame = (first + place) % kFrames;
            const std::uint32_t address = static_cast<std::uint32_t>(frame) * 2'654'435'761U;
            std::memcpy(fields_[place].source.data(), &address, sizeof address);
            views_[place] = {.captured = frames_.bytes().subspan(frame * kApart, octets_),
                             .wire_bytes = static_cast<std::uint32_t>(octets_),
                             .seen_at = kFirstTimestamp + std::chrono::hours(1)};
        }
    }

    std::size_t octets_;
    HugeMemory frames_;
    std::array<PacketFields, kBurstPackets> fields_{};
    std::array<PacketView, kBurstPackets> views_{};
    std::array<KeyedPacket, kBurstPackets> keyed_{};
    RecorderQueue queue_{kRing, 0, {}, std::nullopt, PageUse::offline};
    RecorderStage stage_{queue_, {}, nullptr, FlowHasher(3)};
    std::vector<double> nanoseconds_;
};

/// A measured kind.
class Subject {
public:
    Subject(const Kind& kind, const FlowTraffic& traffic, std::uint64_t packets)
        : kind_(kind),
          recording_(kind, traffic),
          bench_(traffic, packets, false, {}, recording_.beside()) {}
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
    ~Subject() = default;

    void measure_round() { bench_.measure_round(); }
    [[nodiscard]] std::vector<double> nanoseconds() const {
        return bench_.values(&Round::pipeline);
    }
    [[nodiscard]] Json to_json(std::span<const double> plain) const {
        const std::vector<double> own = nanoseconds();
        std::vector<double> shares(own.size());
        std::ranges::transform(plain, own, shares.begin(), std::divides<>());
        return {{"name", kind_.name},
                {"ns", bench_.middle(&Round::pipeline)},
                {"ns_least", bench_.least(&Round::pipeline)},
                {"ns_most", bench_.most(&Round::pipeline)},
                {"rate", median_of(shares)},
                {"rate_least", std::ranges::min(shares)},
                {"rate_most", std::ranges::max(shares)},
                {"allocations", bench_.allocations()}};
    }

private:
    const Kind& kind_;
    Recording recording_;
    PipelineBench bench_;
};

/// All kinds with so many flows, in turn.
Json measure(std::uint32_t flows, const KindsSettings& settings) {
    const std::uint64_t packets = std::max<std::uint64_t>(settings.packets, flows);
    const FlowTraffic traffic{.flows = flows, .new_per_second = settings.new_per_second};
    StageAlone small(60);  // 64 with the frame check sequence, which no buffer has
    StageAlone large(1500);
    std::vector<std::unique_ptr<Subject>> subjects;
    for (const Kind& kind : kKinds) {
        subjects.push_back(std::make_unique<Subject>(kind, traffic, packets));
    }
    for (int round = 0; round < settings.rounds; ++round) {
        small.measure_round();
        large.measure_round();
        for (const auto& subject : subjects) {
            subject->measure_round();
        }
    }
    auto kinds = Json::array();
    for (const auto& subject : subjects) {
        kinds.push_back(subject->to_json(subjects.front()->nanoseconds()));
    }
    return {{"flows", flows},
            {"stage", {small.to_json(), large.to_json()}},
            {"kinds", std::move(kinds)}};
}

int run(int argc, char** argv) {
    return run_kinds(argc, argv, {.flows = {1'000'000}}, "What the packet recorder costs",
                     "only check what is in the rings", check_all, measure);
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([=] { return tributary::perf::run(argc, argv); });
}
