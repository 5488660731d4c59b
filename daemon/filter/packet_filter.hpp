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

class FilterNames;

/// A filter expression that libpcap does not compile for Ethernet frames; its own words.
struct PacketFilterError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// A host name in it has no address now, which may be different later.
struct UnresolvedName : PacketFilterError {
    using PacketFilterError::PacketFilterError;
};

/// The link types that frames can have.
enum class FilterLinks : std::uint8_t {
    ethernet,  ///< all that ports give
    all,       ///< what captures may have
};

/// A filter expression in pcap syntax, run on the captured bytes of frames by libpcap's
/// interpreter.
///
/// What an expression means depends on the link type, so it is compiled for each one that may
/// come. For a link type for which it has no meaning (such as `ether host` on raw IP) it lets
/// nothing through. Frames of an unknown link type pass: the parser ignores them by that name.
/// A frame that ends before what the expression reads does not match.
///
/// One filter may serve several threads: it does not change.
class PacketFilter final : public PacketSelector {
public:
    /// @param expression  names in it are resolved here, and nowhere later
    /// @param names       of the expression
    /// @errors            PacketFilterError
    /// @thread            any: libpcap's compiler holds all that it needs since version 1.8
    /// @cost              with many terms seconds for each link type, because its optimizer takes
    ///                    the square of their number; with names what the resolver takes, minutes
    PacketFilter(const std::string& expression, FilterLinks links, FilterNames& names);
    /// With names of its own.
    explicit PacketFilter(const std::string& expression, FilterLinks links = FilterLinks::all);
    ~PacketFilter() override;

    /// Whether libpcap understands the expression, whatever addresses its host names have. No
    /// resolver is asked.
    ///
    /// @return  its host names
    /// @errors  PacketFilterError
    /// @thread  any
    static std::vector<std::string> check(const std::string& expression);

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
    void compile_all(const std::string& expression, FilterLinks links, FilterNames& names);
    [[nodiscard]] static Program compile(const std::string& expression, Link link);

    std::array<Program, kLinks> programs_;
};

}  // namespace tributary
