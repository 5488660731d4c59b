// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "flowcache/fields/field_group.hpp"

namespace tributary {

/// Group `tcp-counts`: packets with each flag.
struct TcpCountsGroup {
    std::uint32_t syn{};
    std::uint32_t fin{};
    std::uint32_t rst{};
    std::uint32_t psh{};
    std::uint32_t ack{};
    std::uint32_t urg{};

    void add(const PacketView& /*packet*/, const PacketFields& fields) noexcept {
        const auto has = [&fields](std::uint16_t flag) {
            return static_cast<std::uint32_t>((fields.tcp_control_bits & flag) != 0);
        };
        syn += has(tcp_flag::kSyn);
        fin += has(tcp_flag::kFin);
        rst += has(tcp_flag::kRst);
        psh += has(tcp_flag::kPsh);
        ack += has(tcp_flag::kAck);
        urg += has(tcp_flag::kUrg);
    }
};

[[nodiscard]] constexpr FieldElement tcp_count(const char* name, std::uint16_t number,
                                               std::size_t offset) noexcept {
    return {name, number, Encoding::unsigned4, static_cast<std::uint16_t>(offset),
            "packets with the flag"};
}
inline constexpr std::array kTcpCountsElements{
    tcp_count("tcpSynTotalCount", 218, offsetof(TcpCountsGroup, syn)),
    tcp_count("tcpFinTotalCount", 219, offsetof(TcpCountsGroup, fin)),
    tcp_count("tcpRstTotalCount", 220, offsetof(TcpCountsGroup, rst)),
    tcp_count("tcpPshTotalCount", 221, offsetof(TcpCountsGroup, psh)),
    tcp_count("tcpAckTotalCount", 222, offsetof(TcpCountsGroup, ack)),
    tcp_count("tcpUrgTotalCount", 223, offsetof(TcpCountsGroup, urg)),
};

template <>
inline constexpr FieldGroup kFieldGroup<TcpCountsGroup> =
    field_group_of<TcpCountsGroup>({.name = "tcp-counts", .elements = kTcpCountsElements});

}  // namespace tributary
