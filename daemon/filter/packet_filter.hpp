// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "daemon/program/native_program.hpp"
#include "flowcache/input/packet_selector.hpp"
#include "parsers/packet.hpp"

struct bpf_insn;

namespace tributary {

class FilterNames;
class FrameArgument;

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

/// What is known of a filter expression without its addresses.
struct CheckedFilter {
    std::vector<std::string> names;  ///< of hosts
    std::string execution;           ///< of PacketFilter::execution()
};

/// A filter expression in pcap syntax, run on the captured bytes of frames: as machine code where
/// that is safe and allowed, otherwise by libpcap's interpreter, with the same verdicts.
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
    /// @errors  PacketFilterError
    /// @thread  any
    static CheckedFilter check(const std::string& expression);

    /// @thread  any
    /// @cost    one program per packet: some 2 to 10 ns as machine code, 4 to 30 ns interpreted
    [[nodiscard]] PacketMask select(std::span<const PacketView> packets) noexcept override;

    /// Why programs of this filter are interpreted; nullopt: all are machine code.
    [[nodiscard]] std::optional<NotNative> not_native() const noexcept { return not_native_; }
    /// How it is run, in words that follow "the filter is".
    [[nodiscard]] std::string execution() const;

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
    struct Program {
        std::vector<bpf_insn> classic;  ///< empty: nothing matches
        std::optional<NativeProgram> native;
    };

    [[nodiscard]] static Link link_of(const PacketView& packet) noexcept;
    void compile_all(const std::string& expression, FilterLinks links, FilterNames& names);
    [[nodiscard]] static Program compile(const std::string& expression, Link link);
    void make_native(Program& program);
    [[nodiscard]] bool passes(const PacketView& packet, FrameArgument& argument) const noexcept;
    [[nodiscard]] static bool matches(const Program& program, const PacketView& packet,
                                      FrameArgument& argument) noexcept;

    std::array<Program, kLinks> programs_;
    std::optional<NotNative> not_native_;  ///< of the first program that is interpreted
};

}  // namespace tributary
