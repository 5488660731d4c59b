// SPDX-License-Identifier: Apache-2.0
#include "daemon/preparse/preparse_ledger.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace tributary {
namespace {

PreparseLedger ledger_of(std::uint64_t sent, std::uint64_t full, std::uint64_t filtered) {
    PreparseCounters counters;
    counters.input.received.add(sent + full + filtered);
    counters.input.filtered.add(filtered);
    counters.input.ignored[static_cast<std::size_t>(ParseStatus::arp)].add(2);
    counters.input.fragments.first.add(3);
    counters.packets[static_cast<std::size_t>(FrameOutcome::sent)].add(sent);
    counters.frames[static_cast<std::size_t>(FrameOutcome::sent)].add(1);
    counters.packets[static_cast<std::size_t>(FrameOutcome::tx_full)].add(full);
    counters.frames[static_cast<std::size_t>(FrameOutcome::tx_full)].add(full == 0 ? 0 : 1);
    PreparseLedger ledger;
    for (std::uint32_t stream = 4; stream < 6; ++stream) {
        StreamLedger& entry = ledger.streams.emplace_back();
        entry.stream = stream;
        entry.input.name = "uplink/" + std::to_string(stream - 4);
        read_stream(counters, entry);
    }
    ledger.nic.missed = 7;
    return ledger;
}

TEST_CASE("PreparseLedger: what the NIC cannot tell is unknown", "[daemon][unit]") {
    PreparseLedger ledger = ledger_of(20, 10, 5);
    ledger.nic.missed.reset();
    CHECK(nlohmann::json::parse(to_json(ledger))["packets"]["nic_missed"].is_null());
    CHECK(to_line(ledger).ends_with("unknown NIC missed, 0 no buffer"));
}

TEST_CASE("PreparseLedger: streams add up, and every name is there", "[daemon][unit]") {
    const auto json = nlohmann::json::parse(to_json(ledger_of(20, 10, 5)));
    const auto& packets = json["packets"];
    CHECK(packets["received"] == 70);
    CHECK(packets["sent"] == 40);
    CHECK(packets["filtered"] == 10);
    CHECK(packets["lost"] == 20);
    CHECK(packets["lost_by_cause"] ==
          nlohmann::json{{"no_buffer", 0}, {"tx_full", 20}, {"write_failed", 0}});
    CHECK(packets["ignored"] == 4);
    CHECK(packets["ignored_by_reason"]["arp"] == 4);
    CHECK(packets["fragments"]["first"] == 6);
    CHECK(packets["nic_missed"] == 7);
    CHECK(json["frames"] == nlohmann::json{{"sent", 2}, {"lost", 2}});
    REQUIRE(json["streams"].size() == 2);
    CHECK(json["streams"][1]["stream"] == 5);
    CHECK(json["streams"][1]["name"] == "uplink/1");
    CHECK(json["streams"][1]["packets"]["sent"] == 20);
    CHECK_FALSE(json["streams"][1].contains("clock"));
}

TEST_CASE("PreparseLedger: a live stream has its clock beside the host's", "[daemon][unit]") {
    PreparseLedger ledger = ledger_of(20, 10, 5);
    ledger.streams[1].input.clock =
        ClockLedger{.lead = std::chrono::milliseconds{2500}, .times_set_back = 3};
    const auto json = nlohmann::json::parse(to_json(ledger));
    CHECK_FALSE(json["streams"][0].contains("clock"));
    CHECK(json["streams"][1]["clock"] ==
          nlohmann::json{{"lead_seconds", 2.5}, {"times_set_back", 3}});
}

TEST_CASE("PreparseLedger: what does not add up is told", "[daemon][unit]") {
    PreparseLedger ledger = ledger_of(20, 10, 5);
    CHECK(imbalance(ledger).empty());
    ledger.streams[0].input.received += 1;
    CHECK(imbalance(ledger) == "received 71 packets but sent, lost and filtered 70");
}

TEST_CASE("PreparseLedger: one line tells the totals", "[daemon][unit]") {
    CHECK(to_line(ledger_of(20, 10, 5)) ==
          "packets: 70 received, 40 sent in 2 frames, 20 lost, 10 filtered, 4 ignored by the "
          "parser but sent or lost like the others, 7 NIC missed, 0 no buffer");
}

}  // namespace
}  // namespace tributary
