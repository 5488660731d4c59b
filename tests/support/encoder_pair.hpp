// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

#include "export/ipfix/ipfix_encoder.hpp"
#include "export/ipfix/record_shape.hpp"
#include "export/message.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"

// Shared by the tests of the encoder and of its templates.
namespace tributary::test {

inline constexpr Timestamp kNow{std::chrono::seconds{1'600'000'001}};
inline constexpr FieldGroups kAllGroups{.extremes = true,
                                        .layer2 = true,
                                        .tcp_counts = true,
                                        .flow_label = true,
                                        .mpls = true,
                                        .tunnel = true,
                                        .fragments = true};

/// An encoder, and a decoder that gets its templates at once.
struct EncoderPair {
    explicit EncoderPair(FieldGroups groups = {}, TimestampUnit unit = TimestampUnit::milliseconds,
                         std::size_t limit = 1400, FlowDirection direction = FlowDirection::uniflow)
        : EncoderPair(
              ExportOptions{
                  .observation_domain = 42, .timestamps = unit, .fields = groups, .collectors = {}},
              limit, direction) {}
    EncoderPair(const ExportOptions& options, std::size_t limit,
                FlowDirection direction = FlowDirection::uniflow)
        : layout(RecordLayout::of(options.fields, direction)), encoder(options, layout, limit) {
        hear_templates();
    }
    /// Decodes the new templates; after `heard` is set to 0, all.
    void hear_templates() {
        for (; heard < encoder.template_messages(); ++heard) {
            templates.push_back(decoder.decode(stamped(encoder.template_message(heard), 0, kNow)));
        }
    }
    IpfixMessage finish(Timestamp now = kNow) {
        hear_templates();
        return decoder.decode(finish_unheard(now));
    }
    /// The closed message; its templates are not decoded.
    Octets finish_unheard(Timestamp now = kNow) {
        const EncodedMessage closed = encoder.close();
        return stamped(closed.octets, closed.records, now, closed.latest_end);
    }
    IpfixRecord round_trip(const Record& record) {
        REQUIRE(encoder.append(bytes_of(record)) == AppendResult::added);
        IpfixMessage message = finish();
        REQUIRE(message.records.size() == 1);
        return message.records.front();
    }

    Octets stamped(MessageView message, std::uint32_t records, Timestamp now,
                   Timestamp latest_end = {}) {
        Octets octets(message.begin(), message.end());
        numbering.stamp(octets, records, now, latest_end);
        return octets;
    }

    RecordLayout layout;
    IpfixEncoder encoder;
    MessageNumbering numbering;
    IpfixDecoder decoder;
    std::size_t heard{};
    std::vector<IpfixMessage> templates;
};

using Elements = std::set<std::uint32_t>;

inline Elements elements_of(const IpfixRecord& record) {
    Elements elements;
    for (const auto& [element, value] : record.values) {
        elements.insert(element);
    }
    return elements;
}

inline Octets octets(std::initializer_list<int> values) {
    Octets made;
    for (const int value : values) {
        made.push_back(static_cast<std::byte>(value));
    }
    return made;
}

/// Makes the group `tunnel` at `at` one of the shape.
inline void set_tunnel(Record& record, std::uint16_t at, TunnelShape shape, std::uint32_t id) {
    const bool is_vxlan =
        shape == TunnelShape::vxlan_over_ipv4 || shape == TunnelShape::vxlan_over_ipv6;
    const bool over_ipv6 = shape == TunnelShape::over_ipv6 || shape == TunnelShape::vxlan_over_ipv6;
    if (shape != TunnelShape::none) {
        record.group<TunnelGroup>(at) = {
            .id = id,
            .kind = is_vxlan ? TunnelKind::vxlan : TunnelKind::geneve,
            .ip_version = static_cast<std::uint8_t>(over_ipv6 ? 6 : 4)};
    }
}

/// The protocol of such records: that which the shape needs, or TCP.
inline std::uint8_t protocol_of(const RecordShape& shape, const RecordLayout& layout) {
    constexpr std::uint8_t kTcp = 6;
    constexpr std::uint8_t kUdp = 17;
    if (shape.icmp) {
        return shape.ipv6 ? 58 : 1;
    }
    return layout.tcp_analysis_at != 0 && shape.tcp == TcpShape::none ? kUdp : kTcp;
}

/// A record of the shape; `number` makes flows differ.
inline Record record_of_shape(const RecordShape& shape, const RecordLayout& layout,
                              std::uint16_t number) {
    Record record = record_of(number, shape.ipv6 ? 6 : 4);
    record.core.key.protocol = protocol_of(shape, layout);
    record.core.key.vlan = {static_cast<std::uint16_t>(shape.vlan ? 100 : 0)};
    if (layout.layer2_at != 0) {
        auto& layer2 = record.group<Layer2Group>(layout.layer2_at);
        layer2.vlan_tags = shape.dot1q_tags;
        layer2.has_mac_addresses = !shape.no_mac_addresses;
    }
    if (layout.mpls_at != 0) {
        record.group<MplsGroup>(layout.mpls_at).labels = shape.mpls_labels ? 1 : 0;
    }
    if (layout.tcp_analysis_at != 0) {
        record.group<TcpAnalysisGroup>(layout.tcp_analysis_at) = {
            .duration = shape.tcp == TcpShape::with_size ? 1 : 0};
    }
    if (layout.reverse_tcp_analysis_at != 0) {
        record.group<TcpAnalysisGroup>(layout.reverse_tcp_analysis_at) = {};
    }
    set_tunnel(record, layout.tunnel_at, shape.tunnel, number);
    if (shape.has_reverse()) {
        record.group<ReverseGroup>(layout.reverse_at).packets = 1;
        set_tunnel(record, layout.reverse_tunnel_at, shape.reverse_tunnel(), number);
    }
    return record;
}

}  // namespace tributary::test
