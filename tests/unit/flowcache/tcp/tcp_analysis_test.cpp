// SPDX-License-Identifier: Apache-2.0
#include "flowcache/tcp/tcp_analysis.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "tests/support/tcp_flows.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

TEST_CASE("TcpAnalysis: an undisturbed direction has its segments, and no TcpLossState",
          "[flowcache][unit]") {
    Flows flows(0);
    flows.add(999, 0, kSyn);
    flows.add(1000, 0);
    flows.add(1000, 100);
    flows.add(1100, 50, kPushAck);
    flows.add(1150, 0);
    flows.add(1150, 0, kAck | kFin);
    const TcpAnalysisGroup told = flows.told();
    CHECK(flows.found() == Found{});
    CHECK(told.segments == 6);
    CHECK(told.data_segments == 2);
    CHECK(told.sequence == 999);
    CHECK(told.window == 500);
    CHECK(told.zero_windows == 0);
    CHECK(told.syn == 1);
    CHECK(told.fin == 1);
    CHECK(told.rst == 0);
    CHECK(told.flow_size == 150);
    CHECK(told.duration == 5'000'000);
    CHECK(told.handshake == 0);
}

TEST_CASE("TcpAnalysis: data with an octet that was seen is a retransmission",
          "[flowcache][unit]") {
    struct Again {
        std::uint32_t sequence;
        std::uint32_t octets;
    };
    struct Case {
        std::vector<Again> again;  // after 1000 .. 1100 .. 1200 .. 1300
        Found found;
        std::uint32_t next;
    };
    const std::uint32_t shift = GENERATE(0U, 0U - 1000, 0U - 1100, 0U - 1150, 0U - 1250, 0U - 1300);
    const Case c =
        GENERATE(Case{{{1100, 100}}, {.retransmissions = 1, .octets = 100}, 1300},
                 Case{{{1200, 100}}, {.retransmissions = 1, .octets = 100}, 1300},
                 Case{{{1000, 150}, {1150, 150}}, {.retransmissions = 2, .octets = 300}, 1300},
                 Case{{{1000, 300}}, {.retransmissions = 1, .octets = 300}, 1300},
                 Case{{{1200, 150}}, {.retransmissions = 1, .octets = 100}, 1350},
                 Case{{{1298, 1}}, {.retransmissions = 1, .octets = 1}, 1300},
                 Case{{{1299, 2}}, {.retransmissions = 1, .octets = 1}, 1301},
                 Case{{{900, 101}}, {.retransmissions = 1, .octets = 1}, 1300},
                 Case{{{900, 500}}, {.retransmissions = 1, .octets = 300}, 1400},
                 Case{{{1000, 300}, {1000, 300}}, {.retransmissions = 2, .octets = 600}, 1300});
    Flows flows;
    for (const std::uint32_t sequence : {1000U, 1100U, 1200U}) {
        flows.add(sequence + shift, 100);
    }
    for (const auto& [sequence, octets] : c.again) {
        flows.add(sequence + shift, octets);
    }
    CHECK(flows.found() == c.found);
    flows.add(c.next + shift, 10);
    flows.add(c.next + shift, 10);  // shows where it stood
    CHECK(flows.found() ==
          Found{.retransmissions = c.found.retransmissions + 1, .octets = c.found.octets + 10});
}

TEST_CASE("TcpAnalysis: data in a hole is out of order, and once only", "[flowcache][unit]") {
    Flows flows;
    flows.add(1000, 100);
    flows.add(1200, 100);
    CHECK(flows.found() == Found{});
    flows.add(1140, 20);
    flows.add(1100, 40);
    flows.add(1160, 40);
    CHECK(flows.found() == Found{.out_of_order = 3});
    flows.add(1100, 100);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100, .out_of_order = 3});
    flows.add(1400, 100);
    flows.add(1250, 200);  // seen, hole, seen
    CHECK(flows.found() == Found{.retransmissions = 2, .octets = 200, .out_of_order = 3});
    flows.add(1300, 100);
    CHECK(flows.found() == Found{.retransmissions = 3, .octets = 300, .out_of_order = 3});
}

TEST_CASE("TcpAnalysis: data over several holes fills them all", "[flowcache][unit]") {
    Flows flows;
    leave_holes(flows, 4);  // 1100, 1210, 1320 and 1430, of 10 octets
    flows.add(1105, 320);   // to 1425: half of the first, two, and none of the last
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 295});
    flows.add(1430, 10);
    flows.add(1100, 5);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 295, .out_of_order = 2});
    flows.add(1210, 10);
    flows.add(1320, 10);
    flows.add(1105, 5);
    CHECK(flows.found() == Found{.retransmissions = 4, .octets = 320, .out_of_order = 2});
}

TEST_CASE("TcpAnalysis: of a flow met in the middle, data before the first is out of order",
          "[flowcache][unit]") {
    Flows flows;
    flows.add(5000, 100);
    flows.add(4900, 100);
    flows.add(4600, 100);
    CHECK(flows.found() == Found{.out_of_order = 2});
    flows.add(4700, 200);
    CHECK(flows.found() == Found{.out_of_order = 3});
    flows.add(4600, 500);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 500, .out_of_order = 3});
}

TEST_CASE("TcpAnalysis: the first data behind a SYN may be late", "[flowcache][unit]") {
    Flows flows;
    flows.add(999, 0, kSyn);
    flows.add(1100, 100);
    flows.add(1000, 100);
    flows.add(999, 0, kSyn);  // sent again: it forgets nothing
    flows.add(1000, 100);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100, .out_of_order = 1});
}

TEST_CASE("TcpAnalysis: a SYN after its data forgets nothing", "[flowcache][unit]") {
    Flows flows;
    flows.add(1000, 100);
    flows.add(999, 0, kSyn);
    flows.add(1000, 100);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100});
}

TEST_CASE("TcpAnalysis: an acknowledgement ahead or behind changes nothing", "[flowcache][unit]") {
    Flows flows;
    flows.add(1000, 0);
    flows.add(1100, 0);
    flows.add(500, 0);
    flows.add(1000U + (1U << 31U), 0);
    flows.add(1000, 100);
    flows.add(1100, 100);
    CHECK(flows.found() == Found{});
    flows.add(1000, 100);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100});
}

TEST_CASE("TcpAnalysis: a keep-alive repeats the last number with an octet or none",
          "[flowcache][unit]") {
    struct Case {
        std::uint32_t sequence;
        std::uint32_t octets;
        int flags;
        Found found;
    };
    const Case c = GENERATE(
        Case{1099, 0, kAck, {.keep_alives = 1}}, Case{1099, 1, kAck, {.keep_alives = 1}},
        Case{1099, 2, kAck, {.retransmissions = 1, .octets = 1}},
        Case{1098, 1, kAck, {.retransmissions = 1, .octets = 1}}, Case{1098, 0, kAck, {}},
        Case{1100, 0, kAck, {}}, Case{1099, 1, kPushAck, {.retransmissions = 1, .octets = 1}},
        Case{1099, 1, kAck | kFin, {.retransmissions = 1, .octets = 1}},
        Case{1099, 0, kAck | kFin, {}}, Case{1099, 0, tcp_flag::kRst, {}}, Case{1098, 0, kSyn, {}});
    Flows flows;
    flows.add(1000, 100);
    flows.add(c.sequence, c.octets, c.flags);
    CHECK(flows.found() == c.found);
}

TEST_CASE("TcpAnalysis: a SYN of another number begins a connection", "[flowcache][unit]") {
    Flows flows;
    flows.add(999, 0, kSyn);
    flows.add(1000, 100);
    flows.add(1200, 100);  // leaves a hole
    flows.add(800, 0, kSyn);
    flows.add(801, 500);  // over all that was seen
    CHECK(flows.found() == Found{});
    CHECK(flows.told().syn == 2);
    flows.add(1100, 100);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100});
}

TEST_CASE("TcpAnalysis: a connection may follow one that was closed", "[flowcache][unit]") {
    Flows flows;
    flows.add(999, 0, kSyn);
    flows.add(1000, 100, kPushAck | kFin);
    flows.add(100, 0, kSyn);  // the number that the size of the one before is
    flows.add(101, 2000);
    CHECK(flows.found() == Found{});
    CHECK(flows.told().flow_size == kNoSize);
}

TEST_CASE("TcpAnalysis: data further away than 2^30 begins anew", "[flowcache][unit]") {
    constexpr std::uint32_t kFarthest = 1U << 30U;
    Flows flows;
    flows.add(0U - 100, 100);
    SECTION("ahead, just not") {
        flows.add(kFarthest, 100);
        flows.add(500, 100);
        CHECK(flows.found() == Found{.out_of_order = 1});
    }
    SECTION("ahead") {
        flows.add(kFarthest + 1, 100);
        CHECK(flows.found() == Found{.overflow = 1});
        CHECK(flows.counters.tcp_segments_unjudged.read() == 1);
        flows.add(kFarthest + 1, 100);
        CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100, .overflow = 1});
    }
    SECTION("behind, just not") {
        flows.add(0U - kFarthest, 100);
        flows.add(0U - 100, 100);
        CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100, .out_of_order = 1});
    }
    SECTION("behind") {
        flows.add(0U - kFarthest - 1, 100);
        CHECK(flows.found() == Found{.overflow = 1});
        flows.add(0U - kFarthest - 1, 100);
        CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100, .overflow = 1});
    }
    SECTION("ahead and back: what was seen before is not judged any more") {
        flows.add(kFarthest + 1, 100);
        flows.add(0, 100);
        flows.add(0U - 100, 100);
        CHECK(flows.found() == Found{.overflow = 3});
    }
    SECTION("without data") {
        flows.add(kFarthest + 1, 0);
        flows.add(0U - 100, 100);
        CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100});
    }
}

TEST_CASE("TcpAnalysis: octets too long ago are forgotten before numbers wrap",
          "[flowcache][unit]") {
    constexpr std::uint32_t kStep = 1U << 29U;
    Flows flows;
    flows.add(0, kStep);
    flows.add(kStep, kStep);
    flows.add(2 * kStep, 10);
    flows.add(10, 10);  // 2^30 behind
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 10});
    flows.add(9, 10);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 10, .overflow = 1});
}

TEST_CASE("TcpAnalysis: a hole of 2^30 does not make the numbers wrap", "[flowcache][unit]") {
    constexpr std::uint32_t kStep = 1U << 29U;
    Flows flows;
    flows.add(0, kStep);
    flows.add(kStep, kStep);
    flows.add(4 * kStep, 100);  // half of all numbers behind the first
    flows.add(4 * kStep + 50, 10);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 10});
}

TEST_CASE("TcpAnalysis: a hole too long ago is forgotten before numbers wrap",
          "[flowcache][unit]") {
    constexpr std::uint32_t kStep = 1U << 29U;
    Flows flows;
    flows.add(0, kStep);
    flows.add(kStep + 10, kStep);
    flows.add(2 * kStep + 10, kStep - 5);
    flows.add(kStep + 5, 5);  // half of it is left
    CHECK(flows.found() == Found{.out_of_order = 1});
    flows.add(3 * kStep + 5, 5);
    flows.add(3 * kStep + 20, kStep - 20);  // leaves another one
    for (std::uint32_t step = 4; step < 12; ++step) {
        flows.add(step * kStep, kStep);
    }
    CHECK(flows.found() == Found{.out_of_order = 1});
    flows.add(3 * kStep + 10, 10);  // where a hole was 2^32 octets ago
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 10, .out_of_order = 1});
}

TEST_CASE("TcpAnalysis: after the retransmission time, octets are forgotten", "[flowcache][unit]") {
    Flows flows(1, {.tcp_retransmission_time = 60s});
    leave_holes(flows, 3);
    flows.wait(60s);
    flows.add(1000, 100);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100});
    flows.wait(60s + 1ns);
    flows.add(1000, 500);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100});
    flows.add(1100, 10);  // was a hole once
    CHECK(flows.found() == Found{.retransmissions = 2, .octets = 110});

    Flows never(1);
    never.add(1000, 100);
    never.wait(1000s);
    never.add(1000, 100);
    CHECK(never.found() == Found{.retransmissions = 1, .octets = 100});
}

TEST_CASE("TcpAnalysis: eight holes are kept, for the ninth the lowest is dropped",
          "[flowcache][unit]") {
    Flows flows;
    leave_holes(flows, 8);
    CHECK(flows.found() == Found{});
    SECTION("eight") {
        for (std::uint32_t hole = 0; hole < 8; ++hole) {
            flows.add(1100 + 110 * hole, 10);
        }
        CHECK(flows.found() == Found{.out_of_order = 8});
    }
    SECTION("the ninth ahead of all") {
        flows.add(1990, 100);
        CHECK(flows.found() == Found{.overflow = 1});
        flows.add(1100, 10);  // was the lowest: not judged
        flows.add(1000, 100);
        CHECK(flows.found() == Found{.overflow = 3});
        flows.add(1110, 100);
        flows.add(1210, 10);
        flows.add(1980, 10);
        CHECK(flows.found() ==
              Found{.retransmissions = 1, .octets = 100, .out_of_order = 2, .overflow = 3});
    }
    SECTION("the ninth by data inside one") {
        flows.add(1435, 2);
        CHECK(flows.found() == Found{.out_of_order = 1, .overflow = 1});
        flows.add(1430, 5);
        flows.add(1437, 3);
        CHECK(flows.found() == Found{.out_of_order = 3, .overflow = 1});
        flows.add(1100, 10);
        CHECK(flows.found() == Found{.out_of_order = 3, .overflow = 2});
    }
    SECTION("the ninth by data inside the lowest") {
        flows.add(1105, 2);
        flows.add(1107, 3);
        CHECK(flows.found() == Found{.out_of_order = 2, .overflow = 1});
        flows.add(1100, 5);
        CHECK(flows.found() == Found{.out_of_order = 2, .overflow = 2});
    }
    SECTION("the ninth below all") {
        flows.add(800, 100);
        CHECK(flows.found() == Found{.out_of_order = 1, .overflow = 1});
        flows.add(800, 100);
        flows.add(900, 100);
        CHECK(flows.found() == Found{.out_of_order = 1, .overflow = 3});
        flows.add(1100, 10);
        CHECK(flows.found() == Found{.out_of_order = 2, .overflow = 3});
    }
}

TEST_CASE("TcpAnalysis: a dropped hole is of its connection, which a repeated SYN goes on with",
          "[flowcache][unit]") {
    Flows flows;
    flows.add(999, 0, kSyn);
    leave_holes(flows, 9);
    flows.add(999, 0, kSyn);
    flows.add(1110, 100);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100, .overflow = 1});
    flows.add(5000, 0, kSyn);
    flows.add(4901, 100);
    flows.add(5001, 100);
    CHECK(flows.found() ==
          Found{.retransmissions = 1, .octets = 100, .out_of_order = 1, .overflow = 1});
}

TEST_CASE("TcpAnalysis: the lowest hole is the first before numbers wrap", "[flowcache][unit]") {
    Flows flows;
    const std::uint32_t first = 0U - 500;
    leave_holes(flows, 9, first);
    flows.add(first + 100, 10);
    CHECK(flows.found() == Found{.overflow = 2});
    for (std::uint32_t hole = 1; hole < 9; ++hole) {
        flows.add(first + 100 + 110 * hole, 10);
    }
    CHECK(flows.found() == Found{.out_of_order = 8, .overflow = 2});
}

TEST_CASE("TcpAnalysis: data that comes backwards leaves no holes", "[flowcache][unit]") {
    Flows flows;
    for (std::uint32_t segment = 20; segment > 0; --segment) {
        flows.add(100 * segment, 100);
    }
    leave_holes(flows, 8, 2100);
    CHECK(flows.found() == Found{.out_of_order = 19});
}
