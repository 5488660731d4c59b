// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/asked_flow.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "daemon/recorder/packet_hashes.hpp"
#include "parsers/parse_packet.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

const FlowHasher kHasher(5);

bool asks_for(const std::string& filter, const Frame& frame) {
    PacketFields fields;
    REQUIRE(parse_packet(frame.view(), {}, fields) == ParseStatus::ok);
    const std::vector<std::uint32_t> hashes = hashes_of_asked_flow(filter, kHasher);
    return std::ranges::find(hashes, symmetric_hash(kHasher, fields)) != hashes.end();
}

}  // namespace

TEST_CASE("hashes_of_asked_flow: filters that name both ends of a flow", "[daemon][unit]") {
    const Frame there = ethernet().ipv4().tcp(50'000, 443).build();
    const Frame back = ethernet()
                           .ipv4({.source = "198.51.100.2", .destination = "192.0.2.1"})
                           .tcp(443, 50'000)
                           .build();
    for (const char* const filter :
         {"host 192.0.2.1 and host 198.51.100.2 and port 443 and port 50000",
          "tcp and host 198.51.100.2 and host 192.0.2.1 and port 50000 and port 443",
          "tcp port 443 && tcp port 50000 && src host 192.0.2.1 && dst host 198.51.100.2",
          " src host 192.0.2.1  and dst host 198.51.100.2 and src port 50000 and dst port 443 "}) {
        CAPTURE(filter);
        CHECK(asks_for(filter, there));
        CHECK(asks_for(filter, back));
        CHECK_FALSE(asks_for(filter, ethernet().ipv4().tcp(50'001, 443).build()));
    }
    const std::string of_udp = "udp and host 192.0.2.1 and host 198.51.100.2 and port 5 and port 6";
    CHECK(asks_for(of_udp, ethernet().ipv4().udp(5, 6).build()));
    CHECK_FALSE(asks_for(of_udp, ethernet().ipv4().tcp(5, 6).build()));
    CHECK(asks_for("host 2001:db8::1 and host 2001:db8::2 and port 1 and port 2",
                   ethernet().ipv6().udp(1, 2).build()));
    CHECK(asks_for("host 192.0.2.1 and host 198.51.100.2 and src port 123 and dst port 123",
                   ethernet().ipv4().udp(123, 123).build()));
}

TEST_CASE("hashes_of_asked_flow: all other filters ask for any flow", "[daemon][unit]") {
    for (const char* const filter :
         {"", "tcp", "host 192.0.2.1", "host 192.0.2.1 and port 443",
          "host 192.0.2.1 and host 198.51.100.2 and port 443",
          "host 192.0.2.1 and host 192.0.2.1 and port 443 and port 1",
          "host 192.0.2.1 and host 198.51.100.2 and port 443 and port 443",
          "host 192.0.2.1 and host 198.51.100.2 and src port 443 and port 443",
          "host 192.0.2.1 and host 198.51.100.2 and port 443 or port 50000",
          "host 192.0.2.1 and host 198.51.100.2 and not port 443 and port 50000",
          "host 192.0.2.1 and host 198.51.100.2 and (port 443 and port 50000)",
          "host 192.0.2.1 and host 198.51.100.2 and port https and port 50000",
          "host 192.0.2.1 and host 198.51.100.2 and port 0443 and port 50000",
          "host 192.0.2.1 and host www.example.org and port 443 and port 50000",
          "host 192.0.2.1 and host 2001:db8::1 and port 443 and port 50000",
          "host 192.0.2.1 and host 198.51.100.2 and port 443 and port 50000 and vlan",
          "vlan and host 192.0.2.1 and host 198.51.100.2 and port 443 and port 50000",
          "host 192.0.2.1 and host 198.51.100.2 and port 443 and port 50000 and",
          "net 192.0.2.0/24 and host 198.51.100.2 and port 443 and port 50000"}) {
        CAPTURE(filter);
        CHECK(hashes_of_asked_flow(filter, kHasher).empty());
    }
}
