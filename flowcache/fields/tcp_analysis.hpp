// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "flowcache/fields/field_group.hpp"

namespace tributary {

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

    enum Variant : std::uint8_t {
        not_tcp,
        plain,      ///< all but size and duration
        with_size,  ///< and these, in a biflow of one direction at least
    };
    static constexpr std::uint8_t kVariants = 3;
    [[nodiscard]] std::uint8_t variant(std::uint8_t protocol) const noexcept {
        if (protocol != ip_protocol::kTcp) {
            return not_tcp;
        }
        return has_size() ? with_size : plain;
    }
    [[nodiscard]] static constexpr std::uint8_t variant_of_both(std::uint8_t there,
                                                                std::uint8_t back) noexcept {
        return std::max(there, back);
    }
};
static_assert(sizeof(TcpAnalysisGroup) == 64 && std::is_trivially_copyable_v<TcpAnalysisGroup>);

/// An element of tributary's own, in records of TCP.
[[nodiscard]] constexpr FieldElement tcp_element(const char* name, std::uint16_t number,
                                                 Encoding encoding, std::size_t offset,
                                                 const char* meaning) noexcept {
    return limited_to(in_variants(TcpAnalysisGroup::plain, TcpAnalysisGroup::with_size),
                      tributary_element(name, number, encoding, offset, meaning));
}
/// The same, which listings show.
[[nodiscard]] constexpr FieldElement listed(const char* measure, const char* column,
                                            FieldElement element) noexcept {
    element.measure = measure;
    element.column = column;
    return element;
}
[[nodiscard]] constexpr FieldElement with_size(FieldElement element) noexcept {
    return limited_to(in_variants(TcpAnalysisGroup::with_size), element);
}
[[nodiscard]] constexpr FieldElement of_iana(FieldElement element) noexcept {
    element.owner = ElementOwner::iana;
    return element;
}
[[nodiscard]] constexpr FieldElement of_biflows(FieldElement element) noexcept {
    element.condition = Condition::biflow;
    return element;
}
/// One of IANA's that comes with the group, unless group tcp-counts has it.
[[nodiscard]] constexpr FieldElement of_each_record(FieldElement element) noexcept {
    element = of_iana(element);
    element.may_be_chosen = false;
    return element;
}
[[nodiscard]] constexpr FieldElement of_ntop(FieldElement element, const char* reverse_name,
                                             std::uint16_t reverse_number) noexcept {
    element.owner = ElementOwner::ntop;
    element.may_be_chosen = false;
    element.reverse_name = reverse_name;
    element.reverse_number = reverse_number;
    return element;
}

inline constexpr std::array kTcpAnalysisElements = [] {
    using T = TcpAnalysisGroup;
    using E = Encoding;
    constexpr const char* kFlag = "segments with the flag, unless `tcp-counts` has it";
    return std::array{
        listed("segments", "Segments",
               tcp_element("segments", 7, E::unsigned4, offsetof(T, segments), "segments")),
        tcp_element("dataSegments", 8, E::unsigned4, offsetof(T, data_segments), "those with data"),
        listed("retransmissions", "Retrans",
               tcp_element("retransmissions", 9, E::unsigned4, offsetof(T, retransmissions),
                           "those with octets that were seen before")),
        tcp_element("retransmittedOctets", 10, E::unsigned8, offsetof(T, retransmitted_octets),
                    "such octets"),
        listed("duplicates", "Dups",
               tcp_element("duplicates", 11, E::unsigned4, offsetof(T, duplicates),
                           "copies of segments")),
        listed("out-of-order", "OutOfOrder",
               tcp_element("outOfOrder", 12, E::unsigned4, offsetof(T, out_of_order),
                           "late segments")),
        listed("zero-windows", "ZeroWindow",
               tcp_element("zeroWindow", 13, E::unsigned2, offsetof(T, zero_windows),
                           "segments with window 0")),
        tcp_element("keepAlives", 14, E::unsigned4, offsetof(T, keep_alives),
                    "keep-alives and window probes"),
        tcp_element("tcpAnalysisOverflow", 17, E::unsigned2, offsetof(T, overflow),
                    "segments that could not be judged"),
        with_size(tcp_element("flowSize", 15, E::unsigned4, offsetof(T, flow_size),
                              "octets from SYN to FIN, where they are known")),
        with_size(tcp_element("flowDurationNanoseconds", 16, E::unsigned8, offsetof(T, duration),
                              "time from SYN to FIN, where it is known")),
        of_iana(tcp_element("tcpSequenceNumber", 184, E::unsigned4, offsetof(T, sequence),
                            "of the first segment")),
        of_iana(tcp_element("tcpWindowSize", 186, E::unsigned2, offsetof(T, window),
                            "of the first segment")),
        of_each_record(tcp_element("tcpSynTotalCount", 218, E::unsigned2, offsetof(T, syn), kFlag)),
        of_each_record(tcp_element("tcpFinTotalCount", 219, E::unsigned2, offsetof(T, fin), kFlag)),
        of_each_record(tcp_element("tcpRstTotalCount", 220, E::unsigned2, offsetof(T, rst), kFlag)),
        of_biflows(tcp_element("tcpHandshakeNanoseconds", 18, E::unsigned4, offsetof(T, handshake),
                               "biflows only: time of a step of the handshake")),
        of_ntop(tcp_element("RETRANSMITTED_IN_PKTS", 109, E::unsigned4,
                            offsetof(T, retransmissions), "`retransmissions`"),
                "RETRANSMITTED_OUT_PKTS", 110),
        of_ntop(tcp_element("OOORDER_IN_PKTS", 111, E::unsigned4, offsetof(T, out_of_order),
                            "`outOfOrder`"),
                "OOORDER_OUT_PKTS", 112),
    };
}();

template <>
inline constexpr FieldGroup kFieldGroup<TcpAnalysisGroup> =
    field_group_of<TcpAnalysisGroup>({.name = "tcp-analysis",
                                      .elements = kTcpAnalysisElements,
                                      .chosen_by = ChosenBy::tcp_analysis,
                                      .measured_by = "segments",
                                      .has_state = true});

}  // namespace tributary
