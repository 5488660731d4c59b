// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_condition.hpp"

#include "export/listing/ip_prefix.hpp"

namespace tributary {
namespace {

bool is_in(const NetCondition& net, const IpAddress& address) noexcept {
    return prefix_of(address, net.prefix_bits) == prefix_of(net.address, net.prefix_bits);
}

bool holds_at(Endpoint endpoint, bool source, bool destination) noexcept {
    switch (endpoint) {
        case Endpoint::either:
            return source || destination;
        case Endpoint::source:
            return source;
        case Endpoint::destination:
            return destination;
        case Endpoint::both:
            return source && destination;
    }
    return false;
}

bool compare(WideCount value, Comparison comparison, std::uint64_t number) noexcept {
    switch (comparison) {
        case Comparison::equal:
            return value == number;
        case Comparison::unequal:
            return value != number;
        case Comparison::less:
            return value < number;
        case Comparison::at_most:
            return value <= number;
        case Comparison::more:
            return value > number;
        case Comparison::at_least:
            return value >= number;
    }
    return false;
}

/// Whether one kind of condition holds for a flow.
struct Match {
    const FlowView& flow;

    bool operator()(const Chain& chain) const {
        bool holds = true;
        for (const Chain::Link& link : chain.links) {
            // unless the links so far have decided already
            if (holds == (link.joint == Joint::all)) {
                holds = matches(link.condition, flow);
            }
        }
        return holds;
    }
    bool operator()(const Negation& negation) const {
        return !matches(negation.operand.front(), flow);
    }
    bool operator()(const NetCondition& net) const {
        const FlowKey& key = flow.core.key;
        const std::uint8_t version = net.outer ? flow.tunnel.ip_version : key.ip_version;
        const IpAddress& source = net.outer ? flow.tunnel.source : key.source;
        const IpAddress& destination = net.outer ? flow.tunnel.destination : key.destination;
        return version == net.ip_version &&
               holds_at(net.endpoint, is_in(net, source), is_in(net, destination));
    }
    bool operator()(const PortCondition& ports) const {
        const FlowKey& key = flow.core.key;
        const auto has = [&ports](L4Port port) {
            return port.value >= ports.first && port.value <= ports.last;
        };
        return has_ports(key) &&
               holds_at(ports.endpoint, has(key.source_port), has(key.destination_port));
    }
    bool operator()(ProtocolCondition wanted) const {
        return flow.core.key.protocol == wanted.protocol;
    }
    bool operator()(VersionCondition wanted) const {
        return flow.core.key.ip_version == wanted.ip_version;
    }
    bool operator()(VlanCondition wanted) const {
        const VlanId vlan = flow.core.key.vlan;
        return wanted.id.value != 0 ? vlan == wanted.id : vlan.value != 0;
    }
    bool operator()(TunnelCondition wanted) const {
        return flow.tunnel.kind != TunnelKind::none &&
               (wanted.kind == TunnelKind::none || flow.tunnel.kind == wanted.kind);
    }
    bool operator()(TunnelIdCondition wanted) const {
        return flow.tunnel.kind != TunnelKind::none && flow.tunnel.id == wanted.id;
    }
    bool operator()(FlagsCondition wanted) const {
        constexpr unsigned kEight = 0xFF;
        const unsigned seen =
            (flow.core.tcp_control_bits | unsigned{flow.reverse.tcp_control_bits}) & kEight;
        return flow.core.key.protocol == ip_protocol::kTcp &&
               (wanted.exactly ? seen : seen & wanted.bits) == wanted.bits;
    }
    bool operator()(ReasonCondition wanted) const { return flow.core.end_reason == wanted.reason; }
    bool operator()(const MeasureCondition& wanted) const {
        const std::optional<WideCount> value = wanted.measure.value(flow);
        return value && compare(*value, wanted.comparison, wanted.number);
    }
};

}  // namespace

bool matches(const FlowCondition& condition, const FlowView& flow) {
    return std::visit(Match{flow}, condition.what);
}

}  // namespace tributary
