// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "flowcache/cache_room.hpp"
#include "flowcache/tcp/tcp_analysis.hpp"
#include "tests/support/tcp_flows.hpp"

// What TcpAnalysis remembers, and for how long: copies, holes, TcpLossStates.

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

TEST_CASE("TcpAnalysis: a copy within three segments is a duplicate", "[flowcache][unit]") {
    const std::uint32_t between = GENERATE(0U, 1U, 2U, 3U);
    Flows flows;
    const PacketFields first = flows.add(1000, 100);
    for (std::uint32_t segment = 1; segment <= between; ++segment) {
        flows.add(1000 + 100 * segment, 100);
    }
    flows.add(first);
    CHECK(flows.found() ==
          (between < 3 ? Found{.duplicates = 1} : Found{.retransmissions = 1, .octets = 100}));
    CHECK(flows.told().segments == between + 2);
    CHECK(flows.told().data_segments == between + 2);
}

TEST_CASE("TcpAnalysis: a copy within eleven segments is a duplicate once it was disturbed",
          "[flowcache][unit]") {
    const std::uint32_t between = GENERATE(0U, 2U, 3U, 9U, 10U, 11U);
    Flows flows;
    flows.add(1000, 100);
    flows.add(999, 100);  // the disturbance
    const PacketFields first = flows.add(1100, 100);
    for (std::uint32_t segment = 1; segment <= between; ++segment) {
        flows.add(1100 + 100 * segment, 100);
    }
    flows.add(first);
    flows.add(first);
    const bool is_known = between < 11;
    CHECK(flows.told().duplicates == (is_known ? 2 : 1));
    CHECK(flows.told().retransmissions == (is_known ? 1 : 2));
}

TEST_CASE("TcpAnalysis: copies take no place among the segments remembered", "[flowcache][unit]") {
    Flows flows;
    const PacketFields first = flows.add(1000, 100);
    const PacketFields second = flows.add(1100, 100);
    for (int copies = 0; copies < 20; ++copies) {
        flows.add(second);
    }
    flows.add(first);
    CHECK(flows.found() == Found{.duplicates = 21});
}

TEST_CASE("TcpAnalysis: after a silence longer than the duplicate time there are no copies",
          "[flowcache][unit]") {
    const bool is_longer = GENERATE(false, true);
    Flows flows(1, {.tcp_duplicate_time = 200ms});
    for (std::uint32_t segment = 0; segment < 3; ++segment) {
        flows.add(1000 + 100 * segment, 100);
    }
    const PacketFields late = flows.add(1000, 300);  // from now on the older ones are kept, too
    flows.add(1300, 100);
    flows.add(1400, 100);
    const PacketFields last = flows.add(1500, 100);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 300});
    flows.wait(200ms + (is_longer ? 1ns : 0ns));
    flows.add(late);
    flows.add(last);
    CHECK(flows.found() == (is_longer
                                ? Found{.retransmissions = 3, .octets = 700}
                                : Found{.retransmissions = 1, .octets = 300, .duplicates = 2}));
    flows.wait(-5s);  // packets that come late by their time are no silence
    flows.add(last);
    CHECK(flows.told().duplicates == (is_longer ? 1 : 3));
}

TEST_CASE("TcpAnalysis: a hole on both sides of an acknowledgement's number is one",
          "[flowcache][unit]") {
    Flows flows;
    flows.add(1000, 0);
    flows.add(900, 10);
    flows.add(1010, 10);
    for (std::uint32_t more = 1; more < TcpLossState::kHoles; ++more) {
        flows.add(1010 + 20 * more, 10);
    }
    CHECK(flows.told().overflow == 0);
    CHECK(flows.told().out_of_order == 1);
    flows.add(910, 100);  // all of it
    CHECK(flows.told().overflow == 0);
    CHECK(flows.told().out_of_order == 2);
    flows.add(900, 120);  // nothing of it is unseen now
    CHECK(flows.told().retransmissions == 1);
    CHECK(flows.told().retransmitted_octets == 120);
}

TEST_CASE("TcpAnalysis: each field that differs makes another segment", "[flowcache][unit]") {
    Flows flows;
    PacketFields segment = flows.add(1000, 100);
    SECTION("acknowledgement, as where the identification is always 0") {
        segment.tcp.acknowledgement += 1;
    }
    SECTION("identification, or over IPv6 the checksum") { segment.tcp.copy_id += 1; }
    SECTION("control bits") { segment.tcp_control_bits |= tcp_flag::kPsh; }
    SECTION("window") { segment.tcp.window += 1; }
    SECTION("length") { segment.ip_bytes += 4; }
    SECTION("TTL") { segment.ttl -= 1; }
    flows.add(segment);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100});
    flows.add(segment);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100, .duplicates = 1});
}

TEST_CASE("TcpAnalysis: flags and zero windows are counted, of duplicates also",
          "[flowcache][unit]") {
    Flows flows;
    PacketFields segment = flows.add(1000, 0);
    const auto add_with = [&](int flags, std::uint16_t window) {
        segment.tcp_control_bits = static_cast<std::uint16_t>(flags);
        segment.tcp.window = window;
        flows.add(segment);
        flows.add(segment);
    };
    add_with(kAck, 0);
    add_with(kSyn, 1);
    add_with(kAck | kFin, 0);
    add_with(tcp_flag::kRst, 0);
    add_with(tcp_flag::kRst | kAck, 10);
    const TcpAnalysisGroup told = flows.told();
    CHECK(told.segments == 11);
    CHECK(told.zero_windows == 4);  // RSTs have no window
    CHECK(told.syn == 2);
    CHECK(told.fin == 2);
    CHECK(told.rst == 4);
    CHECK(told.duplicates == 5);
    CHECK(told.window == 500);
}

TEST_CASE("TcpAnalysis: rare segments are counted to 65535", "[flowcache][unit]") {
    Flows flows;
    for (int segments = 0; segments < 65'540; ++segments) {
        flows.add(1000, 0, kSyn | kFin | tcp_flag::kRst);
    }
    CHECK(flows.told().syn == 65'535);
    CHECK(flows.told().fin == 65'535);
    CHECK(flows.told().rst == 65'535);
}

TEST_CASE("TcpAnalysis: the next record begins with zeros, and the octets seen are kept",
          "[flowcache][unit]") {
    Flows flows;
    flows.add(99, 0, kSyn);
    flows.add(100, 100);
    flows.add(100, 100);
    const PacketFields last = flows.add(300, 100);
    flows.begin_next_record();
    const TcpAnalysisGroup empty = flows.told();
    CHECK(flows.found() == Found{});
    CHECK(empty.segments == 0);
    CHECK(empty.data_segments == 0);
    CHECK(empty.syn == 0);

    flows.add(last);
    flows.add(100, 100);
    flows.add(200, 100);
    flows.add(399, 1);
    PacketFields reset = flows.add(400, 0, tcp_flag::kRst);
    reset.tcp_control_bits = kAck;
    reset.tcp.window = 0;
    flows.add(reset);
    CHECK(flows.found() == Found{.retransmissions = 1,
                                 .octets = 100,
                                 .out_of_order = 1,
                                 .duplicates = 1,
                                 .keep_alives = 1});
    CHECK(flows.told().sequence == 300);
    flows.add(400, 0, kAck | kFin);
    CHECK(flows.told().flow_size == 300);  // by the SYN of the record before
    CHECK(flows.told().duration == 10'000'000);
    flows.begin_next_record();
    CHECK(flows.found() == Found{});
    CHECK(flows.told().flow_size == kNoSize);  // it was reported
    CHECK(flows.told().duration == 0);
    CHECK(flows.told().zero_windows + flows.told().fin + flows.told().rst == 0);
}

TEST_CASE("TcpAnalysis: where no TcpLossState is left, overflow alone is counted",
          "[flowcache][unit]") {
    Flows flows(1);
    flows.choose(1);
    flows.add(1000, 100);
    flows.add(1000, 100);  // takes the only one
    flows.choose(0);
    flows.add(1000, 100);
    flows.add(1000, 50);
    CHECK(flows.found() == Found{.overflow = 1});
    flows.add(flows.add(1100, 100));
    CHECK(flows.found() == Found{.overflow = 2});
    flows.add(1199, 0);
    CHECK(flows.found() == Found{.overflow = 3});
    flows.add(1300, 100);  // leaves a hole
    CHECK(flows.found() == Found{.overflow = 4});
    flows.add(1200, 100);
    CHECK(flows.found() == Found{.overflow = 5});
    flows.add(1400, 100);
    CHECK(flows.found() == Found{.overflow = 5});
    CHECK(flows.counters.tcp_segments_unjudged.read() == 5);

    flows.choose(1);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100});
    flows.renew();
    CHECK(flows.found() == Found{});
    flows.choose(0);
    flows.add(1000, 400);  // begins below the hole that was not kept
    CHECK(flows.found() == Found{.overflow = 6});
    flows.add(1300, 100);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100, .overflow = 6});
    flows.choose(2);
    flows.add(1000, 100);
    flows.add(1000, 100);
    CHECK(flows.found() == Found{.overflow = 1});
    flows.begin_next_record();
    CHECK(flows.found() == Found{});
}

TEST_CASE("TcpAnalysis: TcpLossStates given back are taken again, as new ones",
          "[flowcache][unit]") {
    Flows flows(2);
    for (int round = 0; round < 5; ++round) {
        for (const std::size_t flow : {0U, 1U}) {
            flows.choose(flow);
            leave_holes(flows, 8);
            flows.add(1000, 100);
            CHECK(flows.found() == Found{.retransmissions = 1, .octets = 100});
        }
        flows.choose(static_cast<std::size_t>(round) % 2);
        flows.renew();
        flows.choose(1 - static_cast<std::size_t>(round) % 2);
        flows.renew();
    }
    CHECK(flows.counters.tcp_segments_unjudged.read() == 0);
}

TEST_CASE(
    "TcpAnalysis: a direction without holes, and with nothing to report, gives its TcpLossState "
    "back",
    "[flowcache][unit]") {
    Flows flows(1);
    flows.add(1000, 100);
    flows.add(1000, 100);
    flows.add(1110, 100);  // leaves a hole
    const auto others_find_one_left = [&] {
        flows.choose(1);
        flows.add(flows.add(1000, 100));
        const bool has_found = flows.found() == Found{.duplicates = 1};
        flows.renew();
        flows.choose(0);
        return has_found;
    };
    flows.begin_next_record();
    flows.wait(2s);
    CHECK_FALSE(others_find_one_left());  // there is the hole
    flows.add(1100, 10);
    flows.wait(2s);
    CHECK_FALSE(others_find_one_left());  // it was filled, which is not reported yet
    CHECK(flows.found() == Found{.out_of_order = 1});
    flows.begin_next_record();
    flows.wait(1s);
    CHECK_FALSE(others_find_one_left());  // copies may still come
    flows.wait(2s);
    CHECK(others_find_one_left());
    flows.add(1000, 310);  // what was seen is known all the same
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 210});
}

TEST_CASE("TcpAnalysis: octets of a segment that was not judged are seen nevertheless",
          "[flowcache][unit]") {
    Flows flows;
    SECTION("in a hole behind the one that was dropped") {
        leave_holes(flows, 9);  // drops 1100 to 1110
        flows.add(1105, 110);   // from there into the next hole
        CHECK(flows.found() == Found{.overflow = 2});
        flows.add(1210, 5);
        CHECK(flows.found() == Found{.retransmissions = 1, .octets = 5, .overflow = 2});
    }
    SECTION("ahead of all") {
        leave_holes(flows, 9);
        flows.add(1105, 1000);  // to 2105, and 2090 was the end
        flows.add(2105, 10);    // leaves no hole
        CHECK(flows.found() == Found{.overflow = 2});
        flows.add(2090, 15);
        CHECK(flows.found() == Found{.retransmissions = 1, .octets = 15, .overflow = 2});
    }
    SECTION("before the first, while there was no TcpLossState left") {
        flows.choose(1);
        flows.add(1000, 100);
        flows.add(1000, 100);
        flows.choose(0);
        flows.add(1000, 100);
        flows.add(900, 100);
        CHECK(flows.found() == Found{.overflow = 1});
        flows.choose(1);
        flows.renew();
        flows.choose(0);
        flows.add(900, 100);
        CHECK(flows.found() == Found{.overflow = 2});
    }
}

TEST_CASE("TcpAnalysis: a cache has a TcpLossState for each eight flows, and at least 64",
          "[flowcache][unit]") {
    const auto loss_states = [](std::uint32_t flows, bool tcp_analysis) {
        return loss_states_for({.max_flows = flows, .tcp_analysis = tcp_analysis});
    };
    CHECK(loss_states(1, true) == 64);
    CHECK(loss_states(512, true) == 64);
    CHECK(loss_states(520, true) == 65);
    CHECK(loss_states(1'000'000, true) == 125'000);
    CHECK(loss_states(200'000'000, true) == TcpState::kNoLossState);
    CHECK(loss_states(1'000'000, false) == 0);
}

TEST_CASE("TcpAnalysis: a gap before the first data disturbs a direction", "[flowcache][unit]") {
    // How copies come that a switch makes of the segments behind the gap, one by one later on.
    const std::uint32_t between = GENERATE(3U, 9U, 10U, 11U);
    const int syn = GENERATE(0, kSyn, kSyn | kAck);
    const bool has_first_data = GENERATE(false, true);  // of a SYN: TCP Fast Open
    Flows flows;
    flows.add(999, has_first_data ? 20 : 0, syn == 0 ? kAck : syn);
    if (syn != 0 && GENERATE(false, true)) {
        flows.add(999, 0, syn);  // sent again
    }
    const PacketFields first = flows.add(1100, 100);
    for (std::uint32_t segment = 1; segment <= between; ++segment) {
        flows.add(1100 + 100 * segment, 100);
    }
    flows.add(first);
    const bool is_known = between < 11;
    CHECK(flows.told().duplicates == (is_known ? 1 : 0));
    CHECK(flows.told().retransmissions == (is_known ? 0 : 1));
    CHECK(flows.told().out_of_order == 0);
}

TEST_CASE("TcpAnalysis: a SYN again or late is of the connection whose first data was lost",
          "[flowcache][unit]") {
    Flows flows;
    SECTION("late") { flows.add(1000, 0); }
    SECTION("again behind the FIN") { flows.add(999, 0, kSyn); }
    flows.add(1100, 100);
    flows.add(1200, 0, kAck | tcp_flag::kFin);
    flows.add(999, 0, kSyn);
    flows.add(1100, 50);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 50});
    flows.add(5000, 0, kSyn);  // and this one is not
    flows.add(1100, 50);
    CHECK(flows.told().retransmissions == 1);
}

TEST_CASE("TcpAnalysis: numbers before the first data need no TcpLossState", "[flowcache][unit]") {
    Flows flows(0);
    SECTION("a keep-alive of the flow that was forgotten") { flows.add(999, 0); }
    SECTION("a SYN whose data was lost before the probe") { flows.add(500, 0, kSyn); }
    SECTION("a RST") { flows.add(0, 0, tcp_flag::kRst); }
    flows.add(1000, 100);
    flows.add(1100, 100);
    CHECK(flows.found() == Found{});
    CHECK(flows.counters.tcp_segments_unjudged.read() == 0);
}

TEST_CASE("TcpAnalysis: data that comes late behind a SYN is out of order once",
          "[flowcache][unit]") {
    Flows flows;
    flows.add(999, 0, kSyn);
    flows.add(1300, 100);
    flows.add(1100, 100);
    CHECK(flows.found() == Found{.out_of_order = 1});
    flows.add(1000, 100);
    flows.add(1200, 100);
    CHECK(flows.found() == Found{.out_of_order = 3});
    flows.add(1000, 400);
    CHECK(flows.found() == Found{.retransmissions = 1, .octets = 400, .out_of_order = 3});
    CHECK(flows.told().syn == 1);
}
