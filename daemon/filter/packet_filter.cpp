// SPDX-License-Identifier: Apache-2.0
#include "daemon/filter/packet_filter.hpp"

#include <pcap/pcap.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "daemon/filter/filter_names.hpp"
#include "daemon/program/frame_argument.hpp"

namespace tributary {
namespace {

struct PcapCloser {
    void operator()(pcap_t* pcap) const noexcept { pcap_close(pcap); }
};
using Pcap = std::unique_ptr<pcap_t, PcapCloser>;

/// The header of a capture file, in this host's byte order until it is swapped.
struct CaptureHeader {
    std::uint32_t magic = 0xA1B2'C3D4;
    std::uint16_t major = 2;
    std::uint16_t minor = 4;
    std::uint32_t zone{};
    std::uint32_t accuracy{};
    std::uint32_t snap_length = 262'144;
    std::uint32_t link_type{};

    void swap() noexcept {
        magic = __builtin_bswap32(magic);
        major = __builtin_bswap16(major);
        minor = __builtin_bswap16(minor);
        snap_length = __builtin_bswap32(snap_length);
        link_type = __builtin_bswap32(link_type);
    }
};
static_assert(sizeof(CaptureHeader) == 24);

/// A capture file without packets, which gives libpcap the link type and the byte order. libpcap's
/// "dead" handle has no foreign byte order, treats loopback headers as this system's, and accepts
/// expressions that only the kernel can evaluate (`inbound`).
///
/// @param header  outlives the handle
Pcap open_capture(CaptureHeader& header) {
    std::FILE* file = fmemopen(&header, sizeof header, "rb");
    std::array<char, PCAP_ERRBUF_SIZE> error{};
    Pcap pcap(file == nullptr ? nullptr : pcap_fopen_offline(file, error.data()));
    if (pcap == nullptr) {
        if (file != nullptr) {
            std::fclose(file);
        }
        throw PacketFilterError(std::string("libpcap cannot be used: ") + error.data());
    }
    return pcap;
}

}  // namespace

PacketFilter::PacketFilter(const std::string& expression, FilterLinks links) {
    FilterNames names(NameUse::resolve);
    compile_all(expression, links, names);
}

PacketFilter::PacketFilter(const std::string& expression, FilterLinks links, FilterNames& names) {
    compile_all(expression, links, names);
}

void PacketFilter::compile_all(const std::string& expression, FilterLinks links,
                               FilterNames& names) {
    const NamesInUse in_use(names);
    try {
        programs_[0] = compile(expression, Link::ethernet);
    } catch (const PacketFilterError&) {
        if (!names.fault().empty()) {
            throw UnresolvedName(names.fault());
        }
        throw;
    }
    for (std::size_t link = 1; links == FilterLinks::all && link < kLinks; ++link) {
        try {
            programs_[link] = compile(expression, static_cast<Link>(link));
        } catch (const PacketFilterError&) {
            programs_[link].classic.clear();
        }
    }
    std::ranges::for_each(programs_, [this](Program& program) { make_native(program); });
}

void PacketFilter::make_native(Program& program) {
    if (program.classic.empty()) {
        return;
    }
    tl::expected<NativeProgram, NotNative> native = NativeProgram::of(program.classic);
    if (native) {
        program.native = std::move(*native);
    } else if (!not_native_) {
        not_native_ = native.error();
    }
}

std::string PacketFilter::execution() const {
    if (!not_native_) {
        return "compiled to machine code";
    }
    const bool is_partly = std::ranges::any_of(
        programs_, [](const Program& program) { return program.native.has_value(); });
    return std::string(is_partly ? "interpreted for some link types: " : "interpreted: ") +
           reason_of(*not_native_);
}

PacketFilter::~PacketFilter() = default;

CheckedFilter PacketFilter::check(const std::string& expression) {
    std::string refusal;
    for (const NameUse use : {NameUse::check, NameUse::check_ipv4, NameUse::check_ipv6}) {
        FilterNames names(use);
        try {
            const PacketFilter compiled(expression, FilterLinks::ethernet, names);
            return {.names = names.names(), .execution = compiled.execution()};
        } catch (const PacketFilterError& error) {
            refusal = refusal.empty() ? error.what() : refusal;
        }
        if (names.names().empty()) {
            break;
        }
    }
    throw PacketFilterError(refusal);
}

PacketFilter::Program PacketFilter::compile(const std::string& expression, Link link) {
    // Numbers of tcpdump.org/linktypes.html, in the order of Link.
    constexpr std::array<std::uint32_t, kLinks> kLinkTypes{1,   101, 228, 229, 0,  0,
                                                           113, 276, 104, 9,   50, 51};
    CaptureHeader header{.link_type = kLinkTypes[static_cast<std::size_t>(link)]};
    if (link == Link::loopback_big_endian) {
        header.swap();
    }
    const Pcap pcap = open_capture(header);
    constexpr int kOptimize = 1;
    bpf_program compiled{};
    if (pcap_compile(pcap.get(), &compiled, expression.c_str(), kOptimize, PCAP_NETMASK_UNKNOWN) !=
        0) {
        throw PacketFilterError(pcap_geterr(pcap.get()));
    }
    Program program{.classic = {compiled.bf_insns, compiled.bf_insns + compiled.bf_len},
                    .native = {}};
    pcap_freecode(&compiled);
    return program;
}

PacketFilter::Link PacketFilter::link_of(const PacketView& packet) noexcept {
    switch (packet.link_type) {
        case LinkType::ethernet:
            return Link::ethernet;
        case LinkType::raw_bsd:
        case LinkType::raw_openbsd:
        case LinkType::raw_ip:
            return Link::raw_ip;
        case LinkType::ipv4:
            return Link::ipv4;
        case LinkType::ipv6:
            return Link::ipv6;
        case LinkType::null:
        case LinkType::openbsd_loopback: {
            // Address families are small numbers: as in the parser, the smaller of both readings is
            // right.
            const auto bytes = packet.captured;
            const bool starts_with_zeros =
                bytes.size() >= 2 && bytes[0] == std::byte{} && bytes[1] == std::byte{};
            return starts_with_zeros ? Link::loopback_big_endian : Link::loopback_little_endian;
        }
        case LinkType::linux_sll:
            return Link::linux_sll;
        case LinkType::linux_sll2:
            return Link::linux_sll2;
        case LinkType::cisco_hdlc:
            return Link::cisco_hdlc;
        case LinkType::ppp:
            return Link::ppp;
        case LinkType::ppp_hdlc:
            return Link::ppp_hdlc;
        case LinkType::pppoe:
            return Link::pppoe;
    }
    return Link::unknown;
}

bool PacketFilter::matches(const Program& program, const PacketView& packet,
                           FrameArgument& argument) noexcept {
    const std::span<const std::byte> captured = packet.captured;
    if (program.native && captured.size() <= FrameArgument::kMostOctets) {
        return program.native->matches(argument.of(captured, packet.wire_bytes));
    }
    return !program.classic.empty() &&
           bpf_filter(program.classic.data(), reinterpret_cast<const u_char*>(captured.data()),
                      packet.wire_bytes, static_cast<u_int>(captured.size())) != 0;
}

bool PacketFilter::passes(const PacketView& packet, FrameArgument& argument) const noexcept {
    const Link link = link_of(packet);
    return link == Link::unknown ||
           matches(programs_[static_cast<std::size_t>(link)], packet, argument);
}

PacketMask PacketFilter::select(std::span<const PacketView> packets) noexcept {
    const std::optional<NativeProgram>& ethernet = programs_[0].native;
    const NativeProgram* const native = ethernet ? &*ethernet : nullptr;
    FrameArgument argument;
    PacketMask passed = 0;
    for (std::size_t place = 0; place < packets.size(); ++place) {
        const PacketView& packet = packets[place];
        const std::span<const std::byte> captured = packet.captured;
        // Most packets, without a look at what other link types and longer frames want.
        const bool is_plain = native != nullptr && packet.link_type == LinkType::ethernet &&
                              captured.size() <= FrameArgument::kMostOctets;
        const bool is_passed = is_plain ? native->matches(argument.of(captured, packet.wire_bytes))
                                        : passes(packet, argument);
        passed |= PacketMask{is_passed} << place;
    }
    return passed;
}

}  // namespace tributary
