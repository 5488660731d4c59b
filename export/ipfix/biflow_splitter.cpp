// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/biflow_splitter.hpp"

#include <cstring>

#include "flowcache/record/flow_direction.hpp"

namespace tributary {

BiflowSplitter::BiflowSplitter(const RecordLayout& biflows)
    : biflows_(biflows), uniflows_(RecordLayout::of(biflows.groups())) {
    const auto add = [this](std::uint16_t RecordLayout::*forward,
                            std::uint16_t RecordLayout::*reverse, std::size_t octets) {
        if (biflows_.*forward != 0) {
            groups_.push_back({.forward = biflows_.*forward,
                               .reverse = biflows_.*reverse,
                               .uniflow = uniflows_.*forward,
                               .octets = static_cast<std::uint16_t>(octets)});
        }
    };
    using L = RecordLayout;
    add(&L::tcp_analysis_at, &L::reverse_tcp_analysis_at, sizeof(TcpAnalysisGroup));
    add(&L::extremes_at, &L::reverse_extremes_at, sizeof(ExtremesGroup));
    add(&L::layer2_at, &L::reverse_layer2_at, sizeof(Layer2Group));
    add(&L::tcp_counts_at, &L::reverse_tcp_counts_at, sizeof(TcpCountsGroup));
    add(&L::flow_label_at, &L::reverse_flow_label_at, sizeof(FlowLabelGroup));
    add(&L::mpls_at, &L::reverse_mpls_at, sizeof(MplsGroup));
    add(&L::tunnel_at, &L::reverse_tunnel_at, sizeof(TunnelGroup));
    add(&L::fragments_at, &L::reverse_fragments_at, sizeof(FragmentsGroup));
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
