// SPDX-License-Identifier: Apache-2.0
#include "export/spool/spooled_records.hpp"

#include <xxhash.h>

#include <array>
#include <type_traits>

namespace tributary {
namespace {

/// Raise it with any change of the meaning of a record's member. Changes of sizes and places change
/// the fingerprint by themselves.
constexpr std::uint64_t kVersion = 1;

constexpr std::array<std::uint64_t, 25> kMeasures{
    kVersion,
    0x0102'0304'0506'0708,  // in the host's order of octets
    sizeof(FlowRecordCore),
    sizeof(ReverseGroup),
    sizeof(PacketSpan),
    sizeof(TcpAnalysisGroup),
    sizeof(ExtremesGroup),
    sizeof(Layer2Group),
    sizeof(TcpCountsGroup),
    sizeof(FlowLabelGroup),
    sizeof(MplsGroup),
    sizeof(TunnelGroup),
    sizeof(FragmentsGroup),
    offsetof(FlowKey, source_port),
    offsetof(FlowKey, vlan),
    offsetof(FlowKey, protocol),
    offsetof(FlowKey, ingress_interface),
    offsetof(FlowRecordCore, packets),
    offsetof(FlowRecordCore, start),
    offsetof(FlowRecordCore, end),
    offsetof(TcpAnalysisGroup, flow_size),
    offsetof(TcpAnalysisGroup, sequence),
    offsetof(Layer2Group, dot1q_vlan),
    offsetof(Layer2Group, vlan_tags),
    offsetof(TunnelGroup, kind),
};

bool is_span(Timestamp start, Timestamp end) noexcept {
    return start >= kFirstTimestamp && start <= end && end <= kLastTimestamp;
}

bool is_ip_version(std::uint8_t version) noexcept { return version == 4 || version == 6; }

/// Whether the groups of one direction can be ones of a record.
bool are_plausible(const std::byte* record, const RecordLayout::Places& places) noexcept {
    bool are_good = true;
    for (FieldGroupId id = 0; id < places.size(); ++id) {
        if (places.at(id) != 0) {
            const auto is_plausible = field_group(id).is_plausible;
            are_good =
                are_good && (is_plausible == nullptr || is_plausible(record + places.at(id)));
        }
    }
    return are_good;
}

/// The offsets in a layout as spools have known them since there are spools: in this order.
std::array<std::uint16_t, 19> known_offsets(const RecordLayout& layout) noexcept {
    std::array<std::uint16_t, 19> offsets{layout.at<TcpAnalysisGroup>(),
                                          layout.back_at<TcpAnalysisGroup>(), layout.reverse_at,
                                          layout.forward_span_at};
    std::size_t next = 4;
    for (const RecordLayout::Places& places : {layout.places, layout.reverse_places}) {
        for (FieldGroupId id = 0; id < kFieldGroupId<TcpAnalysisGroup>; ++id) {
            offsets.at(next++) = places.at(id);
        }
    }
    offsets.at(next) = layout.bytes;
    return offsets;
}
static_assert(kFieldGroupId<TcpAnalysisGroup> == 7, "known_offsets() is of these groups");

/// A hash of the names, numbers, places and encodings of a group's elements. The name of a declared
/// table's group is the table's, and stays when its elements change.
std::uint64_t fingerprint_of_elements(const FieldGroup& group, std::uint64_t seed) noexcept {
    for (const FieldElement& element : group.elements) {
        const std::string_view name = element.name;
        const std::array<std::uint16_t, 3> numbers{element.number, element.offset,
                                                   static_cast<std::uint16_t>(element.encoding)};
        seed = XXH3_64bits_withSeed(name.data(), name.size(), seed);
        seed = XXH3_64bits_withSeed(numbers.data(), sizeof numbers, seed);
    }
    return seed;
}

}  // namespace

std::uint64_t fingerprint_of(const RecordLayout& layout) noexcept {
    const auto known = known_offsets(layout);
    std::uint64_t of_layout = XXH3_64bits_withSeed(known.data(), sizeof known, record_size(layout));
    for (FieldGroupId id = kFieldGroupId<TcpAnalysisGroup> + 1; id < kMostFieldGroups; ++id) {
        if (layout.places.at(id) != 0) {  // without further groups it is as it was without them
            const std::array<std::uint16_t, 2> places{layout.places.at(id),
                                                      layout.reverse_places.at(id)};
            const std::string_view name = field_group(id).name;
            of_layout = XXH3_64bits_withSeed(places.data(), sizeof places, of_layout);
            of_layout = XXH3_64bits_withSeed(name.data(), name.size(), of_layout);
        }
        if (layout.added.has(id)) {
            of_layout = fingerprint_of_elements(field_group(id), of_layout);
        }
    }
    return XXH3_64bits_withSeed(kMeasures.data(), sizeof kMeasures, of_layout);
}

std::uint64_t fingerprint_of(const RecordLayout& layout, const KeyDescriptor& key,
                             std::string_view table) noexcept {
    // Octets as those of the first spools. What is declared is in the layout's group.
    const auto octet = [](auto value) { return static_cast<std::uint8_t>(value); };
    const std::array<std::uint8_t, 10> octets{
        key.source.ipv4,      key.source.ipv6,        key.destination.ipv4,
        key.destination.ipv6, octet(key.source_port), octet(key.destination_port),
        octet(key.protocol),  octet(key.vlan),        octet(key.ingress_interface),
        octet(key.extension)};
    const std::uint64_t version = key.ip_version ? 0 : std::uint64_t{1} << 32U;
    const std::uint64_t of_name =
        XXH3_64bits_withSeed(table.data(), table.size(), fingerprint_of(layout) + version);
    return XXH3_64bits_withSeed(octets.data(), sizeof octets, of_name);
}

bool is_plausible(const std::byte* record, const RecordLayout& layout) noexcept {
    const auto& core = *reinterpret_cast<const FlowRecordCore*>(record);
    const auto reason = static_cast<std::size_t>(core.end_reason);
    bool is_good = is_ip_version(core.key.ip_version) && is_span(core.start, core.end) &&
                   reason < kFlowEndReasonCount && are_plausible(record, layout.places);
    if (layout.reverse_at != 0) {
        const auto& reverse = *reinterpret_cast<const ReverseGroup*>(record + layout.reverse_at);
        is_good = is_good && (reverse.packets == 0 ||
                              (is_span(reverse.start, reverse.end) &&
                               reverse.biflow_direction <= BiflowDirection::reverse_initiator &&
                               are_plausible(record, layout.reverse_places)));
    }
    return is_good;
}

RecordTally tally_of_all(std::span<const std::byte> records, const RecordLayout& layout) noexcept {
    RecordTally sum;
    for (; !records.empty(); records = records.subspan(record_size(layout))) {
        if (!is_plausible(records.data(), layout)) {
            return {};
        }
        sum += tally_of(records.data(), layout);
    }
    return sum;
}

}  // namespace tributary
