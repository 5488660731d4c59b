// SPDX-License-Identifier: Apache-2.0
#include "export/flow_filter.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "export/ip_text.hpp"
#include "export/printable_text.hpp"

namespace tributary {
namespace {

constexpr std::size_t kMaximumDepth =
    100;  ///< of "(" and "not", so that no filter exhausts the stack

bool in_net(const IpAddress& address, const IpAddress& net, std::size_t bits) noexcept {
    const auto octets = static_cast<std::ptrdiff_t>(bits / 8);
    if (!std::equal(net.begin(), net.begin() + octets, address.begin())) {
        return false;
    }
    if (bits % 8 == 0) {
        return true;
    }
    const auto mask = static_cast<std::byte>(0xFFU << (8 - bits % 8));
    const auto last = static_cast<std::size_t>(octets);
    return ((net[last] ^ address[last]) & mask) == std::byte{};
}

constexpr std::uint32_t kMaximumTunnelId = std::numeric_limits<std::uint32_t>::max();

bool has_ports(std::uint8_t protocol) noexcept {
    return protocol != ip_protocol::kIcmp && protocol != ip_protocol::kIcmpV6;
}

}  // namespace

/// Recursive descent over the grammar of flow_filter.hpp.
class FilterParser {
public:
    using Node = FlowFilter::Node;
    using NodeKind = FlowFilter::NodeKind;
    using Side = FlowFilter::Side;

    explicit FilterParser(std::string_view text) : text_(text) { advance(); }

    Node parse() {
        Node root = parse_filter();
        if (!word_.empty()) {
            expected("'and', 'or' or the end");
        }
        return root;
    }

private:
    Node parse_filter() {
        Node node;
        node.kind = NodeKind::any_of;
        do {
            node.operands.push_back(parse_term());
        } while (accept("or"));
        return node;
    }

    Node parse_term() {
        Node node;
        node.kind = NodeKind::all_of;
        do {
            node.operands.push_back(parse_factor());
        } while (accept("and"));
        return node;
    }

    Node parse_factor() {
        if (depth_ == kMaximumDepth) {
            fail("more than " + std::to_string(kMaximumDepth) + " nested 'not' and '('");
        }
        ++depth_;
        Node node;
        if (accept("not")) {
            node.kind = NodeKind::none_of;
            node.operands.push_back(parse_factor());
        } else if (accept("(")) {
            node = parse_filter();
            if (!accept(")")) {
                expected("'and', 'or' or ')'");
            }
        } else {
            node = parse_primitive();
        }
        --depth_;
        return node;
    }

    Node parse_primitive() {
        Node node;
        if (accept("tunnel")) {
            parse_tunnel(node);
            return node;
        }
        if (accept("tunnel-id")) {
            node.kind = NodeKind::tunnel_id;
            node.tunnel_id =
                parsed(parse_number(word_, kMaximumTunnelId), "a number up to 4294967295");
            return node;
        }
        if (accept("proto")) {
            node.kind = NodeKind::protocol;
            node.protocol = parsed(parse_protocol(word_), "a protocol name or a number up to 255");
            return node;
        }
        node.outer = accept("outer");
        const bool source = accept("src");
        const bool destination = !source && accept("dst");
        if (source || destination) {
            node.side = source ? Side::source : Side::destination;
        }
        if (accept("host")) {
            parse_host(node);
        } else if (accept("net")) {
            parse_net(node);
        } else if (!node.outer && accept("port")) {
            parse_ports(node);
        } else {
            expected(words_after(node.outer, source || destination));
        }
        return node;
    }

    /// What a primitive may begin with, or go on with behind "outer" and a side.
    static const char* words_after(bool outer, bool side) {
        if (outer) {
            return side ? "'host' or 'net'" : "'host', 'net', 'src' or 'dst'";
        }
        return side ? "'host', 'net' or 'port'"
                    : "'host', 'net', 'port', 'proto', 'src', 'dst', 'outer', 'tunnel', "
                      "'tunnel-id', 'not' or '('";
    }

    void parse_tunnel(Node& node) {
        node.kind = NodeKind::tunnel;
        if (!accept("any")) {
            node.tunnel = parsed(parse_tunnel_kind(word_),
                                 "'any' or a kind of tunnel such as vxlan, gre or gtp-u");
        }
    }

    void parse_host(Node& node) {
        if (!read_address(node, word_)) {
            expected("an IPv4 or IPv6 address");
        }
        advance();
    }

    void parse_net(Node& node) {
        const std::size_t slash = word_.find('/');
        if (slash == std::string_view::npos || !read_address(node, word_.substr(0, slash))) {
            expected("a network such as 10.0.0.0/8 or 2001:db8::/32");
        }
        const auto bits = parse_number(word_.substr(slash + 1), node.prefix_bits);
        node.prefix_bits = static_cast<std::uint8_t>(
            parsed(bits, "a prefix length up to " + std::to_string(node.prefix_bits)));
    }

    void parse_ports(Node& node) {
        constexpr std::uint32_t kMaximumPort = 65535;
        node.kind = NodeKind::port;
        const std::size_t dash = word_.find('-');
        const auto first = parse_number(word_.substr(0, dash), kMaximumPort);
        const auto last = dash == std::string_view::npos
                              ? first
                              : parse_number(word_.substr(dash + 1), kMaximumPort);
        if (!first || !last || *first > *last) {
            expected("a port such as 443 or a range such as 8000-8099");
        }
        node.first_port = static_cast<std::uint16_t>(*first);
        node.last_port = static_cast<std::uint16_t>(*last);
        advance();
    }

    /// Makes `node` the net of this one address.
    static bool read_address(Node& node, std::string_view text) {
        const std::string address(text);
        node.kind = NodeKind::net;
        node.ip_version = text.find(':') == std::string_view::npos ? 4 : 6;
        node.prefix_bits = node.ip_version == 4 ? 32 : 128;
        // A NUL would end what inet_pton() reads.
        return address.find('\0') == std::string::npos &&
               inet_pton(node.ip_version == 4 ? AF_INET : AF_INET6, address.c_str(),
                         node.address.data()) == 1;
    }

    template <class Value>
    Value parsed(const std::optional<Value>& value, const std::string& what) {
        if (!value) {
            expected(what);
        }
        advance();
        return *value;
    }

    bool accept(std::string_view word) {
        if (word_ != word) {
            return false;
        }
        advance();
        return true;
    }

    /// Words end at white space and parentheses; a parenthesis is a word of its own.
    void advance() {
        constexpr std::string_view kSpace = " \t\r\n";
        at_ = std::min(text_.find_first_not_of(kSpace, at_ + word_.size()), text_.size());
        const bool parenthesis = at_ < text_.size() && (text_[at_] == '(' || text_[at_] == ')');
        const std::size_t end = parenthesis ? at_ + 1 : text_.find_first_of(" \t\r\n()", at_);
        word_ = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    }

    [[noreturn]] void expected(const std::string& what) const {
        fail("expected " + what + ", found " +
             (word_.empty() ? "the end" : "'" + printable(word_) + "'"));
    }
    [[noreturn]] void fail(const std::string& what) const {
        throw FilterError("filter, column " + std::to_string(at_ + 1) + ": " + what);
    }

    std::string_view text_;
    std::string_view word_;  ///< empty at the end
    std::size_t at_{};       ///< of word_ in text_
    std::size_t depth_{};
};

FlowFilter::FlowFilter(std::string_view text) : root_(FilterParser(text).parse()) {}

bool FlowFilter::matches(const Node& node, const FlowView& flow) noexcept {
    const FlowKey& key = flow.core.key;
    const auto operand_matches = [&flow](const Node& operand) { return matches(operand, flow); };
    const auto either_side = [&node](const auto& condition, const auto& source,
                                     const auto& destination) {
        return (node.side != Side::destination && condition(source)) ||
               (node.side != Side::source && condition(destination));
    };
    const auto net_has = [&node](const IpAddress& address) {
        return in_net(address, node.address, node.prefix_bits);
    };
    const auto range_has = [&node](L4Port port) {
        return port.value >= node.first_port && port.value <= node.last_port;
    };
    switch (node.kind) {
        case NodeKind::all_of:
            return std::all_of(node.operands.begin(), node.operands.end(), operand_matches);
        case NodeKind::any_of:
            return std::any_of(node.operands.begin(), node.operands.end(), operand_matches);
        case NodeKind::none_of:
            return std::none_of(node.operands.begin(), node.operands.end(), operand_matches);
        case NodeKind::net:
            return node.outer
                       ? flow.tunnel.ip_version == node.ip_version &&
                             either_side(net_has, flow.tunnel.source, flow.tunnel.destination)
                       : key.ip_version == node.ip_version &&
                             either_side(net_has, key.source, key.destination);
        case NodeKind::port:
            return has_ports(key.protocol) &&
                   either_side(range_has, key.source_port, key.destination_port);
        case NodeKind::protocol:
            return key.protocol == node.protocol;
        case NodeKind::tunnel:
            return flow.tunnel.kind != TunnelKind::none &&
                   (node.tunnel == TunnelKind::none || flow.tunnel.kind == node.tunnel);
        case NodeKind::tunnel_id:
            return flow.tunnel.kind != TunnelKind::none && flow.tunnel.id == node.tunnel_id;
    }
    return false;
}

}  // namespace tributary
