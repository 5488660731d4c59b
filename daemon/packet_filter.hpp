// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "flowcache/packet_selector.hpp"
#include "parsers/packet.hpp"

struct bpf_insn;

namespace tributary {

/// A filter expression that libpcap does not compile for Ethernet frames; its own words.
struct PacketFilterError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A filter expression in pcap syntax, run on the captured bytes of frames by libpcap's
/// interpreter.
///
/// What an expression means depends on the link type, so it is compiled for each one that the
/// parser knows. For a link type for which it has no meaning (such as `ether host` on raw IP) it
/// lets nothing through. Frames of an unknown link type pass: the parser ignores them by that name.
/// A frame that ends before what the expression reads does not match.
///
/// One filter may serve several threads: it does not change.
class PacketFilter final : public PacketSelector {
public:
    /// @param expression  names in it are resolved here, and nowhere later
    /// @errors            PacketFilterError
    /// @thread            main, before others start: libpcap's compiler is not to be trusted with
    ///                    several
    explicit PacketFilter(const std::string& expression);
    ~PacketFilter() override;

    /// @thread  any
    /// @cost    one interpreted program per packet, some 5 to 30 ns
    [[nodiscard]] PacketMask select(std::span<const PacketView> packets) noexcept override;

private:
    /// Of the loopback link types there are two, because their header is in the byte order of the
    /// capturing host.
    enum class Link : std::uint8_t {
        ethernet,
        raw_ip,
        ipv4,
        ipv6,
        loopback_little_endian,
        loopback_big_endian,
        linux_sll,
        linux_sll2,
        cisco_hdlc,
        ppp,
        ppp_hdlc,
        pppoe,
        unknown,
    };
    static constexpr std::size_t kLinks = static_cast<std::size_t>(Link::unknown);
    using Program = std::vector<bpf_insn>;  // empty: nothing matches

    [[nodiscard]] static Link link_of(const PacketView& packet) noexcept;
    [[nodiscard]] static Program compile(const std::string& expression, Link link);

    std::array<Program, kLinks> programs_;
};

}  // namespace tributary
