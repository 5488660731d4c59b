// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_condition.hpp"

#include <optional>

#include "export/listing/comparison.hpp"
#include "export/listing/element_condition.hpp"
#include "export/listing/ip_prefix.hpp"

namespace tributary {
namespace {

/// Whether an address is in a net for sure: of a prefix, all that it stands for.
bool is_in(const NetCondition& net, const IpAddress& address, const FlowAddress& kind) noexcept {
    const bool is_long_enough =
        !kind.is_prefix || (kind.prefix_bits && *kind.prefix_bits >= net.prefix_bits);
    return kind.is_known && is_long_enough &&
           prefix_of(address, net.prefix_bits) == prefix_of(net.address, net.prefix_bits);
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

/// Whether one kind of condition holds for a flow.
struct Match {
    const FlowView& flow;
    const IpfixRecord* record;

    bool operator()(const Chain& chain) const {
        bool holds = true;
        for (const Chain::Link& link : chain.links) {
            // unless the links so far have decided already
            if (holds == (link.joint == Joint::all)) {
                holds = matches(link.condition, flow, record);
            }
        }
        return holds;
    }
    bool operator()(const Negation& negation) const {
        return !matches(negation.operand.front(), flow, record);
    }
    bool operator()(const NetCondition& net) const {
        const FlowKey& key = flow.core.key;
        const std::uint8_t version = net.outer ? flow.tunnel.ip_version : key.ip_version;
        const IpAddress& source = net.outer ? flow.tunnel.source : key.source;
        const IpAddress& destination = net.outer ? flow.tunnel.destination : key.destination;
        const FlowAddress& source_kind = net.outer ? flow.outer_source : flow.source;
        const FlowAddress& destination_kind = net.outer ? flow.outer_destination : flow.destination;
        return version == net.ip_version && holds_at(net.endpoint, is_in(net, source, source_kind),
                                                     is_in(net, destination, destination_kind));
    }
    bool operator()(const PortCondition& ports) const {
        const auto has = [&ports](const std::optional<std::uint16_t>& port) {
            return port && *port >= ports.first && *port <= ports.last;
        };
        return holds_at(ports.endpoint, has(flow.source_port()), has(flow.destination_port()));
    }
    bool operator()(ProtocolCondition wanted) const { return flow.protocol() == wanted.protocol; }
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
        const std::optional<std::uint16_t> flags = flow.tcp_flags();
        const unsigned seen =
            (flags.value_or(0) | unsigned{flow.reverse.tcp_control_bits}) & kEight;
        return flags && (wanted.exactly ? seen : seen & wanted.bits) == wanted.bits;
    }
    bool operator()(ReasonCondition wanted) const { return flow.core.end_reason == wanted.reason; }
    bool operator()(const MeasureCondition& wanted) const {
        const std::optional<WideCount> value = wanted.measure.value(flow);
        return value && compare(*value, wanted.comparison, WideCount{wanted.number});
    }
    bool operator()(const SumCondition& wanted) const {
        SignedCount sum = 0;
        for (const SumTerm& term : wanted.terms) {
            const std::optional<SignedCount> value = value_of(term);
            if (!value) {
                return false;
            }
            sum += term.is_subtracted ? -*value : *value;
        }
        return compare(sum, wanted.comparison, SignedCount{wanted.number});
    }
    bool operator()(const ElementCondition& wanted) const {
        return record != nullptr && holds(wanted, *record);
    }
    [[nodiscard]] std::optional<SignedCount> value_of(const SumTerm& term) const {
        if (term.measure) {
            const std::optional<WideCount> value = term.measure->value(flow);
            return value ? std::optional(static_cast<SignedCount>(*value)) : std::nullopt;
        }
        if (term.element.empty()) {
            return SignedCount{term.number};
        }
        return record != nullptr ? number_of(term, *record) : std::nullopt;
    }
};

}  // namespace

bool matches(const FlowCondition& condition, const FlowView& flow, const IpfixRecord* record) {
    return std::visit(Match{flow, record}, condition.what);
}

}  // namespace tributary
