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
inline constexpr FieldGroups kAllGroups =
    groups_of<ExtremesGroup, Layer2Group, TcpCountsGroup, FlowLabelGroup, MplsGroup, TunnelGroup,
              FragmentsGroup>();

/// An encoder, and a decoder that gets its templates at once.
struct EncoderPair {
    explicit EncoderPair(FieldGroups groups = {}, TimestampUnit unit = TimestampUnit::milliseconds,
                         std::size_t limit = 1400, FlowDirection direction = FlowDirection::uniflow)
        : EncoderPair(ExportOptions{.observation_domain = 42,
                                    .probe = {},
                                    .timestamps = unit,
                                    .fields = groups,
                                    .collectors = {}},
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
    DecodedMessage finish(Timestamp now = kNow) {
        hear_templates();
        return decoder.decode(finish_unheard(now));
    }
    /// The closed message; its templates are not decoded.
    Octets finish_unheard(Timestamp now = kNow) {
        const EncodedMessage closed = encoder.close();
        return stamped(closed.octets, closed.records, now, closed.latest_end);
    }
    DecodedRecord round_trip(const Record& record) {
        REQUIRE(encoder.append(bytes_of(record)) == AppendResult::added);
        DecodedMessage message = finish();
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
    std::vector<DecodedMessage> templates;
};

using Elements = std::set<std::uint32_t>;

inline Elements elements_of(const DecodedRecord& record) {
    Elements elements;
    for (const auto& [element, value] : record.values) {
        elements.insert(element);
    }
    return elements;
}

/// The number of a record's shape.
inline std::size_t shape_index(const std::byte* record, const RecordLayout& layout) {
    return RecordShapes(layout).index_of(record);
}
inline RecordShape shape_of(const std::byte* record, const RecordLayout& layout) {
    const RecordShapes shapes(layout);
    return shapes.at(shapes.index_of(record));
}
inline std::size_t shape_count(const RecordLayout& layout) { return RecordShapes(layout).count(); }
inline RecordShape shape_at(std::size_t index, const RecordLayout& layout) {
    return RecordShapes(layout).at(index);
}
/// Tags in group layer2, at most 2.
inline unsigned tags_of(const RecordShape& shape) {
    return shape.variant<Layer2Group>() % Layer2Group::kTagCounts;
}
inline bool has_mac_addresses(const RecordShape& shape) {
    return shape.variant<Layer2Group>() < Layer2Group::kNoMacAddresses;
}
inline bool is_vxlan(std::uint8_t variant) {
    return variant == TunnelGroup::vxlan_over_ipv4 || variant == TunnelGroup::vxlan_over_ipv6;
}

/// Makes the group `tunnel` at `at` one of the variant.
inline void set_tunnel(Record& record, std::uint16_t at, std::uint8_t variant, std::uint32_t id) {
    const bool over_ipv6 =
        variant == TunnelGroup::over_ipv6 || variant == TunnelGroup::vxlan_over_ipv6;
    if (variant != TunnelGroup::no_tunnel) {
        record.group<TunnelGroup>(at) = {
            .id = id,
            .kind = is_vxlan(variant) ? TunnelKind::vxlan : TunnelKind::geneve,
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
    return layout.at<TcpAnalysisGroup>() != 0 &&
                   shape.variant<TcpAnalysisGroup>() == TcpAnalysisGroup::not_tcp
               ? kUdp
               : kTcp;
}

/// A record of the shape; `number` makes flows differ.
inline Record record_of_shape(const RecordShape& shape, const RecordLayout& layout,
                              std::uint16_t number) {
    Record record = record_of(number, shape.ipv6 ? 6 : 4);
    record.core.key.protocol = protocol_of(shape, layout);
    record.core.key.vlan = {static_cast<std::uint16_t>(shape.vlan ? 100 : 0)};
    if (layout.at<Layer2Group>() != 0) {
        auto& layer2 = record.group<Layer2Group>(layout.at<Layer2Group>());
        layer2.vlan_tags = static_cast<std::uint8_t>(tags_of(shape));
        layer2.has_mac_addresses = has_mac_addresses(shape);
    }
    if (layout.at<MplsGroup>() != 0) {
        record.group<MplsGroup>(layout.at<MplsGroup>()).labels = shape.variant<MplsGroup>();
    }
    if (layout.at<TcpAnalysisGroup>() != 0) {
        record.group<TcpAnalysisGroup>(layout.at<TcpAnalysisGroup>()) = {
            .duration = shape.variant<TcpAnalysisGroup>() == TcpAnalysisGroup::with_size ? 1 : 0};
    }
    if (layout.back_at<TcpAnalysisGroup>() != 0) {
        record.group<TcpAnalysisGroup>(layout.back_at<TcpAnalysisGroup>()) = {};
    }
    set_tunnel(record, layout.at<TunnelGroup>(), shape.variant<TunnelGroup>(), number);
    if (shape.has_reverse) {
        record.group<ReverseGroup>(layout.reverse_at).packets = 1;
        set_tunnel(record, layout.back_at<TunnelGroup>(), shape.reverse_variant<TunnelGroup>(),
                   number);
    }
    return record;
}

}  // namespace tributary::test
