// SPDX-License-Identifier: Apache-2.0
// The cost of each operation of the flow cache, the ring and the encoder, beside the memory's own
// speed and DPDK's rte_hash with the same keys in the same run.
//
//   cache_operations                     JSON on standard output
//   cache_operations --check             only checks the operations' results
//                                        (--help: all options)

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>
#include <deque>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/pipeline/record_ring.hpp"
#include "daemon/port/eal.hpp"
#include "perf/support/cache_bench.hpp"
#include "perf/support/ended_records.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/reference_meter.hpp"
#include "perf/support/report_failure.hpp"
#include "perf/support/rte_bench.hpp"
#include "perf/support/this_thread.hpp"
#include "perf/support/yardstick.hpp"
#include "tests/support/ipfix_decoder.hpp"

namespace tributary::perf {
namespace {

using Json = nlohmann::ordered_json;
using Record = FlowRecord<kPlainRecord>;

struct Settings {
    std::vector<std::uint32_t> flows{16'384, 1'000'000, 10'000'000};
    int rounds = 5;
    bool check_only = false;
};

/// The work in a subject's time beside the named one.
enum class Includes : std::uint8_t { nothing, making_packets };

struct Operation {
    Subject subject;
    Includes includes = Includes::nothing;
};

constexpr std::uint32_t kRecords = 1024;

/// Moves records through the ring: in by bursts, out by batches.
class RingBench {
public:
    void work(std::uint64_t records) {
        for (std::uint64_t done = 0; done < records; done += kBurst) {
            for (std::uint64_t n = done; n < done + kBurst; ++n) {
                keep(sink_.try_push(records_[n % kRecords]));
            }
            keep(sink_.hand_over());
            keep(ring_.drain(out_, kBurst));
        }
    }
    /// In and out in turns of changing lengths, beside a std::deque.
    void check() {
        std::deque<std::uint64_t> reference;
        Random random;
        std::uint64_t next = 0;
        for (int turn = 0; turn < 10'000; ++turn) {
            for (std::uint32_t left = random.below(kBurst); left > 0; --left, ++next) {
                demand(sink_.try_push(records_[next % kRecords]), "ring: room");
                reference.push_back(records_[next % kRecords].core.packets);
            }
            demand(sink_.hand_over(), "ring: room");
            const std::size_t count = ring_.drain(out_, random.below(kBurst));
            for (std::size_t i = 0; i < count; ++i) {
                Record record;
                std::memcpy(&record, out_.data() + i * sizeof record, sizeof record);
                demand(record.core.packets == reference.front(), "ring: order");
                reference.pop_front();
            }
        }
        while (ring_.drain(out_, kBurst) > 0) {
        }
    }

private:
    static constexpr std::uint64_t kBurst = 256;
    std::vector<Record> records_ = ended_records(kRecords);
    std::vector<std::byte> out_ = std::vector<std::byte>(kBurst * sizeof(Record));
    RecordRing<kPlainRecord> ring_{{}, 1U << 15U, {}, PageUse::offline};
    RingSink<kPlainRecord> sink_{ring_, WhenRingFull::refuse};
};

class EncoderBench {
public:
    void work(std::uint64_t records) {
        for (std::uint64_t done = 0; done < records; ++done) {
            side_.add(reinterpret_cast<const std::byte*>(&records_[done % kRecords]));
        }
    }
    /// Checks the messages by a decoder that shares no code with the encoder.
    void check() {
        IpfixEncoder encoder({}, {}, 1400);
        test::IpfixDecoder decoder;
        for (std::size_t i = 0; i < encoder.template_messages(); ++i) {
            demand(decoder.decode(encoder.template_message(i)).templates > 0, "templates");
        }
        std::uint64_t packets = 0;
        MessageNumbering numbering;
        const auto read = [&] {
            const EncodedMessage closed = encoder.close();
            std::vector<std::byte> message(closed.octets.begin(), closed.octets.end());
            numbering.stamp(message, closed.records, kTime, closed.latest_end);
            for (const test::DecodedRecord& record : decoder.decode(message).records) {
                demand(record.number(kPacketDeltaCount) == ++packets, "encoder: packetDeltaCount");
            }
        };
        for (const Record& record : records_) {
            const auto* bytes = reinterpret_cast<const std::byte*>(&record);
            if (encoder.append(bytes) == AppendResult::message_full) {
                read();
                demand(encoder.append(bytes) == AppendResult::added, "encoder: append");
            }
        }
        read();
        demand(packets == kRecords, "encoder: records");
    }

private:
    static constexpr Timestamp kTime{std::chrono::seconds{1'700'000'000}};
    static constexpr std::uint16_t kPacketDeltaCount = 2;
    std::vector<Record> records_ = ended_records(kRecords);
    ExportSide side_;
};

/// Operations, and the memory of the measured caches.
struct TableOperations {
    std::vector<Operation> operations;
    bool explicit_pages;
};

/// The cache's and rte_hash's operations on so many flows.
TableOperations table_operations(std::uint32_t flows) {
    const auto rte =
        std::make_shared<RteBench>(flows);  // first: DPDK needs all the memory that it requests
    const auto yardstick = std::make_shared<Yardstick>(flows);
    const auto known = std::make_shared<CacheBench>(flows);
    known->fill();
    known->stop_the_clock();
    const auto scratch = std::make_shared<CacheBench>(flows);
    const auto empty = [scratch] {
        scratch->start_anew();
        scratch->stop_the_clock();
    };
    const auto full = [scratch] {
        scratch->start_anew();
        scratch->fill();
        scratch->stop_the_clock();
    };
    const auto over_full = [scratch, full] {
        full();
        scratch->overfill();
        scratch->account_each_once();
    };
    const auto visited = [scratch, full] {
        full();
        scratch->account_each_once();
    };
    constexpr Includes kPackets = Includes::making_packets;
    std::vector<Operation> operations{
        {{"yardstick: one line", [yardstick](auto n) { yardstick->work(n); }}},
        {{"making the packets", [rte](auto n) { rte->make_only(n); }}},
        {{"cache: hash", [known](auto n) { known->hash_known(n); }}, kPackets},
        {{"cache: hit, hash and update included", [known](auto n) { known->account_known(n); }},
         kPackets},
        {{"rte_hash: hit, look-up only", [rte](auto n) { rte->find_known(n); }}, kPackets},
        {{"rte_hash: hit, and a line of 64 bytes updated", [rte](auto n) { rte->update_known(n); }},
         kPackets},
        {{"rte_hash: miss, look-up only", [rte](auto n) { rte->find_unknown(n); }}, kPackets},
        {{"cache: miss and insert", [scratch](auto n) { scratch->account_new(n); }, empty, flows},
         kPackets},
        {{"rte_hash: insert, one at a time", [rte](auto n) { rte->insert(n); },
          [rte] { rte->clear_second(); }, flows},
         kPackets},
        {{"cache: full, each packet evicts", [scratch](auto n) { scratch->evict(n); }, over_full},
         kPackets},
        {{"cache: expiry, a flow that ends", [scratch](auto n) { scratch->expire(n); }, full,
          flows}},
        {{"cache: expiry, a flow that goes on", [scratch](auto n) { scratch->expire(n); }, visited,
          flows}}};
    return {std::move(operations), known->explicit_pages() && scratch->explicit_pages()};
}

/// Checks the cache against a meter made of std::unordered_map.
void check_cache() {
    constexpr std::uint32_t kFlows = 5000;
    constexpr int kBursts = 4000;
    FlowCacheOptions options;
    options.max_flows = kFlows;
    options.idle_timeout = kIdleTimeout;
    options.active_timeout = kActiveTimeout;
    std::vector<std::byte> memory(CacheBench::Cache::bytes_needed(options));
    CacheCounters counters;
    CacheBench::Cache cache(options, {}, FlowHasher(1), memory, counters);
    ReferenceMeter reference(options);
    struct {
        ReferenceMeter& reference;
        bool try_push(const Record& record) noexcept {
            reference.expect(record.core);
            return true;
        }
    } sink{reference};
    KeyedBurst keyed = cache.burst();
    MadeBurst burst;
    Random random;
    Timestamp now{std::chrono::seconds{1'700'000'000}};
    for (int n = 0; n < kBursts; ++n) {
        now += std::chrono::milliseconds(50);
        const auto packets = burst.make_for(
            keyed, [&random] { return random.below(kFlows); }, now);
        for (const KeyedPacket& packet : packets) {
            reference.packet(*packet.fields, InterfaceIndex{1}, now);
        }
        cache.account(packets, sink);
        cache.expire_some(now, 2 * kBurstPackets, sink);
    }
    demand(cache.end_all(now, sink), "end_all");
    reference.finish(now);
    reference.check("cache");
}

/// Checks that the measured operations do what they are named after.
void check_operations() {
    constexpr std::uint32_t kFlows = 64 * 1000;
    CacheBench bench(kFlows);
    const auto ended = [&bench](FlowEndReason reason) {
        return bench.counters->ended[static_cast<std::size_t>(reason)].read();
    };
    bench.fill();
    demand(bench.counters->flows_created.read() == kFlows, "fill: flows");
    bench.stop_the_clock();
    bench.account_known(kFlows);
    demand(bench.counters->flows_created.read() == kFlows, "hit: a flow was opened");
    bench.overfill();
    bench.account_each_once();
    bench.evict(kFlows / 2);
    demand(ended(FlowEndReason::lack_of_resources) == kFlows / 2, "full: each packet evicts");
    demand(ended(FlowEndReason::idle_timeout) == 0, "full: no flow is idle");
    demand(bench.end_all(), "end_all");
    const std::uint64_t records = kFlows * 3 / 2 + bench.spare();
    const std::uint64_t packets = records + std::uint64_t{2} * kFlows;
    demand(bench.sink.tally == RecordTally{records, packets, 46 * packets}, "all records");

    bench.start_anew();
    bench.fill();
    bench.expire(kFlows);
    // The flows of the last 0.6 of ten seconds are still in the cache.
    demand(ended(FlowEndReason::idle_timeout) >= kFlows - kFlows / 16, "expiry: flows that end");
    bench.start_anew();
    bench.fill();
    bench.stop_the_clock();
    bench.account_each_once();
    demand(bench.counters->flows_created.read() == kFlows, "once each: a flow was opened");
    bench.expire(kFlows);
    demand(bench.sink.tally.records == 0, "expiry: flows that go on");
    // Distinct keys: distinct hashes, and evenly spread.
    MadeBurst burst;
    std::unordered_map<FlowHash, int> hashes;
    std::vector<int> buckets(1024);
    const FlowHasher hasher(1);
    for (std::uint32_t flow = 0; flow < kFlows;) {
        for (const KeyedPacket& packet : burst.make([&flow] { return flow++; }, Timestamp{})) {
            const FlowHash hash = hasher(packet.key);
            demand(++hashes[hash] == 1, "hash: two keys collide");
            ++buckets[hash % buckets.size()];
        }
    }
    demand(*std::ranges::max_element(buckets) < 125, "hash: a bucket has twice its share");
}

void check_all() {
    check_cache();
    check_operations();
    Yardstick(1000).check();
    RteBench(10'000).check();
    RingBench().check();
    EncoderBench().check();
}

Json to_json(const std::vector<Operation>& operations, const std::vector<Figure>& figures,
             std::uint32_t flows) {
    auto json = Json::array();
    double making = 0;
    for (std::size_t i = 0; i < operations.size(); ++i) {
        if (figures[i].name == "making the packets") {
            making = figures[i].median;
        }
        const double share = operations[i].includes == Includes::making_packets ? making : 0;
        json.push_back({{"flows", flows},
                        {"name", figures[i].name},
                        {"ns", figures[i].median - share},
                        {"ns_least", figures[i].least - share},
                        {"ns_most", figures[i].most - share},
                        {"making_ns", share}});
    }
    return json;
}

Json measure(const std::vector<Operation>& operations, std::uint32_t flows, int rounds) {
    constexpr std::uint64_t kLeastPackets = 1U << 20U;
    std::vector<Subject> subjects(operations.size());
    std::ranges::transform(operations, subjects.begin(), &Operation::subject);
    const std::uint64_t packets = std::max<std::uint64_t>(flows, kLeastPackets);
    return to_json(operations, measure_in_turn(subjects, rounds, packets), flows);
}

void measure_all(const Settings& settings, bool rte_huge_pages) {
    auto operations = Json::array();
    auto explicit_pages = Json::object();
    for (const std::uint32_t flows : settings.flows) {
        const TableOperations table = table_operations(flows);
        explicit_pages[std::to_string(flows)] = table.explicit_pages;
        for (auto& figure : measure(table.operations, flows, settings.rounds)) {
            operations.push_back(figure);
        }
    }
    const auto ring = std::make_shared<RingBench>();
    const auto encoder = std::make_shared<EncoderBench>();
    const std::vector<Operation> after{
        {{"ring: a record in and out", [ring](auto n) { ring->work(n); }}},
        {{"encoder: a record", [encoder](auto n) { encoder->work(n); }}}};
    for (auto& figure : measure(after, kRecords, settings.rounds)) {
        operations.push_back(figure);
    }
    const Json json{{"key_octets", sizeof(ShortKey)},
                    {"record_octets", kPlainRecord},
                    {"cache_explicit_huge_pages", explicit_pages},
                    {"rte_hash_explicit_huge_pages", rte_huge_pages},
                    {"operations", operations}};
    std::cout << json.dump(2) << "\n";
}

int run(int argc, char** argv) {
    Settings settings;
    CLI::App app("What each operation of the flow cache costs");
    app.add_flag("--check", settings.check_only, "only check the operations");
    app.add_option("--flows", settings.flows, "numbers of flows");
    app.add_option("--rounds", settings.rounds, "of which the median is taken");
    CLI11_PARSE(app, argc, argv);
    spdlog::set_default_logger(spdlog::stderr_logger_mt("cache_operations"));
    const std::uint32_t most =
        settings.check_only ? 10'000 : *std::ranges::max_element(settings.flows);
    const Eal eal(
        {.devices = {}, .main_cpus = usable_cpus(), .memory_bytes = RteBench::bytes_needed(most)});
    check_all();
    if (!settings.check_only) {
        measure_all(settings, eal.huge_pages());
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([=] { return tributary::perf::run(argc, argv); });
}
