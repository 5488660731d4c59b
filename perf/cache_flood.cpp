// SPDX-License-Identifier: Apache-2.0
// A flood: every packet is a new flow, as fast as one core takes them, and many times more flows
// than the cache holds. Among it, flows that were there before go on to send now and then: their
// records have to stay whole.
//
//   cache_flood                 a minute of it; JSON on standard output, exit 1 if a rule is broken
//   cache_flood --seconds N     shorter or longer
//   cache_flood --check         two million packets, as a test

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "flowcache/flow_cache.hpp"
#include "perf/support/huge_memory.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/made_burst.hpp"
#include "perf/support/metering.hpp"
#include "perf/support/tell_failure.hpp"

namespace tributary::perf {
namespace {

using Clock = std::chrono::steady_clock;
using Record = FlowRecord<kPlainRecord>;

constexpr std::uint32_t kMaxFlows = 1'000'000;
constexpr std::uint32_t kLongLived = 1000;
constexpr std::chrono::nanoseconds kSilence{
    100'000'000};  ///< between two packets of a long-lived flow
constexpr std::uint32_t kFirstOfFlood = 1'000'000;

/// Tells the records of long-lived flows by their packets: a flow of the flood has one.
struct FloodSink {
    RecordTally tally;
    std::uint64_t slices{};  ///< records of long-lived flows
    std::uint64_t evicted{};
    bool try_push(const Record& record) noexcept {
        tally += record.core.tally();
        slices += record.core.packets > 1 ? 1 : 0;
        evicted += record.core.end_reason == FlowEndReason::lack_of_resources ? 1 : 0;
        return true;
    }
};

class Flood {
public:
    Flood() : memory_(Cache::bytes_needed(kOptions)) {
        constexpr std::uint32_t kPackets = 3 * kLongLived;
        for (std::uint32_t sent = 0; sent < kPackets; sent += kBurstPackets) {
            account([this] { return next_long_lived(); });
        }
    }
    /// One burst of the flood, `since` its beginning; one packet in it is a long-lived flow's when
    /// it is time.
    void burst(Clock::duration since) {
        now_ = kStart + since;
        const auto due = static_cast<std::uint64_t>(since / (kSilence / kLongLived));
        bool is_due = resumed_ < due;
        resumed_ += is_due ? 1 : 0;
        account([this, &is_due] {
            if (is_due) {
                is_due = false;
                return next_long_lived();
            }
            return next_++;
        });
        cache_.expire_some(now_, 2 * kBurstPackets, sink);
    }
    void finish() {
        sliced_ = sink.slices;
        demand(cache_.end_all(now_, sink), "end_all");
    }
    /// What has to hold after finish().
    void check() const {
        demand(sliced_ == 0, "a long-lived flow was cut");
        demand(sink.slices == kLongLived, "every long-lived flow has one record");
        demand(sink.tally.records == counters.flows_created.read(), "records");
        demand(sink.tally.packets == counters.packets.read(), "packets");
        demand(counters.lost_ring_full.read() == RecordTally{}, "nothing is lost");
        demand(counters.entries.read() == 0, "no entry is left");
        demand(sink.evicted > 0, "the cache was full");
    }

    CacheCounters counters;
    FloodSink sink;

private:
    using Cache = FlowCache<kPlainRecord>;
    static constexpr FlowCacheOptions kOptions{.max_flows = kMaxFlows};  // 30 s idle, 300 s active
    static constexpr Timestamp kStart{std::chrono::seconds{1'700'000'000}};

    std::uint32_t next_long_lived() noexcept { return long_lived_++ % kLongLived; }
    template <class NextFlow>
    void account(NextFlow next_flow) {
        cache_.account(burst_.make_for(keyed_, next_flow, now_), sink);
    }

    HugeMemory memory_;
    Cache cache_{kOptions, {}, FlowHasher(1), memory_.bytes(), counters};
    KeyedBurst keyed_ = cache_.burst();
    MadeBurst burst_;
    Timestamp now_ = kStart;
    std::uint32_t long_lived_ = 0;
    std::uint32_t next_ = kFirstOfFlood;
    std::uint64_t resumed_ = 0;  ///< packets of long-lived flows during the flood
    std::uint64_t sliced_ = 0;
};

void check() {
    Flood flood;
    constexpr std::uint64_t kPackets = std::uint64_t{2} * kMaxFlows;
    for (std::uint64_t done = 0; done < kPackets; done += kBurstPackets) {
        flood.burst(std::chrono::nanoseconds(done * 100));
    }
    flood.finish();
    flood.check();
}

void measure(std::chrono::seconds lasting) {
    Flood flood;
    const auto start = Clock::now();
    std::size_t resident_when_full = 0;
    std::uint64_t bursts = 0;
    for (auto since = Clock::duration{}; since < lasting; since = Clock::now() - start) {
        flood.burst(since);
        if (++bursts == std::uint64_t{4} * kMaxFlows / kBurstPackets) {
            resident_when_full = resident_bytes();
        }
    }
    const std::size_t resident = resident_bytes();
    flood.finish();
    flood.check();
    const auto packets = static_cast<double>(flood.counters.packets.read());
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const nlohmann::ordered_json json{{"seconds", seconds},
                                      {"mpps", packets / seconds / 1e6},
                                      {"flows", flood.counters.flows_created.read()},
                                      {"max_flows", kMaxFlows},
                                      {"evicted", flood.sink.evicted},
                                      {"long_lived_flows", kLongLived},
                                      {"long_lived_records", flood.sink.slices},
                                      {"resident_bytes_when_full", resident_when_full},
                                      {"resident_bytes_at_the_end", resident}};
    std::cout << json.dump(2) << "\n";
    constexpr std::size_t kSlack = 1U << 20U;  // of the program around it
    demand(resident < resident_when_full + kSlack, "memory grew");
}

int run(int argc, char** argv) {
    bool check_only = false;
    int seconds = 60;
    CLI::App app("A flood of new flows");
    app.add_flag("--check", check_only, "two million packets, as a test");
    app.add_option("--seconds", seconds, "that it lasts");
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
    return tributary::perf::tell_failure([=] { return tributary::perf::run(argc, argv); });
}
