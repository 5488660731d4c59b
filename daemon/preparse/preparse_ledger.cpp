// SPDX-License-Identifier: Apache-2.0
#include "daemon/preparse/preparse_ledger.hpp"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>

namespace tributary {
namespace {

using Json = nlohmann::ordered_json;

Json packets_of(const StreamLedger& stream) {
    const QueueLedger& input = stream.input;
    return {{"received", input.received},         {"sent", stream.sent},
            {"filtered", input.filtered},         {"lost", stream.lost_sum()},
            {"lost_by_cause", stream.lost},       {"ignored", input.ignored_sum()},
            {"ignored_by_reason", input.ignored}, {"cut_headers", input.cut_headers},
            {"fragments", input.fragments},       {"bad_timestamp", input.bad_timestamp},
            {"frames_cut", input.frames_cut},     {"length_unknown", input.length_unknown}};
}

Json frames_of(const StreamLedger& stream) {
    return {{"sent", stream.frames_sent}, {"lost", stream.frames_lost}};
}

}  // namespace

std::uint64_t StreamLedger::lost_sum() const noexcept {
    return std::accumulate(lost.begin(), lost.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& cause) { return sum + cause.second; });
}

StreamLedger& StreamLedger::operator+=(const StreamLedger& other) {
    input += other.input;
    sent += other.sent;
    for (const auto& [cause, count] : other.lost) {
        lost[cause] += count;
    }
    frames_sent += other.frames_sent;
    frames_lost += other.frames_lost;
    return *this;
}

StreamLedger PreparseLedger::total() const {
    StreamLedger sum;
    for (const StreamLedger& stream : streams) {
        sum += stream;
    }
    return sum;
}

void read_stream(const PreparseCounters& counters, StreamLedger& ledger) {
    for (std::size_t i = 0; i < kFrameOutcomeCount; ++i) {
        const auto outcome = static_cast<FrameOutcome>(i);
        if (outcome == FrameOutcome::sent) {
            ledger.sent += counters.packets[i].read();
            ledger.frames_sent += counters.frames[i].read();
        } else {
            ledger.lost[std::string(name_of(outcome))] += counters.packets[i].read();
            ledger.frames_lost += counters.frames[i].read();
        }
    }
    // Last, so that a ledger read at full speed never shows more packets gone than received.
    read_input(counters.input, ledger.input);
}

std::string to_json(const PreparseLedger& ledger) {
    const StreamLedger total = ledger.total();
    Json packets = packets_of(total);
    packets["nic_missed"] = ledger.nic.missed ? Json(*ledger.nic.missed) : Json();
    packets["nic_no_buffer"] = ledger.nic.no_buffer;
    packets["nic_errors"] = ledger.nic.errors;
    Json json{{"packets", std::move(packets)},
              {"frames", frames_of(total)},
              {"captures_cut", ledger.captures_cut},
              {"streams", Json::array()}};
    for (const StreamLedger& stream : ledger.streams) {
        Json entry{{"name", stream.input.name},
                   {"stream", stream.stream},
                   {"packets", packets_of(stream)},
                   {"frames", frames_of(stream)}};
        if (stream.input.clock) {
            const std::chrono::duration<double> lead = stream.input.clock->lead;
            entry["clock"] = {{"lead_seconds", lead.count()},
                              {"times_set_back", stream.input.clock->times_set_back}};
        }
        json["streams"].push_back(std::move(entry));
    }
    return json.dump(2) + "\n";
}

std::string to_line(const PreparseLedger& ledger) {
    const StreamLedger total = ledger.total();
    return fmt::format(
        "packets: {} received, {} sent in {} frames, {} lost, {} filtered, {} ignored by the "
        "parser "
        "but sent or lost like the others, {} NIC missed, {} no buffer",
        total.input.received, total.sent, total.frames_sent, total.lost_sum(), total.input.filtered,
        total.input.ignored_sum(), number_text(ledger.nic.missed), ledger.nic.no_buffer);
}

std::string imbalance(const PreparseLedger& ledger) {
    const StreamLedger total = ledger.total();
    const std::uint64_t known = total.sent + total.lost_sum() + total.input.filtered;
    if (total.input.received == known) {
        return {};
    }
    return fmt::format("received {} packets but sent, lost and filtered {}", total.input.received,
                       known);
}

}  // namespace tributary
