// SPDX-License-Identifier: Apache-2.0
// A flood: every packet is a new flow, at the full rate of one core, with many times more flows
// than the cache holds. Flows from before the flood go on to send now and then. Only the active
// timeout may end their records.
//
//   cache_flood                 a minute of it; JSON on standard output, exit 1 if a rule is broken
//   cache_flood --seconds N     shorter or longer
//   cache_flood --check         two million packets three times, as a test: without and with active
//                               timeouts, and with a ring that is often full

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "flowcache/flow_cache.hpp"
#include "perf/support/huge_memory.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/made_burst.hpp"
#include "perf/support/metering.hpp"
#include "perf/support/report_failure.hpp"

namespace tributary::perf {
namespace {

using Clock = std::chrono::steady_clock;
using Record = FlowRecord<kPlainRecord>;

constexpr std::uint32_t kLongLived = 1000;
constexpr std::uint32_t kFirstOfFlood = 1'000'000;

/// Takes records while there is room.
struct FloodSink {
    std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
    RecordTally all;
    RecordTally of_long_lived;
    std::uint64_t evicted{};
    std::uint64_t long_lived_evicted{};

    bool try_push(const Record& record) noexcept {
        if (room == 0) {
            return false;
        }
        --room;
        const bool is_evicted = record.core.end_reason == FlowEndReason::lack_of_resources;
        all += record.core.tally();
        evicted += is_evicted ? 1 : 0;
        if (flow_of(record) < kLongLived) {
            of_long_lived += record.core.tally();
            long_lived_evicted += is_evicted ? 1 : 0;
        }
        return true;
    }

private:
    /// The number that MadeBurst gave the flow.
    [[nodiscard]] static std::uint32_t flow_of(const Record& record) noexcept {
        std::uint32_t address = 0;
        std::memcpy(&address, record.core.key.source.data(), sizeof address);
        return unscrambled(address);
    }
};

struct Setup {
    std::uint32_t max_flows;
    std::chrono::seconds active_timeout;
    /// Between two packets of a long-lived flow: longer than the flood needs to fill the cache, so
    /// that a flow is not kept just as the most recently active one.
    std::chrono::milliseconds silence;
};

class Flood {
public:
    explicit Flood(const Setup& setup)
        : silence_(setup.silence),
          options_{.max_flows = setup.max_flows, .active_timeout = setup.active_timeout},
          memory_(Cache::bytes_needed(options_)) {
        constexpr std::uint32_t kPackets = 3 * kLongLived;
        for (std::uint32_t sent = 0; sent < kPackets; sent += kBurstPackets) {
            account([this] { return next_long_lived(); });
        }
    }
    /// One burst of the flood, `since` its beginning; due packets of long-lived flows come first.
    void burst(Clock::duration since) {
        now_ = kStart + since;
        const auto due = static_cast<std::uint64_t>(since * kLongLived / silence_);
        account([this, due] {
            if (resumed_ < due) {
                ++resumed_;
                return next_long_lived();
            }
            return next_++;
        });
        cache_.expire_some(now_, 2 * kBurstPackets, sink);
    }
    /// @param room  of the sink, each time that it was full; it must suffice in the end
    void finish(std::uint64_t room = std::numeric_limits<std::uint64_t>::max()) {
        sink.room = room;
        for (std::uint64_t left = options_.max_flows; !cache_.end_all(now_, sink); --left) {
            demand(left > 0, "end_all stalls");
            sink.room = room;
        }
    }
    /// Must hold after finish(), for any sink.
    void check_ledger() const {
        const RecordTally lost = counters.lost_ring_full.read();
        demand(counters.packets.read() == sent_, "each packet is metered");
        demand(sink.all.records + lost.records == counters.flows_created.read(), "records");
        demand(sink.all.packets + lost.packets == counters.packets.read(), "packets");
        demand(sink.all.octets + lost.octets == counters.octets.read(), "octets");
        demand(counters.entries.read() == 0, "no entry is left");
        demand(sink.evicted > 0, "the cache was full");
    }
    /// Must hold after finish(), for a sink that always had room.
    void check() const {
        check_ledger();
        demand(counters.lost_ring_full.read() == RecordTally{}, "nothing is lost");
        demand(sink.long_lived_evicted == 0, "a long-lived flow was given up");
        demand(sink.of_long_lived.packets == long_lived_, "packets of long-lived flows");
        demand(sink.of_long_lived.records >= kLongLived * least_records(), "active timeouts");
        demand(now_ > kStart + options_.active_timeout || sink.of_long_lived.records == kLongLived,
               "a long-lived flow was cut");
    }

    CacheCounters counters;
    FloodSink sink;

private:
    using Cache = FlowCache<kPlainRecord>;
    static constexpr Timestamp kStart{std::chrono::seconds{1'700'000'000}};

    /// Fewest records that the active timeout makes of a long-lived flow: each begins no later than
    /// with the first packet after the former one.
    [[nodiscard]] std::uint64_t least_records() const noexcept {
        return 1 + static_cast<std::uint64_t>((now_ - kStart) /
                                              (options_.active_timeout + 2 * silence_));
    }
    std::uint32_t next_long_lived() noexcept {
        return static_cast<std::uint32_t>(long_lived_++ % kLongLived);
    }
    template <class NextFlow>
    void account(NextFlow next_flow) {
        cache_.account(burst_.make_for(*keyed_, next_flow, now_), sink);
        sent_ += kBurstPackets;
    }

    Timestamp::duration silence_;
    FlowCacheOptions options_;  // 30 s idle
    HugeMemory memory_;
    Cache cache_{options_, {}, FlowHasher(1), memory_.bytes(), counters};
    std::unique_ptr<KeyedBurst> keyed_{new KeyedBurst(cache_.burst())};
    MadeBurst burst_;
    Timestamp now_ = kStart;
    std::uint64_t sent_ = 0;
    std::uint64_t long_lived_ = 0;  ///< packets of long-lived flows
    std::uint64_t resumed_ = 0;     ///< of these, during the flood
    std::uint32_t next_ = kFirstOfFlood;
};

constexpr std::uint64_t kCheckPackets = 2'000'000;
constexpr std::chrono::nanoseconds kCheckPacketTime{2'000};  ///< four seconds in all

/// The flood fills this cache in 100 ms. A fiftieth of its entries are long-lived flows, which the
/// active timeout cuts all at once: fewer than most_empty_entries().
Setup check_setup(std::chrono::seconds active_timeout) {
    return {50'000, active_timeout, std::chrono::milliseconds{300}};
}

/// @param room  of the sink, each time that it is emptied
void run_check(Flood& flood, std::uint64_t room) {
    constexpr std::uint64_t kDrainInterval = 64;  // bursts
    std::uint64_t bursts = 0;
    for (std::uint64_t done = 0; done < kCheckPackets; done += kBurstPackets) {
        flood.burst(kCheckPacketTime * static_cast<std::int64_t>(done));
        if (++bursts % kDrainInterval == 0) {
            flood.sink.room = room;
        }
    }
    flood.finish(room);
}

void check() {
    constexpr std::uint64_t kEnough = std::numeric_limits<std::uint64_t>::max();
    constexpr std::chrono::seconds kNone{300};
    constexpr std::chrono::seconds kShort{1};
    for (const std::chrono::seconds active_timeout : {kNone, kShort}) {
        Flood flood(check_setup(active_timeout));
        run_check(flood, kEnough);
        flood.check();
    }
    // Too small for a quarter of 64 bursts' records.
    constexpr std::uint64_t kTooLittle = 64 * kBurstPackets * 3 / 4;
    Flood flood(check_setup(kShort));
    run_check(flood, kTooLittle);
    flood.check_ledger();
    const std::uint64_t lost = flood.counters.lost_ring_full.records.read();
    demand(lost > kCheckPackets / 10 && lost < kCheckPackets / 3, "the ring was full");
}

/// Figures of a flood while it runs.
struct Course {
    std::vector<double> mpps_by_tenth;
    double seconds{};
    double mpps{};
    std::optional<std::size_t> resident_when_full;  ///< nullopt: it ended too soon
};

Course watch(Flood& flood, std::chrono::seconds lasting, std::uint32_t max_flows) {
    Course course;
    const std::uint64_t full = std::uint64_t{4} * max_flows;
    const std::uint64_t before = flood.counters.packets.read();
    const auto packets = [&] { return flood.counters.packets.read() - before; };
    const auto start = Clock::now();
    Clock::duration tenth_began{};
    std::uint64_t packets_then = 0;
    auto since = Clock::duration{};
    while (course.mpps_by_tenth.size() < 10) {
        flood.burst(since);
        if (packets() >= full && !course.resident_when_full) {
            course.resident_when_full = resident_bytes();
        }
        since = Clock::now() - start;
        if (since * 10 >= lasting * (course.mpps_by_tenth.size() + 1)) {
            const std::chrono::duration<double, std::micro> took = since - tenth_began;
            course.mpps_by_tenth.push_back(static_cast<double>(packets() - packets_then) /
                                           took.count());
            tenth_began = since;
            packets_then = packets();
        }
    }
    course.seconds = std::chrono::duration<double>(since).count();
    course.mpps = static_cast<double>(packets()) / course.seconds / 1e6;
    return course;
}

void measure(std::chrono::seconds lasting) {
    constexpr Setup kSetup{.max_flows = 1'000'000,
                           .active_timeout = std::chrono::seconds{10},
                           .silence = std::chrono::seconds{2}};  // many times the flood's fill time
    Flood flood(kSetup);
    const Course course = watch(flood, lasting, kSetup.max_flows);
    const std::size_t resident = resident_bytes();
    flood.finish();
    flood.check();
    nlohmann::ordered_json json{{"seconds", course.seconds},
                                {"mpps", course.mpps},
                                {"mpps_by_tenth", course.mpps_by_tenth},
                                {"flows", flood.counters.flows_created.read()},
                                {"max_flows", kSetup.max_flows},
                                {"active_timeout", kSetup.active_timeout.count()},
                                {"evicted", flood.sink.evicted},
                                {"long_lived_flows", kLongLived},
                                {"long_lived_records", flood.sink.of_long_lived.records},
                                {"long_lived_evicted", flood.sink.long_lived_evicted},
                                {"resident_bytes_when_full", nullptr},
                                {"resident_bytes_at_the_end", resident}};
    if (course.resident_when_full) {
        json["resident_bytes_when_full"] = *course.resident_when_full;
    }
    std::cout << json.dump(2) << "\n";
    constexpr std::size_t kSlack = 1U << 20U;  // of the program around it
    demand(resident < course.resident_when_full.value_or(resident) + kSlack, "memory grew");
}

int run(int argc, char** argv) {
    bool check_only = false;
    int seconds = 60;
    CLI::App app("A flood of new flows");
    app.add_flag("--check", check_only, "two million packets three times, as a test");
    app.add_option("--seconds", seconds, "that it lasts")->check(CLI::PositiveNumber);
    CLI11_PARSE(app, argc, argv);
    if (check_only) {
        check();
    } else {
        measure(std::chrono::seconds(seconds));
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([=] { return tributary::perf::run(argc, argv); });
}
