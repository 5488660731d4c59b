// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "flowcache/record/counter.hpp"
#include "flowcache/record/flow_key.hpp"
#include "flowcache/record/options.hpp"

namespace tributary {

// A flow record is one block of bytes: FlowRecordCore, then the chosen field groups in the order of
// RecordLayout. Which groups there are is decided once at start; cache, ring and encoder are
// instantiated per size (kRecordSizes), not per layout, and find a group by its offset:
//
//     0                80              80 + ...
//     | FlowRecordCore | tcp-analysis? | reverse tcp-analysis? | reverse? | extremes? | ...
//                                                              | reverse extremes? | ...
//
// In a biflow's record (RFC 5103) the core and the groups are those of the direction from the
// initiator, which is the key's source; group `reverse` and the groups that are called reverse are
// the same of the other direction. They mean something only once reverse.packets is not 0.

/// flowEndReason (IE 136).
enum class FlowEndReason : std::uint8_t {
    none = 0,  ///< the flow still runs
    idle_timeout = 1,
    active_timeout = 2,
    end_of_flow = 3,
    forced_end = 4,
    lack_of_resources = 5,
};
inline constexpr std::size_t kFlowEndReasonCount = 6;

/// biflowDirection (IE 239): how the source of a biflow was found.
/// @source  RFC 5103 §6.3
enum class BiflowDirection : std::uint8_t {
    arbitrary = 0,          ///< the source has sent the first packet seen
    initiator = 1,          ///< the source is the initiator, as far as the packets show
    reverse_initiator = 2,  ///< the destination is
};

/// The part that every record has. Times are packet times; start <= end.
struct FlowRecordCore {
    FlowKey key;
    std::uint16_t tcp_control_bits{};    ///< OR over all packets
    std::uint8_t ip_class_of_service{};  ///< of the first packet
    FlowEndReason end_reason{};
    std::uint64_t packets{};
    std::uint64_t octets{};  ///< sum of IP total lengths
    Timestamp start{};       ///< smallest packet time
    Timestamp end{};         ///< largest packet time

    /// Of a uniflow; tally_of() is for any record.
    [[nodiscard]] RecordTally tally() const noexcept { return {1, packets, octets}; }
};
static_assert(sizeof(FlowRecordCore) == 80 && std::is_trivially_copyable_v<FlowRecordCore>);

/// Group `reverse`: the direction from responder to initiator. Its counts and times lie in the
/// order of FlowRecordCore.
struct ReverseGroup {
    std::array<std::uint8_t, 4> padding{};
    std::uint16_t tcp_control_bits{};                               ///< OR over its packets
    std::uint8_t ip_class_of_service{};                             ///< of its first packet
    BiflowDirection biflow_direction = BiflowDirection::initiator;  ///< of the record
    std::uint64_t packets{};  ///< 0: none was seen, and the rest means nothing
    std::uint64_t octets{};   ///< sum of IP total lengths
    Timestamp start{};        ///< smallest packet time
    Timestamp end{};          ///< largest packet time
};
static_assert(sizeof(ReverseGroup) == 40 && std::is_trivially_copyable_v<ReverseGroup>);
/// The same count or time of a biflow's two directions is this far apart, less the place of
/// `reverse`.
inline constexpr std::size_t kReverseShift = sizeof(FlowRecordCore) - sizeof(ReverseGroup);
static_assert(offsetof(ReverseGroup, tcp_control_bits) + kReverseShift ==
                  offsetof(FlowRecordCore, tcp_control_bits) &&
              offsetof(ReverseGroup, ip_class_of_service) + kReverseShift ==
                  offsetof(FlowRecordCore, ip_class_of_service) &&
              offsetof(ReverseGroup, packets) + kReverseShift ==
                  offsetof(FlowRecordCore, packets) &&
              offsetof(ReverseGroup, end) + kReverseShift == offsetof(FlowRecordCore, end));

/// Smallest and largest packet time.
struct PacketSpan {
    Timestamp start;
    Timestamp end;
};

/// Group `tcp-analysis`: the analysis of one direction's segments; as here unless TCP.
/// docs/tcp-records.md defines each member. It comes first of the groups, and is a cache line where
/// it is the only one of a uniflow. The cache has the flow's TcpState there while that runs.
struct TcpAnalysisGroup {
    static constexpr std::uint32_t kNoSize = std::numeric_limits<std::uint32_t>::max();

    std::uint64_t retransmitted_octets{};
    std::int64_t duration{};  ///< ns from SYN to FIN; where has_size()
    std::uint32_t segments{};
    std::uint32_t data_segments{};
    std::uint32_t retransmissions{};
    std::uint32_t duplicates{};
    std::uint32_t out_of_order{};
    std::uint32_t keep_alives{};
    std::uint32_t flow_size = kNoSize;  ///< octets between SYN and FIN, modulo 2^32
    std::uint32_t handshake{};  ///< biflows: ns from the other direction's step of the handshake to
                                ///< this direction's answer; 0: unknown
    std::uint32_t sequence{};   ///< of the first segment
    std::uint16_t window{};     ///< of the first segment, as on the wire
    std::uint16_t zero_windows{};  ///< this and the rest: 65535 means 65535 or more
    std::uint16_t syn{};
    std::uint16_t fin{};
    std::uint16_t rst{};
    std::uint16_t overflow{};  ///< segments that could not be judged safely

    [[nodiscard]] bool has_size() const noexcept { return flow_size != kNoSize || duration != 0; }
};
static_assert(sizeof(TcpAnalysisGroup) == 64 && std::is_trivially_copyable_v<TcpAnalysisGroup>);

/// Group `extremes`.
struct ExtremesGroup {
    std::uint32_t minimum_ip_total_length = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t maximum_ip_total_length{};
    std::uint8_t minimum_ttl = std::numeric_limits<std::uint8_t>::max();
    std::uint8_t maximum_ttl{};
    std::array<std::uint8_t, 6> padding{};
};

/// Group `layer2`; addresses and tags are those of the record's first packet.
struct Layer2Group {
    std::uint64_t layer2_octets{};  ///< PacketView::wire_bytes
    std::array<std::byte, 6> destination_mac{};
    std::array<std::byte, 6> source_mac{};
    VlanId dot1q_vlan{};           ///< meaningful when vlan_tags >= 1
    VlanId dot1q_customer_vlan{};  ///< meaningful when vlan_tags >= 2
    std::uint8_t vlan_tags{};
    bool has_mac_addresses{};  ///< the link layer has them, and the input path carries them
    std::array<std::uint8_t, 6> padding{};
};

/// Group `tcp-counts`: packets with each flag.
struct TcpCountsGroup {
    std::uint32_t syn{};
    std::uint32_t fin{};
    std::uint32_t rst{};
    std::uint32_t psh{};
    std::uint32_t ack{};
    std::uint32_t urg{};
};

/// Group `flow-label`: that of the first packet.
struct FlowLabelGroup {
    std::uint32_t flow_label{};
    std::array<std::uint8_t, 4> padding{};
};

/// Group `mpls`: the first label stack of the record's first packet, from the top.
struct MplsGroup {
    static constexpr std::size_t kSections = 10;  ///< as many as there are elements, IE 70-79
    /// Label (20 bits), traffic class (3) and bottom-of-stack bit each, as on the wire; zeros below
    /// the bottom.
    std::array<std::array<std::byte, 3>, kSections> sections{};
    std::uint8_t labels{};  ///< entries in the stack, which may be more than the sections
    std::uint8_t padding{};
};

/// Group `tunnel`: the tunnel right around the record's packets. It has no padding that is not
/// zero, so that it is hashed and compared as bytes where it is part of the key.
struct TunnelGroup {
    IpAddress source{};  ///< outer addresses: network byte order; IPv4 in the first four bytes
    IpAddress destination{};
    std::uint32_t id{};         ///< VNI, GRE key, ERSPAN session id or TEID; 0 where there is none
    TunnelKind kind{};          ///< none: the packets are in no tunnel
    std::uint8_t ip_version{};  ///< 4 or 6, of the outer addresses
    std::array<std::uint8_t, 2> padding{};
    friend bool operator==(const TunnelGroup& a, const TunnelGroup& b) noexcept {
        return std::memcmp(&a, &b, sizeof a) == 0;
    }
};
static_assert(std::has_unique_object_representations_v<TunnelGroup>);

/// Group `fragments`.
struct FragmentsGroup {
    std::uint8_t fragment_flags{};  ///< of fragment_flag, OR over all packets
    std::array<std::uint8_t, 7> padding{};
};

/// Where each chosen group lies in a record. Offset 0 means: not chosen.
struct RecordLayout {
    std::uint16_t tcp_analysis_at{};
    std::uint16_t reverse_tcp_analysis_at{};  ///< chosen, and for biflows
    std::uint16_t reverse_at{};               ///< chosen for biflows
    std::uint16_t forward_span_at{};          ///< the same: the first direction's times, which only
                                              ///< the cache reads
    std::uint16_t extremes_at{};
    std::uint16_t layer2_at{};
    std::uint16_t tcp_counts_at{};
    std::uint16_t flow_label_at{};
    std::uint16_t mpls_at{};
    std::uint16_t tunnel_at{};
    std::uint16_t fragments_at{};
    std::uint16_t reverse_extremes_at{};  ///< this and the rest: chosen, and for biflows
    std::uint16_t reverse_layer2_at{};
    std::uint16_t reverse_tcp_counts_at{};
    std::uint16_t reverse_flow_label_at{};
    std::uint16_t reverse_mpls_at{};
    std::uint16_t reverse_tunnel_at{};
    std::uint16_t reverse_fragments_at{};
    std::uint16_t bytes =
        sizeof(FlowRecordCore);  ///< all groups included, before rounding up to a size

    [[nodiscard]] static constexpr RecordLayout of(
        const FieldGroups& groups, FlowDirection direction = FlowDirection::uniflow) noexcept {
        RecordLayout layout;
        const bool biflow = direction == FlowDirection::biflow;
        const auto place = [&layout](bool chosen, std::size_t size) {
            const std::uint16_t at = chosen ? layout.bytes : std::uint16_t{0};
            layout.bytes = static_cast<std::uint16_t>(layout.bytes + (chosen ? size : 0));
            return at;
        };
        layout.tcp_analysis_at = place(groups.tcp_analysis, sizeof(TcpAnalysisGroup));
        layout.reverse_tcp_analysis_at =
            place(biflow && groups.tcp_analysis, sizeof(TcpAnalysisGroup));
        layout.reverse_at = place(biflow, sizeof(ReverseGroup));
        layout.forward_span_at = place(biflow, sizeof(PacketSpan));
        layout.extremes_at = place(groups.extremes, sizeof(ExtremesGroup));
        layout.layer2_at = place(groups.layer2, sizeof(Layer2Group));
        layout.tcp_counts_at = place(groups.tcp_counts, sizeof(TcpCountsGroup));
        layout.flow_label_at = place(groups.flow_label, sizeof(FlowLabelGroup));
        layout.mpls_at = place(groups.mpls, sizeof(MplsGroup));
        layout.tunnel_at = place(groups.tunnel, sizeof(TunnelGroup));
        layout.fragments_at = place(groups.fragments, sizeof(FragmentsGroup));
        layout.reverse_extremes_at = place(biflow && groups.extremes, sizeof(ExtremesGroup));
        layout.reverse_layer2_at = place(biflow && groups.layer2, sizeof(Layer2Group));
        layout.reverse_tcp_counts_at = place(biflow && groups.tcp_counts, sizeof(TcpCountsGroup));
        layout.reverse_flow_label_at = place(biflow && groups.flow_label, sizeof(FlowLabelGroup));
        layout.reverse_mpls_at = place(biflow && groups.mpls, sizeof(MplsGroup));
        layout.reverse_tunnel_at = place(biflow && groups.tunnel, sizeof(TunnelGroup));
        layout.reverse_fragments_at = place(biflow && groups.fragments, sizeof(FragmentsGroup));
        return layout;
    }
    /// The groups of a biflow's other direction in the places of the first's. The result has no
    /// reverse groups.
    [[nodiscard]] constexpr RecordLayout reversed() const noexcept {
        return {.tcp_analysis_at = reverse_tcp_analysis_at,
                .extremes_at = reverse_extremes_at,
                .layer2_at = reverse_layer2_at,
                .tcp_counts_at = reverse_tcp_counts_at,
                .flow_label_at = reverse_flow_label_at,
                .mpls_at = reverse_mpls_at,
                .tunnel_at = reverse_tunnel_at,
                .fragments_at = reverse_fragments_at,
                .bytes = bytes};
    }
    /// Those that were chosen.
    [[nodiscard]] constexpr FieldGroups groups() const noexcept {
        return {.extremes = extremes_at != 0,
                .layer2 = layer2_at != 0,
                .tcp_counts = tcp_counts_at != 0,
                .flow_label = flow_label_at != 0,
                .mpls = mpls_at != 0,
                .tunnel = tunnel_at != 0,
                .fragments = fragments_at != 0,
                .tcp_analysis = tcp_analysis_at != 0};
    }
    friend bool operator==(const RecordLayout&, const RecordLayout&) = default;
};

/// A record of at most `kBytes` bytes, as cache and ring hold it.
template <std::size_t kBytes>
struct FlowRecord {
    static_assert(kBytes >= sizeof(FlowRecordCore) && kBytes % 8 == 0);
    FlowRecordCore core;
    std::array<std::byte, kBytes - sizeof(FlowRecordCore)> groups;

    /// The group of type `Group` that lies at `at`, an offset from the record's layout.
    template <class Group>
    [[nodiscard]] Group& group(std::uint16_t at) noexcept {
        return *reinterpret_cast<Group*>(reinterpret_cast<std::byte*>(this) + at);
    }
};
template <>
struct FlowRecord<sizeof(FlowRecordCore)> {
    FlowRecordCore core;
    template <class Group>
    [[nodiscard]] Group& group(std::uint16_t at) noexcept {
        return *reinterpret_cast<Group*>(reinterpret_cast<std::byte*>(this) + at);
    }
};
static_assert(sizeof(FlowRecord<80>) == 80 && sizeof(FlowRecord<144>) == 144);

/// The counts of a record in the ledger: packets and octets of both directions of a biflow.
///
/// @param record  of the layout, aligned to 8
[[nodiscard]] inline RecordTally tally_of(const std::byte* record,
                                          const RecordLayout& layout) noexcept {
    RecordTally tally = reinterpret_cast<const FlowRecordCore*>(record)->tally();
    if (layout.reverse_at != 0) {
        const auto& reverse = *reinterpret_cast<const ReverseGroup*>(record + layout.reverse_at);
        tally.packets += reverse.packets;
        tally.octets += reverse.octets;
    }
    return tally;
}
template <std::size_t kBytes>
[[nodiscard]] RecordTally tally_of(const FlowRecord<kBytes>& record,
                                   const RecordLayout& layout) noexcept {
    return tally_of(reinterpret_cast<const std::byte*>(&record), layout);
}

/// The largest packet time of a record, in either direction of a biflow.
///
/// @param record  of the layout, aligned to 8
[[nodiscard]] inline Timestamp latest_packet(const std::byte* record,
                                             const RecordLayout& layout) noexcept {
    const Timestamp end = reinterpret_cast<const FlowRecordCore*>(record)->end;
    if (layout.reverse_at == 0) {
        return end;
    }
    const auto& reverse = *reinterpret_cast<const ReverseGroup*>(record + layout.reverse_at);
    return reverse.packets != 0 ? std::max(end, reverse.end) : end;
}

/// The sizes that are instantiated; a layout takes the first one that holds it. With a stride
/// between entries that is known only at run time, packets took 1.11 times as long at 16,384 flows,
/// and 1.05 times at a million.
inline constexpr std::array<std::size_t, 8> kRecordSizes{
    80,   // uniflow without groups
    144,  // biflow without groups, or uniflow with tcp-analysis
    152,  // uniflow with the common groups (extremes, layer2, tcp-counts)
    216,  //   and with tcp-analysis
    272,  // biflow with tcp-analysis
    280,  // biflow with the common groups
    456,  // biflow with all but tcp-analysis
    584,  // biflow with all
};
static_assert(RecordLayout::of(kEveryGroup, FlowDirection::biflow).bytes == kRecordSizes.back());

[[nodiscard]] constexpr std::size_t record_size(const RecordLayout& layout) noexcept {
    for (const std::size_t size : kRecordSizes) {
        if (layout.bytes <= size) {
            return size;
        }
    }
    return kRecordSizes.back();
}

}  // namespace tributary
