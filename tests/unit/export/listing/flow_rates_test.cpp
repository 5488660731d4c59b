// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_rates.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <vector>

using namespace tributary;
using std::chrono::milliseconds;

namespace {

constexpr Timestamp kStart{std::chrono::seconds{1'000'000}};

/// A flow that its source port identifies.
FlowView flow(std::uint16_t port, Timestamp start, std::uint64_t octets,
              std::uint64_t packets = 1) {
    FlowView view;
    view.core.key.source_port = {port};
    view.core.key.ip_version = 4;
    view.core.start = start;
    view.core.end = start + milliseconds{1};
    view.core.octets = octets;
    view.core.packets = packets;
    return view;
}

void look(FlowRates& rates, double at, const std::vector<FlowView>& flows) {
    rates.begin(at);
    for (const FlowView& each : flows) {
        rates.add(each);
    }
    rates.end();
}

std::vector<std::uint16_t> ports(const FlowRates& rates, RateOrder order) {
    std::vector<std::uint16_t> all;
    for (const FlowRate& rate : rates.best(order)) {
        all.push_back(rate.flow.core.key.source_port.value);
    }
    return all;
}

using Ports = std::vector<std::uint16_t>;

}  // namespace

TEST_CASE("FlowRates: rates are those of the interval, not of the flow's life", "[export][unit]") {
    FlowRates rates(10);
    look(rates, 10, {flow(1, kStart, 1'000'000'000, 1000), flow(2, kStart, 100, 1)});
    CHECK(rates.best(RateOrder::octet_rate).empty());
    CHECK(ports(rates, RateOrder::octets) == Ports{1, 2});
    CHECK_FALSE(rates.interval());
    look(rates, 12, {flow(1, kStart, 1'000'000'100, 1001), flow(2, kStart, 4100, 5)});
    CHECK(ports(rates, RateOrder::octet_rate) == Ports{2, 1});
    CHECK(rates.best(RateOrder::octet_rate)[0].octets_rate == 2000.0);
    CHECK(rates.best(RateOrder::octet_rate)[0].packets_rate == 2.0);
    CHECK(rates.best(RateOrder::octet_rate)[1].octets_rate == 50.0);
    CHECK(ports(rates, RateOrder::octets) == Ports{1, 2});
    CHECK(rates.interval() == 2.0);
    CHECK(rates.flows() == 2);
}

TEST_CASE("FlowRates: packets have an order of their own, and silent flows no rank by rate",
          "[export][unit]") {
    FlowRates rates(2);
    const std::vector<FlowView> before{flow(1, kStart, 100, 1), flow(2, kStart, 100, 1),
                                       flow(3, kStart, 100, 1), flow(4, kStart, 9000, 9)};
    look(rates, 1, before);
    look(rates, 2,
         {flow(1, kStart, 1100, 2), flow(2, kStart, 300, 9), flow(3, kStart, 200, 2),
          flow(4, kStart, 9000, 9)});
    CHECK(ports(rates, RateOrder::octet_rate) == Ports{1, 2});
    CHECK(ports(rates, RateOrder::packet_rate) == Ports{2, 1});
    CHECK(ports(rates, RateOrder::octets) == Ports{4, 1});
    CHECK(rates.best(RateOrder::octets)[0].octets_rate == 0.0);
}

TEST_CASE("FlowRates: a flow that began between the looks has sent all it has", "[export][unit]") {
    FlowRates rates(10);
    look(rates, 1, {flow(1, kStart, 100)});
    const Timestamp later = kStart + milliseconds{1500};
    look(rates, 3,
         {flow(1, kStart, 100), flow(2, later, 600, 4),
          flow(1, later, 40)});  // the former one of this key ended beside it
    CHECK(ports(rates, RateOrder::octet_rate) == Ports{2, 1});
    CHECK(rates.best(RateOrder::octet_rate)[0].octets_rate == 300.0);
    CHECK(rates.best(RateOrder::octet_rate)[1].octets_rate == 20.0);
}

TEST_CASE("FlowRates: an old flow that the look before missed has no rate yet", "[export][unit]") {
    FlowRates rates(10);
    const Timestamp later = kStart + std::chrono::seconds{60};
    look(rates, 1, {flow(1, later, 100)});
    look(rates, 2, {flow(1, later, 100), flow(2, kStart, 1'000'000)});
    CHECK(rates.best(RateOrder::octet_rate).empty());
    REQUIRE(ports(rates, RateOrder::octets) == Ports{2, 1});
    CHECK_FALSE(rates.best(RateOrder::octets)[0].octets_rate);
    look(rates, 3, {flow(1, later, 100), flow(2, kStart, 1'000'500, 2)});
    CHECK(rates.best(RateOrder::octet_rate).at(0).octets_rate == 500.0);
}

TEST_CASE("FlowRates: a late packet moves a start back, and the flow is the same",
          "[export][unit]") {
    FlowRates rates(10);
    look(rates, 1, {flow(1, kStart, 1000, 1), flow(2, kStart + milliseconds{9}, 1, 1)});
    look(rates, 2, {flow(1, kStart - milliseconds{3}, 1200, 2)});
    CHECK(rates.best(RateOrder::octet_rate).at(0).octets_rate == 200.0);
}

TEST_CASE("FlowRates: a flow that is seen twice in one look counts once", "[export][unit]") {
    FlowRates rates(10);
    look(rates, 1, {flow(1, kStart, 100)});
    look(rates, 2, {flow(1, kStart, 300, 3), flow(1, kStart, 400, 4)});
    CHECK(ports(rates, RateOrder::octet_rate) == Ports{1});
}

TEST_CASE("FlowRates: both directions of a biflow count", "[export][unit]") {
    FlowRates rates(10);
    FlowView biflow = flow(1, kStart, 100);
    look(rates, 1, {biflow});
    biflow.reverse.packets = 3;
    biflow.reverse.octets = 900;
    biflow.reverse.start = biflow.reverse.end = kStart + milliseconds{4};
    look(rates, 2, {biflow});
    CHECK(rates.best(RateOrder::octet_rate).at(0).octets_rate == 900.0);
    CHECK(rates.best(RateOrder::octet_rate).at(0).packets_rate == 3.0);
}

TEST_CASE("FlowRates: another probe's flows have no rates", "[export][unit]") {
    FlowRates rates(10);
    look(rates, 1, {flow(1, kStart, 100)});
    rates.forget();
    look(rates, 2, {flow(1, kStart, 300, 3)});
    CHECK(rates.best(RateOrder::octet_rate).empty());
    CHECK_FALSE(rates.interval());
}

TEST_CASE(
    "FlowRates: of more flows than are followed, those with most octets are, and it is reported",
    "[export][unit]") {
    constexpr std::size_t kMost = 100;
    FlowRates rates(10, kMost);
    std::vector<FlowView> flows;
    for (std::uint16_t port = 1; port <= 1000; ++port) {
        flows.push_back(flow(port, kStart, 10U * port, port));
        flows.back().core.end += std::chrono::seconds{60};
    }
    look(rates, 1, flows);
    CHECK(rates.flows() == 1000);
    CHECK(rates.least_octets() > 8000);
    const std::uint64_t followed_from = rates.least_octets();
    for (FlowView& each : flows) {
        each.core.octets += 50;
        each.core.packets += 1;
        each.core.end += std::chrono::seconds{2};
    }
    flows[999].core.octets += 1000;
    flows[0].core.octets += 1'000'000;  // not followed: it has a rate from the next look on
    look(rates, 2, flows);
    CHECK(ports(rates, RateOrder::octet_rate).at(0) == 1000);
    CHECK(rates.best(RateOrder::octet_rate).size() == 10);
    CHECK(ports(rates, RateOrder::octets).at(0) == 1);
    CHECK(rates.least_octets() >= followed_from);
    flows[0].core.octets += 2000;
    flows[0].core.packets += 1;
    look(rates, 3, flows);
    CHECK(ports(rates, RateOrder::octet_rate) == Ports{1});
    CHECK(rates.best(RateOrder::octet_rate)[0].octets_rate == 2000.0);
    look(rates, 4, {flows[0]});
    CHECK(rates.least_octets() == 0);
}

TEST_CASE("FlowRates: of many flows of one size as many are followed as possible",
          "[export][unit]") {
    FlowRates rates(1000, 100);
    std::vector<FlowView> flows;
    for (std::uint16_t port = 1; port <= 500; ++port) {
        flows.push_back(flow(port, kStart, 60));
        flows.back().core.end += std::chrono::seconds{60};
    }
    look(rates, 1, flows);
    for (FlowView& each : flows) {
        each.core.octets += 60;
        each.core.packets += 1;
    }
    look(rates, 2, flows);
    CHECK(rates.best(RateOrder::octet_rate).size() == 50);
    CHECK(rates.least_octets() > 60);
}
