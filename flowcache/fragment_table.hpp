// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#include "flowcache/flow_hasher.hpp"
#include "flowcache/input_path.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/units.hpp"

namespace tributary {

// Which ports the fragments of a packet have that do not carry them. Only the first one does; it
// leaves them here for those that come behind it.
//
//   hash of the identity -> one set of kWays entries -> the entry whose whole identity is equal
//
// The size is fixed, and a packet looks at one set, so a flood of fragments costs each of them the
// same few cache lines and no more memory; what it can do is displace live entries, the oldest of
// their set, which is counted. The hash is keyed: nobody outside can aim at a set.

/// What the fragments of one packet have in common.
///
/// @source  RFC 791 §3.2 (IPv4: with the protocol); RFC 8200 §4.5 (IPv6: without, since each
///          fragment names the header behind its own fragment header)
struct FragmentIdentity {
    IpAddress source{};
    IpAddress destination{};
    std::uint32_t id{};
    std::uint8_t ip_version{};  ///< 4 or 6; 0 in an entry that is free
    std::uint8_t protocol{};    ///< IPv4 only
    std::array<std::uint8_t, 2> padding{};

    [[nodiscard]] static FragmentIdentity of(const PacketFields& fields) noexcept {
        return {.source = fields.source,
                .destination = fields.destination,
                .id = fields.fragment_id,
                .ip_version = fields.ip_version,
                .protocol = fields.ip_version == 4 ? fields.protocol : std::uint8_t{}};
    }
    friend bool operator==(const FragmentIdentity& a, const FragmentIdentity& b) noexcept {
        return std::memcmp(&a, &b, sizeof a) == 0;
    }
};
static_assert(std::has_unique_object_representations_v<FragmentIdentity>);

/// The ports of the fragmented packets of one queue.
///
/// @thread  one
class FragmentTable {
public:
    static constexpr std::size_t kSets = 8192;
    static constexpr std::size_t kWays = 8;

    /// @param timeout  packet time for which a first fragment's ports are good, 0: until a newer
    ///                 one needs the place
    /// @errors  std::bad_alloc; 4 MiB are allocated here and nothing afterwards
    FragmentTable(FlowHasher hasher, std::chrono::seconds timeout)
        : hasher_(hasher), timeout_(timeout), sets_(std::make_unique<Sets>()) {}

    /// Keeps the ports of a first fragment, which replaces an older one of the same identity;
    /// writes those that are kept into a later one. Ports of an entry that a packet without ports
    /// left, such as a fragmented ICMP message, are 0.
    ///
    /// @param fields   of a fragment; the ports of a later one may change
    /// @param seen_at  the packet's own time
    /// @cost           no allocation; one set, eight cache lines in a row
    void track(PacketFields& fields, Timestamp seen_at, FragmentCounters& counters) noexcept {
        const FragmentIdentity identity = FragmentIdentity::of(fields);
        const std::span<Entry> set = (*sets_)[hasher_(identity) % kSets];
        const auto found = std::ranges::find(set, identity, &Entry::identity);
        if (!fields.is_later_fragment) {
            counters.first.add();
            Entry& entry = found != set.end() ? *found : make_room(set, seen_at, counters);
            const bool has_ports = carries_ports(fields.protocol);
            entry = {.identity = identity,
                     .source_port = has_ports ? fields.source_port : L4Port{},
                     .destination_port = has_ports ? fields.destination_port : L4Port{},
                     .seen_at = seen_at};
            return;
        }
        counters.later.add();
        if (found == set.end() || is_old(*found, seen_at)) {
            counters.without_first.add();
            return;
        }
        fields.source_port = found->source_port;
        fields.destination_port = found->destination_port;
    }

private:
    struct alignas(64) Entry {
        FragmentIdentity identity;
        L4Port source_port{};
        L4Port destination_port{};
        Timestamp seen_at{};  ///< of the first fragment
    };
    static_assert(sizeof(Entry) == 64);
    using Sets = std::array<std::array<Entry, kWays>, kSets>;

    /// For ICMP the fields hold its type and code where ports would be, which are of the first
    /// fragment alone.
    [[nodiscard]] static bool carries_ports(std::uint8_t protocol) noexcept {
        return protocol != ip_protocol::kIcmp && protocol != ip_protocol::kIcmpV6;
    }
    /// A fragment exactly at the end of the timeout still finds its entry.
    [[nodiscard]] bool is_old(const Entry& entry, Timestamp now) const noexcept {
        return timeout_ != std::chrono::seconds::zero() && now - entry.seen_at > timeout_;
    }

    /// An entry that is free or old, else the oldest.
    [[nodiscard]] Entry& make_room(std::span<Entry> set, Timestamp now,
                                   FragmentCounters& counters) const noexcept {
        for (Entry& entry : set) {
            if (entry.identity.ip_version == 0 || is_old(entry, now)) {
                return entry;
            }
        }
        counters.forgotten.add();
        return *std::ranges::min_element(set, {}, &Entry::seen_at);
    }

    FlowHasher hasher_;
    std::chrono::seconds timeout_;
    std::unique_ptr<Sets> sets_;
};

}  // namespace tributary
