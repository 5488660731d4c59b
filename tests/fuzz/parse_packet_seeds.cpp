// SPDX-License-Identifier: Apache-2.0
// Writes the kept corpus of parse_packet_fuzz and parse_trimmed_fuzz: parse_packet_seeds DIRECTORY
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/packet_builder.hpp"

namespace tributary::test {

namespace {

using Seed = std::pair<std::string, Frame>;

std::vector<Seed> ipv4_seeds() {
    const Ipv4Header offloaded{.total_bytes = std::uint16_t{0}};
    return {
        {"ipv4_tcp_options", ethernet().ipv4({.option_bytes = 8}).tcp(40000, 443, 0x012).build()},
        {"ipv4_udp_qinq", ethernet().vlan(7, 0x88a8).vlan(8).ipv4().udp(5353, 53).build()},
        {"ipv4_three_tags",
         ethernet().vlan(0, 0x9100).vlan(2, 0x9200).vlan(3, 0x9300).ipv4().icmp(8, 0).build()},
        {"ipv4_first_fragment", ethernet().ipv4({.more_fragments = true}).udp(1, 2).build()},
        {"ipv4_later_fragment", ethernet().ipv4({.fragment_offset = 185}).payload(8).build()},
        {"ipv4_length_0", ethernet().ipv4(offloaded).tcp(80, 50000, 0x018).build()},
        {"ipv4_sctp_padded", ethernet().ipv4().ports(132, 2905, 2905).padding(22).build()},
        {"ipv4_authentication", ethernet().ipv4().extension(51, 24).udp(1, 2).build()},
    };
}

std::vector<Seed> ipv6_seeds() {
    const Ipv6Header jumbogram{.payload_bytes = std::uint16_t{0}};
    return {
        {"ipv6_udp", ethernet().vlan(9).ipv6().udp(546, 547).build()},
        {"ipv6_icmp", ethernet().ipv6().extension(0, 8).icmp_v6(143, 0).build()},
        {"ipv6_all_extensions", ethernet()
                                    .ipv6()
                                    .extension(0, 8)
                                    .extension(60, 8)
                                    .extension(43, 24)
                                    .fragment(0, true)
                                    .extension(51, 24)
                                    .extension(135, 8)
                                    .extension(139, 40)
                                    .extension(140, 8)
                                    .tcp(1, 2, 0x002)
                                    .build()},
        {"ipv6_later_fragment", ethernet().ipv6().fragment(181, false).extension(60, 8).build()},
        {"ipv6_jumbogram", ethernet().ipv6(jumbogram).jumbo(100'000).udp(1, 2).build()},
        {"ipv6_jumbogram_options",
         ethernet()
             .ipv6({.payload_bytes = std::uint16_t{0}, .next_header = std::uint8_t{0}})
             .bytes({17, 1, 0, 1, 3, 0, 0, 0, 0xc2, 4, 0, 1, 0, 0, 0, 0})
             .ports(17, 1, 2)
             .build()},
        {"ipv6_length_0", ethernet().ipv6(jumbogram).tcp(80, 50000, 0x018).payload(40).build()},
        {"ipv6_length_0_options",
         ethernet().ipv6(jumbogram).extension(0, 8).extension(60, 8).tcp(1, 2).build()},
        {"ipv6_length_0_in_vxlan", ethernet()
                                       .ipv6(jumbogram)
                                       .vxlan(5)
                                       .inner_ethernet()
                                       .ipv6(jumbogram)
                                       .udp(1, 2)
                                       .payload(8)
                                       .build()},
        {"ipv6_in_ipv4", ethernet().ipv4().ipv6().udp(1, 2).build()},
    };
}

std::vector<Seed> other_seeds() {
    return {
        {"arp", ethernet().ethertype(0x0806).bytes(28).build()},
        {"llc", ethernet().ethertype(38).bytes(38, 0x42).build()},
        {"snap", ethernet().snap().ipv4().udp(1, 2).build()},
        {"mpls", ethernet().mpls(16, false).mpls(17).ipv4().udp(1, 2).build()},
        {"mpls_pseudowire", ethernet().mpls(1).bytes(4).inner_ethernet().ipv6().udp(1, 2).build()},
        {"mpls_ethernet_like_ipv4",
         ethernet().mpls(1).inner_ethernet({0x45, 0, 0, 0x2e, 0, 1}).ipv4().udp(1, 2).build()},
        {"mpls_ethernet_like_ipv6",
         ethernet().mpls(1).inner_ethernet({0x60, 2, 3, 4, 5, 6}).vlan(3).ipv6().udp(1, 2).build()},
        {"gtp_u_ethernet_like_ipv4",
         ethernet().ipv4().gtp_u(9).inner_ethernet({0x4f, 2, 3, 4, 5, 6}).ipv4().udp(1, 2).build()},
        {"pppoe", ethernet().pppoe(0x0057).ipv6().udp(1, 2).build()},
        {"pppoe_mpls", ethernet().pppoe(0x0281).bytes({0, 1, 1, 64}).ipv4().udp(1, 2).build()},
    };
}

std::vector<Seed> tunnel_seeds() {
    return {
        {"ip_in_ip", ethernet().ipv4().ipv4().tcp(1, 2).build()},
        {"gre_key", ethernet().ipv6().gre({.checksum = true, .key = 5}).ipv4().udp(1, 2).build()},
        {"gre_ethernet", ethernet().ipv4().gre().inner_ethernet().vlan(3).ipv6().build()},
        {"erspan", ethernet()
                       .ipv4()
                       .gre({.sequence = true})
                       .ethertype(0x88be)
                       .bytes({0x10, 7, 2, 0x85, 0, 0, 0, 0})
                       .inner_ethernet()
                       .ipv4()
                       .udp(1, 2)
                       .build()},
        {"vxlan", ethernet().ipv4().vxlan(5).inner_ethernet().ipv4().tcp(1, 2).build()},
        {"geneve", ethernet().ipv4().geneve(5, 8).inner_ethernet().ipv4().udp(1, 2).build()},
        {"gtp_u", ethernet()
                      .ipv4()
                      .gtp_u(9, 0x34)
                      .bytes({0, 0, 0, 0x85, 1, 0x10, 1, 0})
                      .ipv4()
                      .icmp(8, 0)
                      .build()},
    };
}

/// Ethernet, with all options: see fuzzed_frame.hpp.
constexpr char kAllOptions = 7;
constexpr char kCut = 64;

/// False when the file cannot be written.
bool write(const std::string& path, const Frame& frame) {
    std::ofstream file(path, std::ios::binary);
    file << '\0' << '\0' << kAllOptions << kCut;  // the wire length is the captured one
    for (const std::byte octet : frame.captured) {
        file << std::to_integer<char>(octet);
    }
    return static_cast<bool>(file.flush());
}

}  // namespace

}  // namespace tributary::test

int main(int argc, char** argv) {
    using namespace tributary::test;
    if (argc != 2) {
        std::cerr << "usage: parse_packet_seeds DIRECTORY\n";
        return 64;
    }
    std::vector<Seed> seeds = ipv4_seeds();
    for (const std::vector<Seed>& more : {ipv6_seeds(), other_seeds(), tunnel_seeds()}) {
        seeds.insert(seeds.end(), more.begin(), more.end());
    }
    for (const auto& [name, frame] : seeds) {
        const std::string path = std::string(argv[1]) + "/" + name;
        if (!write(path, frame)) {
            std::cerr << "cannot write " << path << '\n';
            return 74;
        }
    }
    return 0;
}
