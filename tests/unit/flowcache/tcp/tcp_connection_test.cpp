// SPDX-License-Identifier: Apache-2.0
// What SYN, its answer and FIN show: sizes, durations and handshakes.
#include "flowcache/tcp/tcp_connection.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

#include "flowcache/tcp/tcp_analysis.hpp"
#include "tests/support/tcp_flows.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

TEST_CASE("TcpAnalysis: size and duration are those between one SYN and one FIN",
          "[flowcache][unit]") {
    struct Case {
        std::uint32_t initial;
        std::vector<int> flags;  // of segments, each behind the data of the one before
        std::uint32_t size;
    };
    const auto [initial, flags, size] = GENERATE(
        Case{100, {kSyn, kAck, kAck | kFin}, 200}, Case{0xFFFF'FFFF, {kSyn, kAck, kFin}, 200},
        Case{0xFFFF'FF80, {kSyn, kAck, kFin}, 200}, Case{7, {kSyn | kFin}, 0},
        Case{100, {kSyn, kAck}, kNoSize}, Case{100, {kAck, kFin}, kNoSize},
        Case{100, {kFin, kSyn}, kNoSize}, Case{100, {kFin, kSyn, kFin}, kNoSize},
        Case{100, {kSyn, kSyn, kFin}, kNoSize}, Case{100, {kSyn, kFin, kFin}, kNoSize},
        Case{100, {kSyn, kFin, kSyn}, kNoSize}, Case{100, {kSyn, kFin, kSyn, kFin}, kNoSize});
    Flows flows;
    std::uint32_t sequence = initial;
    for (const int flag : flags) {
        const std::uint32_t octets = (flag & kSyn) != 0 ? 0 : 100;
        flows.add(sequence, octets, flag);
        sequence += octets + ((flag & kSyn) != 0 ? 1 : 0);
    }
    const TcpAnalysisGroup told = flows.told();
    CHECK(told.flow_size == size);
    const bool has_size = size != kNoSize;
    CHECK(told.duration == (has_size ? 1'000'000 * (std::int64_t(flags.size()) - 1) : 0));
}

TEST_CASE("TcpAnalysis: copies of SYN and FIN spoil no size", "[flowcache][unit]") {
    Flows flows;
    flows.add(flows.add(99, 0, kSyn));
    flows.add(100, 50);
    flows.add(flows.add(150, 50, kAck | kFin));
    CHECK(flows.told().flow_size == 100);
    CHECK(flows.told().duration == 3'000'000);
    CHECK(flows.told().syn == 2);
    CHECK(flows.told().fin == 2);
}

TEST_CASE("TcpAnalysis: a record has the size of the connection that is whole in it",
          "[flowcache][unit]") {
    Flows flows;
    SECTION("the record before had one, too") {
        flows.add(99, 0, kSyn);
        flows.add(100, 50, kAck | kFin);
        CHECK(flows.told().flow_size == 50);
    }
    SECTION("the record before had a SYN") { flows.add(99, 0, kSyn); }
    SECTION("the record before had a FIN") { flows.add(99, 0, kFin); }
    flows.begin_next_record();
    CHECK(flows.told().flow_size == kNoSize);
    flows.add(7000, 0, kSyn);
    flows.add(7001, 30, kAck | kFin);
    CHECK(flows.told().flow_size == 30);
    CHECK(flows.told().duration == 1'000'000);
    flows.begin_next_record();
    CHECK(flows.told().flow_size == kNoSize);
}

TEST_CASE("TcpAnalysis: each side's answer in the handshake is timed, once", "[flowcache][unit]") {
    constexpr std::size_t kClient = 0;
    constexpr std::size_t kServer = 1;
    Flows flows;
    const auto from = [&](std::size_t side, std::uint32_t sequence, std::uint32_t acknowledgement,
                          int flags) {
        flows.choose(side);
        flows.answer(1 - side, flows.segment(sequence, acknowledgement, flags));
        return flows.told().handshake;
    };
    CHECK(from(kClient, 0xFFFF'FFFF, 0, kSyn) == 0);
    SECTION("as it should be") {
        CHECK(from(kServer, 500, 0, kSyn | kAck) == 1'000'000);
        flows.wait(20ms);
        CHECK(from(kClient, 0, 501, kAck) == 21'000'000);
        CHECK(from(kClient, 0, 501, kAck) == 21'000'000);
        CHECK(from(kServer, 501, 0, kAck) == 1'000'000);
        flows.begin_next_record();
        CHECK(from(kServer, 501, 0, kAck) == 0);
        flows.choose(kClient);
        flows.begin_next_record();
        CHECK(from(kClient, 0, 501, kAck) == 0);
    }
    SECTION("an acknowledgement of something else, or none") {
        CHECK(from(kServer, 500, 1, kSyn | kAck) == 0);
        CHECK(from(kClient, 0, 500, kAck) == 0);
        CHECK(from(kClient, 0, 501, tcp_flag::kRst) == 0);
        CHECK(from(kClient, 0, 501, kAck) == 3'000'000);
    }
    SECTION("a connection that is refused") {
        CHECK(from(kServer, 0, 0, tcp_flag::kRst | kAck) == 0);
    }
    SECTION("a server whose SYN was not seen") { CHECK(from(kServer, 501, 0, kAck) == 0); }
    SECTION("a SYN that was repeated") {
        CHECK(from(kClient, 0xFFFF'FFFF, 0, kSyn) == 0);
        CHECK(from(kServer, 500, 0, kSyn | kAck) == 0);
        CHECK(from(kClient, 0, 501, kAck) == 0);
    }
    SECTION("an answer that was repeated") {
        CHECK(from(kServer, 500, 9, kSyn | kAck) == 0);
        CHECK(from(kServer, 500, 0, kSyn | kAck) == 0);
        CHECK(from(kClient, 0, 501, kAck) == 0);
    }
    SECTION("a longer time than there is room for") {
        flows.wait(4'293'967'295ns);
        CHECK(from(kServer, 500, 0, kSyn | kAck) == 0xFFFF'FFFF);
        flows.wait(4'293'967'296ns);
        CHECK(from(kClient, 0, 501, kAck) == 0);
        CHECK(from(kClient, 0, 501, kAck) == 0);
    }
    SECTION("a time that runs backwards") {
        flows.wait(-5ms);
        CHECK(from(kServer, 500, 0, kSyn | kAck) == 0);
    }
    SECTION("after the other side's FIN") {
        CHECK(from(kClient, 0, 0, kFin) == 0);
        CHECK(from(kServer, 500, 1, kAck) == 0);
    }
}

TEST_CASE("TcpAnalysis: the last connection's handshake is timed", "[flowcache][unit]") {
    constexpr std::size_t kClient = 0;
    constexpr std::size_t kServer = 1;
    Flows flows;
    const auto from = [&](std::size_t side, std::uint32_t sequence, std::uint32_t acknowledgement,
                          int flags, std::uint32_t octets = 0) {
        flows.choose(side);
        flows.answer(1 - side, flows.segment(sequence, acknowledgement, flags, octets));
        return flows.told().handshake;
    };
    SECTION("behind FINs of one whose SYNs were not seen") {
        CHECK(from(kClient, 5000, 700, kFin | kAck) == 0);
        CHECK(from(kServer, 700, 5001, kFin | kAck) == 0);
        CHECK(from(kClient, 100, 0, kSyn) == 0);
        CHECK(from(kServer, 200, 101, kSyn | kAck) == 1'000'000);
        CHECK(from(kClient, 101, 201, kAck) == 1'000'000);
    }
    SECTION("behind a whole one") {
        CHECK(from(kClient, 100, 0, kSyn) == 0);
        CHECK(from(kServer, 200, 101, kSyn | kAck) == 1'000'000);
        CHECK(from(kClient, 101, 201, kFin | kAck) == 1'000'000);
        flows.begin_next_record();
        CHECK(from(kClient, 9000, 0, kSyn) == 0);
        flows.wait(1ms);
        CHECK(from(kServer, 8000, 9001, kSyn | kAck) == 2'000'000);
        CHECK(from(kClient, 9001, 8001, kAck) == 1'000'000);
    }
    SECTION("but no answer to more than was sent") {
        CHECK(from(kClient, 100, 0, kSyn, 50) == 0);
        CHECK(from(kServer, 200, 152, kSyn | kAck) == 0);
    }
    SECTION("whose SYN had data, which is acknowledged with it") {
        CHECK(from(kClient, 100, 0, kSyn, 50) == 0);
        CHECK(from(kServer, 200, 151, kSyn | kAck) == 1'000'000);
        CHECK(from(kServer, 201, 151, kAck, 30) == 1'000'000);
        CHECK(from(kClient, 151, 231, kAck) == 2'000'000);  // of the early data, too
    }
    SECTION("but no answer that overtook its SYN, and nothing behind it") {
        CHECK(from(kServer, 200, 101, kSyn | kAck) == 0);
        CHECK(from(kClient, 100, 0, kSyn) == 0);
        CHECK(from(kServer, 201, 101, kAck, 20) == 0);
        CHECK(from(kClient, 101, 201, kAck) == 3'000'000);
    }
    SECTION("but no ACK that overtook the SYN that it answers, and nothing behind it") {
        CHECK(from(kClient, 100, 0, kSyn) == 0);
        CHECK(from(kClient, 101, 201, kAck) == 0);
        CHECK(from(kServer, 200, 101, kSyn | kAck) == 2'000'000);
        CHECK(from(kClient, 101, 201, kAck, 20) == 0);
    }
}
