// SPDX-License-Identifier: Apache-2.0
// The cost of declared tables: the pipeline of cache_pipeline without one, with a table of the
// main table's key, and with a table of prefixes, DSCP and a field of the user's own.
//
//   table_cost                       JSON on standard output
//   table_cost --check               only checks the records of the tables
//                                    (--help: all options)
//
// All kinds of one number of flows exist at once, and their rounds take turns; in each turn the
// packets are parsed once without any table, so that what a table costs is known alone.

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/table/table_set.hpp"
#include "flowcache/input/frame_parser.hpp"
#include "flowcache/input/packet_reader.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/kinds_run.hpp"
#include "perf/support/metering.hpp"
#include "perf/support/pipeline_bench.hpp"
#include "perf/support/report_failure.hpp"

namespace tributary::perf {
namespace {

using Json = nlohmann::ordered_json;
using Round = PipelineBench::Round;

struct Kind {
    const char* name;
    std::vector<std::string> key;  ///< of the table; empty: there is none
};

const std::array kKinds{
    Kind{"plain pipeline", {}},
    Kind{"with a table of the 5-tuple",
         {"sourceAddress", "destinationAddress", "sourceTransportPort", "destinationTransportPort",
          "protocolIdentifier", "vlanId", "ingressInterface"}},
    Kind{"with a table of two prefixes, DSCP and two octets of one's own",
         {"sourceAddress/24/56", "destinationAddress/24/56", "ipDiffServCodePoint", "word"}}};

/// The first two octets of the UDP payload.
const std::vector<OwnField> kOwn{{.name = "word",
                                  .from = OwnFieldBase::l4,
                                  .offset = 8,
                                  .octets = 2,
                                  .as = OwnFieldType::unsigned16,
                                  .when = {}}};

/// The table of a kind, with the sizes and timeouts of the main one.
class TableBeside {
public:
    TableBeside(const Kind& kind, const FlowTraffic& traffic, std::size_t number)
        : main_(cache_options(traffic, false)) {
        if (!kind.key.empty()) {
            TableDeclaration& table = declarations_.emplace_back();
            table.name = "table" + std::to_string(number);
            table.key = kind.key;
            table.direction = main_.direction;
            table.max_flows = main_.max_flows;
            table.idle_timeout = main_.idle_timeout;
            table.active_timeout = main_.active_timeout;
        }
        set_ = std::make_unique<TableSet>(
            TableSetParts{.declarations = declarations_, .own = kOwn, .main = main_, .parse = {}});
    }
    /// Once.
    [[nodiscard]] BesideTable make() {
        StageList stages = set_->add_queue({.pages = PageUse::offline}, FlowHasher(2));
        return {.stages = std::move(stages), .records = set_->records()};
    }

private:
    FlowCacheOptions main_;
    std::vector<TableDeclaration> declarations_;
    std::unique_ptr<TableSet> set_;
};

/// What records say, whatever their order.
struct RecordSums {
    std::uint64_t records{};
    std::uint64_t hashes{};                         ///< of whole records
    std::map<std::uint32_t, RecordTally> by_net{};  ///< of the source, IPv4 /24

    void add(const FlowRecordCore& record) {
        ++records;
        hashes += XXH64(&record, sizeof record, 0);
        constexpr std::uint32_t kNet = 0x00FF'FFFF;  // in network byte order
        std::uint32_t address = 0;
        std::memcpy(&address, record.key.source.data(), sizeof address);
        by_net[address & kNet] += record.tally();
    }
};

/// A table of the 5-tuple has the main table's records, another one their sums by net.
void check_kind(const Kind& kind, const FlowTraffic& traffic, double packet_time) {
    constexpr std::uint64_t kPackets = 200'000;
    const std::string what = std::to_string(traffic.flows) + " flows, " + kind.name;
    TableBeside table(kind, traffic, 0);
    Metering metering(traffic, false, table.make());
    RecordSums of_main;
    RecordSums of_table;
    metering.listen(
        [&](const FlowRecordCore& record, const RecordLayout&) { of_main.add(record); });
    metering.sides_beside.front()->on_record = [&](const FlowRecordCore& record) {
        of_table.add(record);
    };
    metering.fill();
    metering.set_packet_time(packet_time);
    metering.run(kPackets);
    metering.finish();
    demand(of_main.records >= traffic.flows, what + ": too few records");
    demand(of_table.by_net == of_main.by_net, what + ": sums by net");
    if (kind.key.size() == kKinds[1].key.size()) {
        demand(of_table.records == of_main.records, what + ": number of records");
        demand(of_table.hashes == of_main.hashes, what + ": octets of records");
    }
}

void check_all() {
    constexpr double kSlow = 500'000;  // 128 flows: 100 s in all, which the active timeout cuts
    constexpr double kFast = 10'000;
    for (std::size_t kind = 1; kind < kKinds.size(); ++kind) {
        for (const FlowDirection direction : {FlowDirection::uniflow, FlowDirection::biflow}) {
            // The prefixes of a biflow's two sides are not those of its addresses' order.
            if (kind == 1 || direction == FlowDirection::uniflow) {
                check_kind(kKinds[kind],
                           {.flows = 128, .new_per_second = 0.1, .direction = direction}, kSlow);
                check_kind(kKinds[kind], {.flows = 5000, .direction = direction}, kFast);
            }
        }
    }
}

/// A measured kind.
class Subject {
public:
    Subject(std::size_t number, const FlowTraffic& traffic, std::uint64_t packets)
        : kind_(kKinds[number]),
          table_(kind_, traffic, number),
          bench_(traffic, packets, false, {}, table_.make()) {}
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;
    ~Subject() = default;

    void measure_round() { bench_.measure_round(); }
    [[nodiscard]] std::vector<double> nanoseconds() const {
        return bench_.values(&Round::pipeline);
    }
    [[nodiscard]] Json to_json(std::span<const double> plain, std::span<const double> parsing) {
        const std::vector<double> own = nanoseconds();
        std::vector<double> shares;
        for (std::size_t round = 0; round < own.size(); ++round) {
            shares.push_back((own[round] - plain[round]) / (plain[round] - parsing[round]));
        }
        Json json{{"name", kind_.name},
                  {"packets", bench_.packets()},
                  {"ns", bench_.middle(&Round::pipeline)},
                  {"ns_least", bench_.least(&Round::pipeline)},
                  {"ns_most", bench_.most(&Round::pipeline)},
                  {"allocations", bench_.allocations()}};
        if (!kind_.key.empty()) {
            json["of_main_table"] = median_of(shares);
            json["of_main_table_least"] = std::ranges::min(shares);
            json["of_main_table_most"] = std::ranges::max(shares);
        }
        return json;
    }

private:
    const Kind& kind_;
    TableBeside table_;
    PipelineBench bench_;
};

/// Packets are received and parsed as FrameReader does it, and not accounted.
class ParsingAlone {
public:
    ParsingAlone(const FlowTraffic& traffic, std::uint64_t packets)
        : nic_(traffic), packets_(packets) {}
    void measure_round() {
        const double source = time_per_packet(packets_, [this] { receive_only(nic_, packets_); });
        const double total = time_per_packet(packets_, [this] { parse(); });
        nanoseconds_.push_back(total - source);
    }
    [[nodiscard]] const std::vector<double>& nanoseconds() const noexcept { return nanoseconds_; }

private:
    void parse() {
        std::uint64_t parsed = 0;
        for (std::uint64_t done = 0; done < packets_; done += kBurstPackets) {
            const FrameBurst burst = nic_.receive();
            FrameParser parser = parser_;  // a copy, which no store to fields can change
            PacketFields* fields = fields_.data();
            for (const PacketView& frame : burst.frames) {
                if (parser.parse(frame, *fields) == ParseStatus::ok) {
                    ++fields;
                }
            }
            parsed += static_cast<std::uint64_t>(fields - fields_.data());
            keep(fields_);
            nic_.release(burst);
        }
        demand(parsed >= packets_, "parsing");
    }

    FlowNic nic_;
    std::uint64_t packets_;
    InputCounters counters_;
    FrameParser parser_{{}, counters_};
    std::array<PacketFields, kBurstPackets> fields_{};
    std::vector<double> nanoseconds_;
};

/// All kinds with so many flows, in turn.
Json measure(std::uint32_t flows, const KindsSettings& settings) {
    const std::uint64_t packets = std::max<std::uint64_t>(settings.packets, flows);
    const FlowTraffic traffic{.flows = flows, .new_per_second = settings.new_per_second};
    ParsingAlone parsing(traffic, packets);
    std::vector<std::unique_ptr<Subject>> subjects;
    for (std::size_t number = 0; number < kKinds.size(); ++number) {
        subjects.push_back(std::make_unique<Subject>(number, traffic, packets));
    }
    for (int round = 0; round < settings.rounds; ++round) {
        parsing.measure_round();
        for (const auto& subject : subjects) {
            subject->measure_round();
        }
    }
    const std::vector<double> plain = subjects.front()->nanoseconds();
    auto kinds = Json::array();
    for (const auto& subject : subjects) {
        kinds.push_back(subject->to_json(plain, parsing.nanoseconds()));
    }
    return {{"flows", flows},
            {"new_per_second", settings.new_per_second},
            {"parsing_ns", median_of(parsing.nanoseconds())},
            {"kinds", kinds}};
}

int run(int argc, char** argv) {
    return run_kinds(argc, argv, {.flows = {16'384, 1'000'000}}, "What declared tables cost",
                     "only check the records of the tables", check_all, measure);
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([=] { return tributary::perf::run(argc, argv); });
}
