// SPDX-License-Identifier: Apache-2.0
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/filter/packet_filter.hpp"
#include "tests/support/libpcap_program.hpp"
#include "tests/support/packet_builder.hpp"

// Filters as machine code against libpcap's interpreter, as tcpdump runs it.

namespace tributary {
namespace {

using namespace tributary::test;
namespace fs = std::filesystem;

constexpr const char* kLoop = "ip protochain 6";                       // interpreted
constexpr const char* kWantsNetmask = "ip broadcast or ip[19] = 255";  // which captures have not

constexpr std::array kExpressions{
    "ip",
    "ip6",
    "arp or rarp",
    "tcp",
    "udp or icmp or icmp6",
    "tcp port 443",
    "udp port 53",
    "tcp port 443 or udp",
    "src port 80 and dst portrange 1024-65535",
    "portrange 1000-2000 and not net 10.0.0.0/8",
    "tcp and (port 80 or port 443) and net 10.0.0.0/8",
    "net 192.168.0.0/16 and not port 53",
    "host 192.0.2.1 or host 198.51.100.2 or net 172.16.0.0/12",
    "ip6 host 2001:db8::1",
    "ip6 net 2001:db8::/32 and tcp",
    "ip6 and udp port 53",
    "ip6 proto 17",
    "ip6[6] = 58 and ip6[40] = 128",
    "tcp[tcpflags] & tcp-syn != 0",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "tcp[tcpflags] = tcp-ack",
    "tcp[13] = 0x12",
    "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420",
    "tcp[4:4] > 0x80000000",
    "udp[4:2] > 100 and udp[8] & 0x80 = 0",
    "icmp[icmptype] = icmp-echo",
    "ip[8] < 64",
    "ip[6:2] & 0x1fff = 0",
    "ip[0] & 0xf != 5",
    "ip[2:2] - ((ip[0] & 0xf) << 2) > 100",
    "ip[2:2] / 10 = 4",
    "ip[2:2] % (ip[8] - 64) = 0",
    "ip[ip[8] - 60] = 1",
    "ip[4:2] << (ip[1] & 3) > 1000",
    "less 100",
    "greater 1000",
    "len > 60 and len < 1514",
    "udp and greater 200",
    "ether[0] & 1 != 0",
    "ether host 02:00:00:00:00:05",
    "ether multicast",
    "ether proto 0x88cc",
    "vlan",
    "vlan 7 and host 192.0.2.1",
    "vlan and vlan and ip6",
    "mpls",
    "mpls and ip",
    "pppoes and udp",
    "geneve and port 80",
    "not ip and not ip6",
    "ip multicast",
    kWantsNetmask,
    "proto gre or sctp",
    "ip proto 4 or ip proto 41",
    kLoop,
};

/// Of how many expressions libpcap makes no program for a link type, at most: they ask for what its
/// header has not, as an Ethernet address or a VLAN, or for the other version of IP.
std::size_t most_without_meaning(int link) {
    switch (link) {
        case DLT_EN10MB:
            return 1;
        case DLT_IPV4:
            return 18;
        case DLT_IPV6:
            return 34;
        case DLT_NULL:
        case DLT_LOOP:
        case DLT_RAW:
            return 11;
        default:
            return 8;
    }
}

/// The filters of all expressions; nullptr: libpcap refuses it.
const std::vector<std::unique_ptr<PacketFilter>>& filters() {
    static const std::vector<std::unique_ptr<PacketFilter>> all = [] {
        std::vector<std::unique_ptr<PacketFilter>> made(kExpressions.size());
        for (std::size_t index = 0; index < made.size(); ++index) {
            try {
                made[index] = std::make_unique<PacketFilter>(kExpressions[index]);
            } catch (const PacketFilterError&) {
                made[index] = nullptr;
            }
        }
        return made;
    }();
    return all;
}

/// The number of frames whose verdict is another than libpcap's, and of those that pass.
struct Outcome {
    std::size_t wrong = 0;
    std::size_t passed = 0;
    std::size_t compared = 0;

    void add(PacketFilter& filter, const LibpcapProgram& judge, std::span<const PacketView> burst) {
        const PacketMask passes = filter.select(burst);
        for (std::size_t index = 0; index < burst.size(); ++index) {
            const bool is_passed = (passes & mask_of(index)) != 0;
            wrong += is_passed != judge.passes(burst[index]) ? 1 : 0;
            passed += is_passed ? 1 : 0;
        }
        compared += burst.size();
    }
};

void compare(std::span<const PacketView> packets, pcap_t* pcap, Outcome& outcome) {
    std::size_t without_meaning = 0;
    for (std::size_t index = 0; index < kExpressions.size(); ++index) {
        const LibpcapProgram judge(pcap, kExpressions[index]);
        without_meaning += judge.is_compiled() ? 0 : 1;
        if (filters()[index] == nullptr) {
            continue;
        }
        const std::size_t wrong = outcome.wrong;
        for (std::size_t first = 0; first < packets.size(); first += kBurstPackets) {
            outcome.add(*filters()[index], judge,
                        packets.subspan(first, std::min(kBurstPackets, packets.size() - first)));
        }
        CAPTURE(kExpressions[index], pcap_datalink(pcap));
        CHECK(outcome.wrong == wrong);
    }
    CAPTURE(pcap_datalink(pcap));
    CHECK(without_meaning <= most_without_meaning(pcap_datalink(pcap)));
}

/// Each of some packets cut to each length from 0 to 100 octets.
std::vector<PacketView> cuts_of(std::span<const PacketView> packets) {
    constexpr std::size_t kLongestCut = 100;
    std::vector<PacketView> cuts;
    for (PacketView packet : packets) {
        const std::span<const std::byte> whole = packet.captured;
        for (std::size_t length = 0; length <= std::min(kLongestCut, whole.size()); ++length) {
            packet.captured = whole.first(length);
            cuts.push_back(packet);
        }
    }
    return cuts;
}

/// The frames of a capture, each in memory of its own, so that a sanitizer sees what is behind.
struct Capture {
    std::vector<std::vector<std::byte>> octets;
    std::vector<PacketView> packets;

    explicit Capture(pcap_t* pcap) {
        constexpr std::size_t kMostFrames = 4000;
        pcap_pkthdr* header = nullptr;
        const u_char* data = nullptr;
        while (octets.size() < kMostFrames && pcap_next_ex(pcap, &header, &data) == 1) {
            const std::span<const u_char> frame(data, header->caplen);
            const auto bytes = std::as_bytes(frame);
            octets.emplace_back(bytes.begin(), bytes.end());
            PacketView packet;
            packet.captured = octets.back();
            packet.wire_bytes = header->len;
            packet.link_type = static_cast<LinkType>(pcap_datalink(pcap));
            packets.push_back(packet);
        }
    }
};

bool is_known(int link) {
    constexpr std::array kKnown{0, 1, 9, 12, 14, 50, 51, 101, 104, 108, 113, 228, 229, 276};
    return std::ranges::find(kKnown, link) != kKnown.end();
}

/// @return  false: it is of a link type that the parser ignores, and libpcap cannot judge
bool compare_capture(const fs::path& path, Outcome& outcome) {
    std::array<char, PCAP_ERRBUF_SIZE> error{};
    const Pcap pcap(pcap_open_offline(path.c_str(), error.data()));
    if (pcap == nullptr || !is_known(pcap_datalink(pcap.get()))) {
        return false;
    }
    CAPTURE(path.filename().string());
    const Capture capture(pcap.get());
    compare(capture.packets, pcap.get(), outcome);
    constexpr std::size_t kCutFrames = 12;
    const std::span<const PacketView> packets = capture.packets;
    compare(cuts_of(packets.first(std::min(kCutFrames, packets.size()))), pcap.get(), outcome);
    return true;
}

/// Frames of many kinds. The link-layer header is of Ethernet.
std::vector<Frame> frames() {
    return {ethernet().ipv4().udp(1000, 53).payload(40).build(),
            ethernet().ipv4({.ttl = 9}).tcp(1025, 443).payload(30).build(),
            ethernet().ipv4({.option_bytes = 8}).tcp(80, 2000).payload(200).build(),
            ethernet().ipv4({.source = "10.1.2.3"}).tcp(80, 1500).build(),
            ethernet().ipv4({.fragment_offset = 9}).udp(53, 53).build(),
            ethernet().ipv6().tcp(1000, 80).payload(10).build(),
            ethernet().ipv6().udp(1000, 53).payload(1200).build(),
            ethernet().vlan(7).ipv4().udp(1000, 53).build(),
            ethernet().vlan(7).vlan(9).ipv6().tcp(9, 443).build(),
            ethernet().ethertype(0x0806).payload(46).build()};
}

/// A header for each link type that libpcap reads, before an IPv4 or IPv6 packet.
struct LinkHeader {
    int link;
    std::vector<std::uint8_t> ipv4;
    std::vector<std::uint8_t> ipv6;
};

std::vector<LinkHeader> link_headers() {
    const std::vector<std::uint8_t> cooked(14, 0);
    const auto ending_with = [](std::vector<std::uint8_t> octets, std::uint8_t first,
                                std::uint8_t second) {
        octets.push_back(first);
        octets.push_back(second);
        return octets;
    };
    std::vector<std::uint8_t> cooked2_ipv4(20, 0);
    cooked2_ipv4[0] = 0x08;
    std::vector<std::uint8_t> cooked2_ipv6(20, 0);
    cooked2_ipv6[0] = 0x86;
    cooked2_ipv6[1] = 0xDD;
    return {{DLT_RAW, {}, {}},
            {DLT_IPV4, {}, {}},
            {DLT_IPV6, {}, {}},
            {DLT_LINUX_SLL, ending_with(cooked, 0x08, 0x00), ending_with(cooked, 0x86, 0xDD)},
            {DLT_LINUX_SLL2, cooked2_ipv4, cooked2_ipv6},
            {DLT_C_HDLC, {0x0F, 0, 0x08, 0x00}, {0x0F, 0, 0x86, 0xDD}},
            {DLT_PPP, {0x00, 0x21}, {0x00, 0x57}},
            {DLT_PPP_SERIAL, {0xFF, 0x03, 0x00, 0x21}, {0xFF, 0x03, 0x00, 0x57}},
            {DLT_PPP_ETHER, {0x11, 0, 0, 1, 0, 40, 0x00, 0x21}, {0x11, 0, 0, 1, 0, 40, 0, 0x57}}};
}

std::vector<std::byte> with_header(const std::vector<std::uint8_t>& header, const Frame& frame) {
    constexpr std::size_t kEthernetHeader = 14;
    std::vector<std::byte> octets;
    std::ranges::transform(header, std::back_inserter(octets),
                           [](std::uint8_t octet) { return std::byte{octet}; });
    octets.insert(octets.end(), frame.captured.begin() + kEthernetHeader, frame.captured.end());
    return octets;
}

}  // namespace

TEST_CASE("PacketFilter: all but filters with a loop are machine code", "[daemon][unit]") {
    for (std::size_t index = 0; index < kExpressions.size(); ++index) {
        const std::string_view expression = kExpressions[index];
        CAPTURE(expression);
        REQUIRE((filters()[index] == nullptr) == (expression == kWantsNetmask));
        if (filters()[index] == nullptr) {
            continue;
        }
        const bool has_loop = expression == kLoop;
        CHECK(filters()[index]->not_native() ==
              (has_loop ? std::optional(NotNative::loop) : std::nullopt));
        CHECK(filters()[index]->execution() ==
              (has_loop ? "interpreted: it has a loop" : "compiled to machine code"));
    }
}

TEST_CASE("PacketFilter: as machine code the same verdicts on Ethernet, cut at each length",
          "[daemon][unit]") {
    const std::vector<Frame> made = frames();
    std::vector<PacketView> packets;
    for (const Frame& frame : made) {
        packets.push_back(frame.view());
    }
    const Pcap pcap(pcap_open_dead(DLT_EN10MB, 262'144));
    Outcome outcome;
    compare(packets, pcap.get(), outcome);
    compare(cuts_of(packets), pcap.get(), outcome);
    CHECK(outcome.wrong == 0);
    CHECK(outcome.passed > 1000);
    CHECK(outcome.compared - outcome.passed > 1000);
}

TEST_CASE("PacketFilter: as machine code the same verdicts on all link types", "[daemon][unit]") {
    const std::vector<Frame> made = frames();
    constexpr std::size_t kIpv4Frames = 5;  // then two of IPv6
    constexpr std::size_t kIpFrames = 7;
    for (const LinkHeader& header : link_headers()) {
        std::vector<std::vector<std::byte>> octets;
        for (std::size_t index = 0; index < kIpFrames; ++index) {
            octets.push_back(
                with_header(index < kIpv4Frames ? header.ipv4 : header.ipv6, made[index]));
        }
        std::vector<PacketView> packets;
        for (const std::vector<std::byte>& frame : octets) {
            PacketView packet;
            packet.captured = frame;
            packet.wire_bytes = static_cast<std::uint32_t>(frame.size()) + 7;
            // libpcap's numbers are those of captures, but for raw IP.
            packet.link_type =
                header.link == DLT_RAW ? LinkType::raw_ip : static_cast<LinkType>(header.link);
            packets.push_back(packet);
        }
        const Pcap pcap(pcap_open_dead(header.link, 262'144));
        Outcome outcome;
        CAPTURE(header.link);
        compare(packets, pcap.get(), outcome);
        compare(cuts_of(packets), pcap.get(), outcome);
        CHECK(outcome.wrong == 0);
        CHECK(outcome.passed > 300);
    }
}

TEST_CASE("PacketFilter: frames that machine code cannot take are interpreted", "[daemon][unit]") {
    std::vector<std::byte> octets(70'000, std::byte{0xAA});
    const Frame frame = ethernet().ipv4().udp(1000, 53).build();
    std::ranges::copy(frame.captured, octets.begin());
    PacketFilter filter("udp port 53 and greater 70000");
    for (const std::size_t length : {65'535U, 65'536U, 70'000U}) {
        PacketView packet;
        packet.captured = std::span(octets).first(length);
        packet.wire_bytes = 70'000;
        CHECK(filter.select(std::span(&packet, 1)) == 1);
        packet.wire_bytes = 69'999;
        CHECK(filter.select(std::span(&packet, 1)) == 0);
    }
}

TEST_CASE("PacketFilter: as machine code the same verdicts on all captures", "[daemon][unit]") {
    const fs::path source = TRIBUTARY_SOURCE;
    Outcome outcome;
    CHECK(compare_capture(source / "tests/data/demo.pcap", outcome));
    const char* const named = std::getenv("TRIBUTARY_SHARED");
    const fs::path shared = named != nullptr ? fs::path(named) : source.parent_path() / "shared";
    std::size_t captures = 0;
    if (fs::is_directory(shared / "pcaps")) {
        for (const auto& entry : fs::directory_iterator(shared / "pcaps")) {
            captures += compare_capture(entry.path(), outcome) ? 1 : 0;
        }
        CHECK(captures > 50);
    } else {
        WARN("skipped: no captures in " << shared.string());
    }
    CHECK(outcome.wrong == 0);
    CHECK(outcome.passed > 1000);
    INFO(captures << " captures, " << outcome.compared << " verdicts");
    CHECK(outcome.compared > 10'000);
}

}  // namespace tributary
