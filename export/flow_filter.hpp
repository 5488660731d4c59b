// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "flowcache/flow_key.hpp"

namespace tributary {

/// A filter that cannot be understood; the text names the column and what was expected there.
struct FilterError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A condition on addresses, ports and protocol of a flow:
///
///     filter    = term { "or" term }
///     term      = factor { "and" factor }
///     factor    = "not" factor | "(" filter ")" | primitive
///     primitive = "proto" ( NAME | NUMBER )
///               | [ "src" | "dst" ] ( "host" ADDRESS | "net" ADDRESS "/" BITS | "port" NUMBER [
///               "-" NUMBER ] )
///
/// Without src or dst either side will do. `port` never matches ICMP, whose type and code stand in
/// the key's port.
class FlowFilter {
public:
    /// Matches every flow.
    FlowFilter() = default;
    /// @errors  FilterError
    explicit FlowFilter(std::string_view text);

    [[nodiscard]] bool matches(const FlowKey& flow) const noexcept { return matches(root_, flow); }
    [[nodiscard]] bool matches_all() const noexcept {
        return root_.kind == NodeKind::all_of && root_.operands.empty();
    }

private:
    friend class FilterParser;
    enum class NodeKind : std::uint8_t { all_of, any_of, none_of, net, port, protocol };
    enum class Side : std::uint8_t { either, source, destination };
    struct Node {
        NodeKind kind{};
        Side side{};                 ///< net, port
        std::uint8_t ip_version{};   ///< net
        std::uint8_t prefix_bits{};  ///< net; a host is a net of all bits
        IpAddress address{};         ///< net
        std::uint16_t first_port{};
        std::uint16_t last_port{};
        std::uint8_t protocol{};
        std::vector<Node> operands;  ///< all_of, any_of, none_of
    };

    [[nodiscard]] static bool matches(const Node& node, const FlowKey& flow) noexcept;

    Node root_;
};

}  // namespace tributary
