// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/biflow_splitter.hpp"

#include <cstring>

#include "flowcache/record/flow_direction.hpp"

namespace tributary {

BiflowSplitter::BiflowSplitter(const RecordLayout& biflows)
    : biflows_(biflows), uniflows_(RecordLayout::of(biflows.groups())) {
    biflows_.groups().for_each([this](FieldGroupId id) {
        groups_.push_back({.forward = biflows_.places.at(id),
                           .reverse = biflows_.reverse_places.at(id),
                           .uniflow = uniflows_.places.at(id),
                           .octets = field_group(id).octets});
    });
}

BiflowSplitter::Uniflows BiflowSplitter::split(const std::byte* record) noexcept {
    const auto& core = *reinterpret_cast<const FlowRecordCore*>(record);
    const auto& back = *reinterpret_cast<const ReverseGroup*>(record + biflows_.reverse_at);
    std::memcpy(forward_.bytes.data(), &core, sizeof core);
    take_groups(forward_, record, &Group::forward);
    if (back.packets == 0) {
        return {.first = forward_.bytes.data()};
    }
    FlowRecordCore swapped_core = core;
    swapped_core.key = swapped(core.key, true);
    swapped_core.tcp_control_bits = back.tcp_control_bits;
    swapped_core.ip_class_of_service = back.ip_class_of_service;
    swapped_core.packets = back.packets;
    swapped_core.octets = back.octets;
    swapped_core.start = back.start;
    swapped_core.end = back.end;
    std::memcpy(reverse_.bytes.data(), &swapped_core, sizeof swapped_core);
    take_groups(reverse_, record, &Group::reverse);
    if (core.packets == 0) {
        return {.first = reverse_.bytes.data()};
    }
    return {.first = forward_.bytes.data(), .second = reverse_.bytes.data()};
}

void BiflowSplitter::take_groups(Uniflow& to, const std::byte* record,
                                 std::uint16_t Group::*half) const noexcept {
    for (const Group& group : groups_) {
        std::memcpy(to.bytes.data() + group.uniflow, record + group.*half, group.octets);
    }
}

}  // namespace tributary
