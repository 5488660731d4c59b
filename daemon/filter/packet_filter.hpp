// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "flowcache/input/packet_selector.hpp"
#include "parsers/packet.hpp"

struct bpf_insn;

namespace tributary {

class FilterNames;

/// libpcap does not compile a filter expression for Ethernet frames; with libpcap's message.
struct PacketFilterError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// A host name in it has no address now; it may have one later.
struct UnresolvedName : PacketFilterError {
    using PacketFilterError::PacketFilterError;
};

/// The link types that frames can have.
enum class FilterLinks : std::uint8_t {
    ethernet,  ///< ports have no others
    all,       ///< all link types of captures
};

/// A filter expression in pcap syntax, run on the captured bytes of frames by libpcap's
/// interpreter.
///
/// The meaning of an expression depends on the link type, so it is compiled for each possible one.
/// For a link type without meaning for it (such as `ether host` on raw IP) no frame matches. Frames
/// of an unknown link type pass: the parser ignores them with that reason. A frame that is shorter
/// than the expression reads does not match.
///
/// One filter may serve several threads: it does not change.
class PacketFilter final : public PacketSelector {
public:
    /// @param expression  its names are resolved here, and never later
    /// @param names       of the expression
    /// @errors            PacketFilterError
    /// @thread            any: libpcap's compiler is reentrant since version 1.8
    /// @cost              with many terms seconds for each link type, because its optimizer's time
    ///                    grows with the square of their number; with names the resolver's time,
    ///                    minutes
    PacketFilter(const std::string& expression, FilterLinks links, FilterNames& names);
    /// With names of its own.
    explicit PacketFilter(const std::string& expression, FilterLinks links = FilterLinks::all);
    ~PacketFilter() override;

    /// Checks that libpcap accepts the expression, for any addresses of its host names. It asks no
    /// resolver.
    ///
    /// @return  its host names
    /// @errors  PacketFilterError
    /// @thread  any
    static std::vector<std::string> check(const std::string& expression);

    /// @thread  any
    /// @cost    one interpreted program per packet, some 5 to 30 ns
    [[nodiscard]] PacketMask select(std::span<const PacketView> packets) noexcept override;

private:
    /// There are two of the loopback link types, because their header is in the capturing host's
    /// byte order.
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
    void compile_all(const std::string& expression, FilterLinks links, FilterNames& names);
    [[nodiscard]] static Program compile(const std::string& expression, Link link);

    std::array<Program, kLinks> programs_;
};

}  // namespace tributary
