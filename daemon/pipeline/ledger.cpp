// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/ledger.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

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

Json packets_of(const QueueLedger& queue) {
    return {{"received", queue.received},
            {"metered", queue.metered.packets},
            {"ignored", queue.ignored_sum()},
            {"filtered", queue.filtered},
            {"ignored_by_reason", queue.ignored},
            {"exported", queue.exported.packets},
            {"lost", queue.lost_sum().packets},
            {"active", queue.active().packets},
            {"spooled", queue.spooled.packets},
            {"nic_queue_errors", json_of(queue.nic_queue_errors)},
            {"unified_headers_missing", queue.unified_headers_missing},
            {"unified_headers_untracked", queue.unified_headers_untracked},
            {"bad_timestamp", queue.bad_timestamp},
            {"frames_cut", queue.frames_cut},
            {"length_unknown", queue.length_unknown},
            {"cut_headers", queue.cut_headers},
            {"fragments", queue.fragments},
            {"tcp_unanalysed", queue.tcp_unanalysed}};
}

Json octets_of(const QueueLedger& queue) {
    return {{"metered", queue.metered.octets},   {"ignored", queue.ignored_octets},
            {"exported", queue.exported.octets}, {"lost", queue.lost_sum().octets},
            {"active", queue.active().octets},   {"spooled", queue.spooled.octets}};
}

Json flows_of(const QueueLedger& queue) {
    Json by_cause = Json::object();
    for (const auto& [cause, tally] : queue.lost) {
        by_cause[cause] = tally.records;
    }
    return {{"created", queue.metered.records},          {"exported", queue.exported.records},
            {"lost", queue.lost_sum().records},          {"lost_by_cause", by_cause},
            {"active", queue.active().records},          {"spooled", queue.spooled.records},
            {"ended_by_reason", queue.ended_by_reason()}};
}

Json spool_json(const GroupSpoolLedger& spool) {
    return {{"inherited", spool.inherited},
            {"stored", spool.stored},
            {"handed_over", spool.handed_over},
            {"lost", spool.lost()},
            {"lost_by_cause", spool.lost_by_cause},
            {"spooled", spool.spooled},
            {"waiting", spool.waiting()},
            {"estimated", spool.estimated},
            {"octets", spool.octets},
            {"max_octets", spool.max_octets},
            {"errors", spool.errors}};
}

double seconds(Timestamp::duration time) { return std::chrono::duration<double>(time).count(); }

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

std::uint64_t GroupSpoolLedger::lost() const noexcept {
    return std::accumulate(lost_by_cause.begin(), lost_by_cause.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& cause) { return sum + cause.second; });
}

std::uint64_t GroupSpoolLedger::waiting() const noexcept {
    const std::uint64_t came = inherited + stored;
    const std::uint64_t went = handed_over + lost() + spooled;
    return came > went ? came - went : 0;
}

std::uint64_t QueueLedger::ignored_sum() const noexcept {
    return std::accumulate(
        ignored.begin(), ignored.end(), std::uint64_t{0},
        [](std::uint64_t sum, const auto& reason) { return sum + reason.second; });
}

RecordTally QueueLedger::lost_sum() const noexcept {
    RecordTally sum;
    for (const auto& [cause, tally] : lost) {
        sum += tally;
    }
    return sum;
}

std::uint64_t QueueLedger::in_cache() const noexcept {
    return metered.records - std::accumulate(ended.begin(), ended.end(), std::uint64_t{0});
}

RecordTally QueueLedger::active() const noexcept { return metered - exported - lost_sum(); }

QueueLedger& QueueLedger::operator+=(const QueueLedger& other) {
    received += other.received;
    filtered += other.filtered;
    bad_timestamp += other.bad_timestamp;
    frames_cut += other.frames_cut;
    length_unknown += other.length_unknown;
    nic_queue_errors = sum_of_known(nic_queue_errors, other.nic_queue_errors);
    unified_headers_missing += other.unified_headers_missing;
    unified_headers_untracked += other.unified_headers_untracked;
    for (const auto& [reason, count] : other.ignored) {
        ignored[reason] += count;
    }
    ignored_octets += other.ignored_octets;
    for (const auto& [header, count] : other.cut_headers) {
        cut_headers[header] += count;
    }
    for (const auto& [what, count] : other.fragments) {
        fragments[what] += count;
    }
    for (const auto& [what, count] : other.tcp_unanalysed) {
        tcp_unanalysed[what] += count;
    }
    metered += other.metered;
    exported += other.exported;
    spooled += other.spooled;
    for (const auto& [cause, tally] : other.lost) {
        lost[cause] += tally;
    }
    for (std::size_t reason = 0; reason < kFlowEndReasonCount; ++reason) {
        ended[reason] += other.ended[reason];
    }
    return *this;
}

NamedCounts QueueLedger::ended_by_reason() const {
    NamedCounts counts;
    for (std::size_t reason = 1; reason < kFlowEndReasonCount; ++reason) {
        counts.emplace(kEndReasonNames[reason], ended[reason]);
    }
    return counts;
}

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
    const auto lost = total.lost.find(kRingFull);
    return {.ignored_packets = total.ignored_sum(),
            .ignored_octets = total.ignored_octets,
            .dropped_packets = sum_of_known(ports.missed, ports.no_buffer),
            .lost = lost == total.lost.end() ? RecordTally{} : lost->second};
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
        sum.missed = sum_of_known(sum.missed, port.missed);
        sum.no_buffer += port.no_buffer;
        sum.errors += port.errors;
    }
    return sum;
}

std::string to_json(const Ledger& ledger) {
    const QueueLedger total = ledger.total();
    const PortLedger nic = ledger.all_ports();
    Json packets = packets_of(total);
    packets["nic_missed"] = json_of(nic.missed);
    packets["nic_no_buffer"] = nic.no_buffer;
    packets["nic_errors"] = nic.errors;
    Json json{{"packets", std::move(packets)},
              {"octets", octets_of(total)},
              {"flows", flows_of(total)},
              {"collectors", Json::array()},
              {"captures_cut", ledger.captures_cut},
              {"ports", Json::array()},
              {"queues", Json::array()}};
    for (const CollectorLedger& collector : ledger.collectors) {
        Json entry{{"name", collector.name}};
        entry.update(Json(collector.counts));
        entry["lost_by_cause"] = collector.lost_by_cause;
        if (collector.is_removed) {
            entry["removed"] = true;
        }
        json["collectors"].push_back(std::move(entry));
    }
    if (ledger.spool) {
        json["spool"] = spool_json(*ledger.spool);
    }
    for (const PortLedger& port : ledger.ports) {
        json["ports"].push_back({{"name", port.name},
                                 {"nic_missed", json_of(port.missed)},
                                 {"nic_no_buffer", port.no_buffer},
                                 {"nic_errors", port.errors}});
    }
    for (const QueueLedger& queue : ledger.queues) {
        Json entry{{"name", queue.name},
                   {"packets", packets_of(queue)},
                   {"octets", octets_of(queue)},
                   {"flows", flows_of(queue)}};
        if (queue.clock) {
            entry["clock"] = {{"lead_seconds", seconds(queue.clock->lead)},
                              {"times_set_back", queue.clock->times_set_back}};
        }
        json["queues"].push_back(std::move(entry));
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
    const RecordTally left = total.active() - total.spooled;
    if (left != RecordTally{}) {
        return fmt::format(
            "{} records with {} packets and {} octets were created but neither exported, lost nor "
            "spooled",
            static_cast<std::int64_t>(left.records), static_cast<std::int64_t>(left.packets),
            static_cast<std::int64_t>(left.octets));
    }
    return {};
}

}  // namespace tributary
