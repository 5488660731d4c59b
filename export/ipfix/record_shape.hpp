// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// The content of group tunnel in a record: outer addresses of one IP version, and for VXLAN a
/// segment id.
enum class TunnelShape : std::uint8_t {
    none,
    over_ipv4,
    over_ipv6,
    vxlan_over_ipv4,
    vxlan_over_ipv6,
    count,
};

/// The content of group tcp-analysis in a record.
enum class TcpShape : std::uint8_t {
    none,       ///< it is not of TCP
    plain,      ///< all but size and duration
    with_size,  ///< and these, in a biflow of one direction at least
    count,
};

/// The properties of a record that select its template, beside the layout that all records share. A
/// record is written without the fields that would be meaningless in it, rather than with zeros.
struct RecordShape {
    bool ipv6{};
    bool icmp{};                ///< ICMP over IPv4 or ICMPv6 over IPv6
    bool vlan{};                ///< the key has a VLAN id
    std::uint8_t dot1q_tags{};  ///< group layer2: 0, 1, or 2 for two and more; otherwise 0
    bool no_mac_addresses{};    ///< group layer2: the link layer has none; otherwise false
    bool mpls_labels{};         ///< group mpls: there is a label stack; otherwise false
    TunnelShape tunnel{};       ///< group tunnel; otherwise none
    TcpShape tcp{};             ///< group tcp-analysis; otherwise none
    /// Biflows: 0 where no packet of the reverse direction was seen, else 1 + the TunnelShape of
    /// that direction. Its other fields are those that the first direction has: tags, label stack
    /// and MAC addresses are in both as soon as they are in one, zeros where there are none.
    std::uint8_t reverse{};

    [[nodiscard]] bool has_reverse() const noexcept { return reverse != 0; }
    [[nodiscard]] TunnelShape reverse_tunnel() const noexcept {
        return static_cast<TunnelShape>(has_reverse() ? reverse - 1 : 0);
    }

    /// The possible shapes under `layout` have the indexes 0 .. shape_count(layout) - 1. The first
    /// kPlainShapes are the same in every layout: MAC addresses if they were chosen, and no dot1q
    /// tag, label, tunnel, analysed TCP or reverse direction.
    [[nodiscard]] std::size_t index(const RecordLayout& layout) const noexcept;
    [[nodiscard]] static RecordShape at(std::size_t index, const RecordLayout& layout) noexcept;
    /// @param record  a record of `layout`, aligned to 8
    [[nodiscard]] static RecordShape of(const std::byte* record,
                                        const RecordLayout& layout) noexcept;
};

inline constexpr std::size_t kPlainShapes = 8;

/// The index of a record's shape, which each sent record needs: in one call the shape never lies in
/// memory, which halves the time.
///
/// @param record  a record of `layout`, aligned to 8
[[nodiscard]] std::size_t shape_index(const std::byte* record, const RecordLayout& layout) noexcept;

[[nodiscard]] std::size_t shape_count(const RecordLayout& layout) noexcept;

}  // namespace tributary
