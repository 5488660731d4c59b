// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <type_traits>
#include <utility>

#include "daemon/pipeline/ledger_rows.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, kFlowEndReasonCount> kEndReasonNames{
    "none", "idle", "active", "end", "forced", "lack_of_resources"};

constexpr std::string_view kRingFull = "ring_full";

RecordTally operator-(const RecordTally& a, const RecordTally& b) noexcept {
    return {a.records - b.records, a.packets - b.packets, a.octets - b.octets};
}

Json json_of(std::optional<std::uint64_t> number) { return number ? Json(*number) : Json(); }

Json json_of(std::uint64_t number) { return number; }
Json json_of(const NamedCounts& counts) { return counts; }

/// The sections of a queue's JSON, or of a table's.
struct QueueJson {
    Json packets = Json::object();
    Json octets = Json::object();
    Json flows = Json::object();
};

Json& section_of(QueueJson& json, LedgerSection section) {
    switch (section) {
        case LedgerSection::packets:
            return json.packets;
        case LedgerSection::octets:
            return json.octets;
        default:
            return json.flows;
    }
}

template <class Numbers>
void show(QueueJson& json, const CounterWords& words, const Numbers& numbers) {
    section_of(json, words.section)[words.key] = json_of(numbers);
}
void show(QueueJson& json, const CounterWords& words, const RecordTally& tally) {
    json.packets[words.key] = tally.packets;
    json.octets[words.key] = tally.octets;
    json.flows[words.records_key == nullptr ? words.key : words.records_key] = tally.records;
}
void show(QueueJson& json, const CounterWords& words, const LostByCause& lost) {
    Json& by_cause = json.flows[words.key] = Json::object();
    for (const auto& [cause, tally] : lost) {
        by_cause[cause] = tally.records;
    }
}

template <class Rows, class Owner>
QueueJson json_of(const Rows& rows, const Owner& ledger) {
    QueueJson json;
    for_each_in_json(rows, ledger, [&json](const CounterWords& words, const auto& numbers) {
        show(json, words, numbers);
    });
    return json;
}

/// Adds the numbers of a table without sections.
template <class Rows, class Owner>
void show_all(Json& json, const Rows& rows, const Owner& ledger) {
    for_each_in_json(rows, ledger, [&json](const CounterWords& words, const auto& numbers) {
        json[words.key] = json_of(numbers);
    });
}

void add(std::uint64_t& sum, std::uint64_t number) { sum += number; }
void add(RecordTally& sum, const RecordTally& tally) { sum += tally; }
void add(std::optional<std::uint64_t>& sum, std::optional<std::uint64_t> number) {
    sum = sum_of_known(sum, number);
}
template <class Numbers>
void add(std::map<std::string, Numbers, std::less<>>& sum,
         const std::map<std::string, Numbers, std::less<>>& by_name) {
    for (const auto& [name, numbers] : by_name) {
        sum[name] += numbers;
    }
}
template <std::size_t N>
void add(std::array<std::uint64_t, N>& sum, const std::array<std::uint64_t, N>& numbers) {
    std::ranges::transform(sum, numbers, sum.begin(), std::plus<>());
}

template <class Rows, class Owner>
void add_all(const Rows& rows, Owner& sum, const Owner& other) {
    for_each_row(rows, [&](const auto& row) {
        if constexpr (std::remove_cvref_t<decltype(row)>::kIsSummed) {
            add(sum.*row.read, other.*row.read);
        }
    });
}

/// The sum of counts by name.
std::uint64_t sum_of(const NamedCounts& counts) noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& count) { return sum + count.second; });
}

RecordTally sum_of(const LostByCause& lost) noexcept {
    RecordTally sum;
    for (const auto& [cause, tally] : lost) {
        sum += tally;
    }
    return sum;
}

using EndedByReason = std::array<std::uint64_t, kFlowEndReasonCount>;

NamedCounts named(const EndedByReason& ended) {
    NamedCounts counts;
    for (std::size_t reason = 1; reason < kFlowEndReasonCount; ++reason) {
        counts.emplace(kEndReasonNames[reason], ended[reason]);
    }
    return counts;
}

std::uint64_t sum_of(const EndedByReason& ended) noexcept {
    return std::accumulate(ended.begin(), ended.end(), std::uint64_t{0});
}

/// As in the records: 16 hexadecimal digits.
std::string stream_text(std::uint64_t stream) { return fmt::format("{:016x}", stream); }

Json json_of(const LostNumbers::Reading& numbers) {
    Json ranges = Json::array();
    for (const LostRange& range : numbers.ranges) {
        ranges.push_back({{"stream", stream_text(range.stream)},
                          {"first", range.first},
                          {"last", range.last},
                          {"cause", range.cause}});
    }
    return {{"stream", stream_text(numbers.next.stream)},
            {"next", numbers.next.sequence},
            {"lost", std::move(ranges)},
            {"unlisted", numbers.unlisted}};
}

Json json_of(const CollectorLedger& collector) {
    Json entry{{"name", collector.name}};
    entry.update(Json(collector.counts));
    entry["lost_by_cause"] = collector.lost_by_cause;
    if (!collector.tables.empty()) {
        entry["tables"] = collector.tables;
    }
    if (collector.numbers) {
        entry["numbers"] = json_of(*collector.numbers);
    }
    if (collector.is_removed) {
        entry["removed"] = true;
    }
    return entry;
}

double seconds(Timestamp::duration time) { return std::chrono::duration<double>(time).count(); }

Json json_of(const QueueLedger& queue) {
    QueueJson numbers = json_of(kQueueRows, queue);
    Json entry{{"name", queue.name},
               {"packets", std::move(numbers.packets)},
               {"octets", std::move(numbers.octets)},
               {"flows", std::move(numbers.flows)}};
    if (queue.clock) {
        entry["clock"] = {{"lead_seconds", seconds(queue.clock->lead)},
                          {"times_set_back", queue.clock->times_set_back}};
    }
    return entry;
}

/// The sums over all queues, the queues, the dumps, and the triggers.
Json json_of(const RecorderLedger& recorder) {
    RecorderQueueLedger total;
    std::uint64_t least = 0;
    Json queues = Json::array();
    for (const RecorderQueueLedger& queue : recorder.queues) {
        add_all(kRecorderRows, total, queue);
        least = queues.empty() ? queue.reach : std::min(least, queue.reach);
        Json entry{{"name", queue.name}};
        show_all(entry, kRecorderRows, queue);
        queues.push_back(std::move(entry));
    }
    total.reach = least;  // so far back all of them reach
    Json json = Json::object();
    if (!recorder.queues.empty()) {
        show_all(json, kRecorderRows, total);
        json["queues"] = std::move(queues);
        show_all(json["dumps"], kDumpRows, recorder.dumps);
    }
    json["triggers"] = Json::array();
    for (const TriggerLedger& trigger : recorder.triggers) {
        Json entry{{"name", trigger.name}};
        show_all(entry, kTriggerRows, trigger);
        json["triggers"].push_back(std::move(entry));
    }
    return json;
}

/// Records at the end that the next process finds.
std::string spooled_text(std::uint64_t records) {
    return records == 0 ? std::string() : fmt::format("{} in the spool, ", records);
}

/// Where TCP was not analysed, zeros in the records do not mean "no loss".
std::string unanalysed_text(const NamedCounts& segments) {
    std::string text;
    for (const auto& [why, count] : segments) {
        if (count > 0) {
            text += fmt::format("{} {} {}", text.empty() ? "; TCP segments:" : ",", count, why);
        }
    }
    return text;
}

}  // namespace

std::uint64_t GroupSpoolLedger::lost() const noexcept { return sum_of(lost_by_cause); }

std::uint64_t GroupSpoolLedger::waiting() const noexcept {
    const std::uint64_t came = inherited + stored;
    const std::uint64_t went = handed_over + lost() + spooled;
    return came > went ? came - went : 0;
}

std::uint64_t QueueLedger::ignored_sum() const noexcept { return sum_of(ignored); }

RecordTally QueueLedger::lost_sum() const noexcept { return sum_of(lost); }

std::uint64_t QueueLedger::in_cache() const noexcept { return metered.records - sum_of(ended); }

RecordTally QueueLedger::active() const noexcept { return metered - exported - lost_sum(); }

QueueLedger& QueueLedger::operator+=(const QueueLedger& other) {
    add_all(kQueueRows, *this, other);
    return *this;
}

NamedCounts QueueLedger::ended_by_reason() const { return named(ended); }

std::uint64_t TableLedger::refused_sum() const noexcept { return sum_of(refused); }

RecordTally TableLedger::lost_sum() const noexcept { return sum_of(lost); }

std::uint64_t TableLedger::in_cache() const noexcept { return created.records - sum_of(ended); }

RecordTally TableLedger::active() const noexcept { return created - exported - lost_sum(); }

TableLedger& TableLedger::operator+=(const TableLedger& other) {
    add_all(kTableRows, *this, other);
    return *this;
}

NamedCounts TableLedger::ended_by_reason() const { return named(ended); }

std::uint64_t RecorderQueueLedger::left_out_sum() const noexcept { return sum_of(left_out); }

std::uint64_t TriggerLedger::suppressed_sum() const noexcept { return sum_of(suppressed); }

void read_cache(const CacheCounters& counters, QueueLedger& queue) {
    queue.lost[std::string(kRingFull)] += counters.lost_ring_full.read();
    queue.tcp_unanalysed["unread"] += counters.tcp_segments_unread.read();
    queue.tcp_unanalysed["unjudged"] += counters.tcp_segments_unjudged.read();
    for (std::size_t reason = 0; reason < kFlowEndReasonCount; ++reason) {
        queue.ended[reason] = counters.ended[reason].read();
    }
    queue.metered = {counters.flows_created.read(), counters.packets.read(),
                     counters.octets.read()};
}

void read_cache(const CacheCounters& counters, TableLedger& table) {
    table.lost[std::string(kRingFull)] += counters.lost_ring_full.read();
    for (std::size_t reason = 0; reason < kFlowEndReasonCount; ++reason) {
        table.ended[reason] += counters.ended[reason].read();
    }
    table.created +=
        {counters.flows_created.read(), counters.packets.read(), counters.octets.read()};
}

void read_input(const InputCounters& counters, QueueLedger& queue) {
    for (std::size_t status = 1; status < kParseStatusCount; ++status) {
        queue.ignored[std::string(name_of(static_cast<ParseStatus>(status)))] +=
            counters.ignored[status].read();
    }
    queue.ignored["filter_not_ready"] += counters.filter_not_ready.read();
    queue.ignored_octets += counters.ignored_octets.read();
    for (std::size_t header = 1; header < kCutHeaderCount; ++header) {
        queue.cut_headers[std::string(name_of(static_cast<CutHeader>(header)))] +=
            counters.cut_headers[header].read();
    }
    const FragmentCounters& fragments = counters.fragments;
    queue.fragments["first"] += fragments.first.read();
    queue.fragments["later"] += fragments.later.read();
    queue.fragments["without_first"] += fragments.without_first.read();
    queue.fragments["forgotten"] += fragments.forgotten.read();
    queue.bad_timestamp += counters.bad_timestamp.read();
    queue.unified_headers_missing = counters.unified_headers_missing.read();
    queue.unified_headers_untracked = counters.unified_headers_untracked.read();
    queue.filtered = counters.filtered.read();
    queue.received += counters.received.read();
}

void read_kept(const KeptBuffers& kept, QueueLedger& queue) {
    queue.kept_held = kept.held();  // first: it is never more than were kept
    queue.kept = kept.kept();
    queue.keep_refused = kept.refused();
}

std::string number_text(std::optional<std::uint64_t> number) {
    return number ? std::to_string(*number) : "unknown";
}

std::string part_text(std::uint64_t number, bool rest_is_unknown) {
    if (!rest_is_unknown) {
        return std::to_string(number);
    }
    return number == 0 ? "unknown" : "unknown + " + std::to_string(number);
}

std::optional<std::uint64_t> sum_of_known(std::optional<std::uint64_t> a,
                                          std::optional<std::uint64_t> b) {
    return a && b ? std::optional(*a + *b) : std::nullopt;
}

PreExportLosses metering_totals(const Ledger& ledger) {
    const QueueLedger total = ledger.total();
    const PortLedger ports = ledger.all_ports();
    const auto lost_in = [](const LostByCause& by_cause) {
        const auto lost = by_cause.find(kRingFull);
        return lost == by_cause.end() ? RecordTally{} : lost->second;
    };
    PreExportLosses losses{.ignored_packets = total.ignored_sum(),
                           .ignored_octets = total.ignored_octets,
                           .dropped_packets = sum_of_known(ports.missed, ports.no_buffer),
                           .lost = lost_in(total.lost)};
    for (const TableLedger& table : ledger.tables) {
        losses.further_lost[table.name] = lost_in(table.lost);
    }
    return losses;
}

TableLedger& Ledger::table(std::string_view name) {
    const auto found = std::ranges::find(tables, name, &TableLedger::name);
    if (found != tables.end()) {
        return *found;
    }
    TableLedger& added = tables.emplace_back();
    added.name = name;
    return added;
}

QueueLedger Ledger::total() const {
    QueueLedger sum;
    for (const QueueLedger& queue : queues) {
        sum += queue;
    }
    return sum;
}

PortLedger Ledger::all_ports() const {
    PortLedger sum;
    for (const PortLedger& port : ports) {
        add_all(kPortRows, sum, port);
    }
    return sum;
}

std::string to_json(const Ledger& ledger) {
    QueueJson total = json_of(kQueueRows, ledger.total());
    show_all(total.packets, kPortRows, ledger.all_ports());
    Json json{{"packets", std::move(total.packets)},
              {"octets", std::move(total.octets)},
              {"flows", std::move(total.flows)},
              {"collectors", Json::array()},
              {"captures_cut", ledger.captures_cut},
              {"ports", Json::array()},
              {"queues", Json::array()}};
    for (const CollectorLedger& collector : ledger.collectors) {
        json["collectors"].push_back(json_of(collector));
    }
    if (ledger.spool) {
        show_all(json["spool"], kSpoolRows, *ledger.spool);
    }
    for (const PortLedger& port : ledger.ports) {
        Json entry{{"name", port.name}};
        show_all(entry, kPortRows, port);
        json["ports"].push_back(std::move(entry));
    }
    for (const QueueLedger& queue : ledger.queues) {
        json["queues"].push_back(json_of(queue));
    }
    for (const TableLedger& table : ledger.tables) {
        QueueJson numbers = json_of(kTableRows, table);
        json["tables"][table.name] = {{"packets", std::move(numbers.packets)},
                                      {"octets", std::move(numbers.octets)},
                                      {"flows", std::move(numbers.flows)}};
    }
    if (ledger.recorder) {
        json["recorder"] = json_of(*ledger.recorder);
    }
    return json.dump(2) + "\n";
}

std::string to_line(const Ledger& ledger) {
    const QueueLedger total = ledger.total();
    const PortLedger nic = ledger.all_ports();
    return fmt::format(
        "packets: {} received, {} metered, {} ignored, {} filtered, {} NIC missed, {} no buffer, "
        "{} bad "
        "timestamp; flows: {} created, {} exported, {} lost, {}{} active{}",
        total.received, total.metered.packets, total.ignored_sum(), total.filtered,
        number_text(nic.missed), nic.no_buffer, total.bad_timestamp, total.metered.records,
        total.exported.records, total.lost_sum().records, spooled_text(total.spooled.records),
        (total.active() - total.spooled).records, unanalysed_text(total.tcp_unanalysed));
}

namespace {

/// Records that nothing became of; empty: there are none.
///
/// @param whose  words in front of it
std::string lost_sight_of(const std::string& whose, const RecordTally& left) {
    if (left == RecordTally{}) {
        return {};
    }
    return fmt::format(
        "{}{} records with {} packets and {} octets were created but neither exported, lost nor "
        "spooled",
        whose, static_cast<std::int64_t>(left.records), static_cast<std::int64_t>(left.packets),
        static_cast<std::int64_t>(left.octets));
}

std::string imbalance(const RecorderQueueLedger& queue) {
    const std::uint64_t known = queue.kept_whole + queue.kept_cut + queue.left_out_sum();
    return queue.seen == known
               ? std::string()
               : fmt::format("recorder of {}: saw {} packets but kept and left out {}", queue.name,
                             queue.seen, known);
}

std::string imbalance(const TriggerLedger& trigger) {
    const std::uint64_t known = trigger.suppressed_sum() + trigger.files + trigger.waiting;
    return trigger.fired == known
               ? std::string()
               : fmt::format(
                     "trigger {}: fired {} times but {} files were written, are waited for "
                     "or were suppressed",
                     trigger.name, trigger.fired, known);
}

std::string imbalance(const TableLedger& table) {
    const std::uint64_t known =
        table.filtered + table.filter_not_ready + table.without_field + table.matched;
    if (table.metered != known) {
        return fmt::format("table {}: metered {} packets but matched and left out {}", table.name,
                           table.metered, known);
    }
    const std::uint64_t accounted = table.created.packets + table.refused_sum();
    if (table.matched != accounted) {
        return fmt::format("table {}: matched {} packets but accounted and refused {}", table.name,
                           table.matched, accounted);
    }
    return lost_sight_of("table " + table.name + ": ", table.active() - table.spooled);
}

}  // namespace

std::string imbalance(const Ledger& ledger) {
    const QueueLedger total = ledger.total();
    const std::uint64_t known = total.metered.packets + total.ignored_sum() + total.filtered;
    if (total.received != known) {
        return fmt::format("received {} packets but metered, ignored and filtered {}",
                           total.received, known);
    }
    if (ledger.spool && ledger.spool->waiting() != 0) {
        return fmt::format(
            "{} records of the group's spool were neither handed over, lost nor "
            "spooled",
            ledger.spool->waiting());
    }
    std::string text = lost_sight_of("", total.active() - total.spooled);
    for (const TableLedger& table : ledger.tables) {
        if (text.empty()) {
            text = imbalance(table);
        }
    }
    const auto look_at = [&text](const auto& accounts) {
        for (const auto& account : accounts) {
            text = text.empty() ? imbalance(account) : text;
        }
    };
    if (ledger.recorder) {
        look_at(ledger.recorder->queues);
        look_at(ledger.recorder->triggers);
    }
    return text;
}

}  // namespace tributary
