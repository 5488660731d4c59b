// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "export/flow_view.hpp"

namespace tributary {

/// A filter that cannot be understood; the text names the column and what was expected there.
struct FilterError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A condition on addresses, ports, protocol and tunnel of a flow:
///
///     filter    = term { "or" term }
///     term      = factor { "and" factor }
///     factor    = "not" factor | "(" filter ")" | primitive
///     primitive = "proto" ( NAME | NUMBER )
///               | [ "src" | "dst" ] "port" NUMBER [ "-" NUMBER ]
///               | [ "outer" ] [ "src" | "dst" ] ( "host" ADDRESS | "net" ADDRESS "/" BITS )
///               | "tunnel" ( KIND | "any" )
///               | "tunnel-id" NUMBER
///
/// Without src or dst either side will do. `port` never matches ICMP, whose type and code stand in
/// the key's port. `outer` and the terms of tunnels match no flow that is in no tunnel.
class FlowFilter {
public:
    /// Matches every flow.
    FlowFilter() = default;
    /// @errors  FilterError
    explicit FlowFilter(std::string_view text);

    [[nodiscard]] bool matches(const FlowView& flow) const noexcept { return matches(root_, flow); }
    [[nodiscard]] bool matches_all() const noexcept {
        return root_.kind == NodeKind::all_of && root_.operands.empty();
    }

private:
    friend class FilterParser;
    enum class NodeKind : std::uint8_t {
        all_of,
        any_of,
        none_of,
        net,
        port,
        protocol,
        tunnel,
        tunnel_id
    };
    enum class Side : std::uint8_t { either, source, destination };
    struct Node {
        NodeKind kind{};
        Side side{};                 ///< net, port
        bool outer{};                ///< net: of the tunnel's addresses
        std::uint8_t ip_version{};   ///< net
        std::uint8_t prefix_bits{};  ///< net; a host is a net of all bits
        IpAddress address{};         ///< net
        std::uint16_t first_port{};
        std::uint16_t last_port{};
        std::uint8_t protocol{};
        TunnelKind tunnel{};  ///< none: any tunnel
        std::uint32_t tunnel_id{};
        std::vector<Node> operands;  ///< all_of, any_of, none_of
    };

    [[nodiscard]] static bool matches(const Node& node, const FlowView& flow) noexcept;

    Node root_;
};

}  // namespace tributary
