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

/// @param at  of group tunnel; 0: it was not chosen
bool is_tunnel(const std::byte* record, std::uint16_t at) noexcept {
    if (at == 0) {
        return true;
    }
    const auto& tunnel = *reinterpret_cast<const TunnelGroup*>(record + at);
    return tunnel.kind == TunnelKind::none ||
           (tunnel.kind <= TunnelKind::gtp_u && is_ip_version(tunnel.ip_version));
}

}  // namespace

std::uint64_t fingerprint_of(const RecordLayout& layout) noexcept {
    static_assert(std::has_unique_object_representations_v<RecordLayout>);
    const std::uint64_t of_layout =
        XXH3_64bits_withSeed(&layout, sizeof layout, record_size(layout));
    return XXH3_64bits_withSeed(kMeasures.data(), sizeof kMeasures, of_layout);
}

bool is_plausible(const std::byte* record, const RecordLayout& layout) noexcept {
    const auto& core = *reinterpret_cast<const FlowRecordCore*>(record);
    const auto reason = static_cast<std::size_t>(core.end_reason);
    bool is_good = is_ip_version(core.key.ip_version) && is_span(core.start, core.end) &&
                   reason < kFlowEndReasonCount && is_tunnel(record, layout.tunnel_at);
    if (layout.reverse_at != 0) {
        const auto& reverse = *reinterpret_cast<const ReverseGroup*>(record + layout.reverse_at);
        is_good = is_good && (reverse.packets == 0 ||
                              (is_span(reverse.start, reverse.end) &&
                               reverse.biflow_direction <= BiflowDirection::reverse_initiator &&
                               is_tunnel(record, layout.reverse_tunnel_at)));
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
