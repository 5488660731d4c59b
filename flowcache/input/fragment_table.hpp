// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "flowcache/input/input_counters.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/units.hpp"

namespace tributary {

// The ports of a packet's later fragments. Only the first fragment carries ports; they are kept
// here for the fragments behind it.
//
//   hash of the identity -> one set of kWays entries -> the entry whose whole identity is equal
//
// A packet looks at one set, so a flood of fragments costs each of them the same few cache lines.
// The hash is keyed, so that a sender cannot aim at a set.
//
// When a set is full, the table doubles, up to the number of sets that it is given. Beyond that, a
// new entry displaces the oldest of its set, which is counted. A live table never doubles: its
// memory is bounded from the start, and no packet waits for others to be moved. An offline table
// grows far, because which entry is displaced depends on the hash's seed and on how packets are
// spread over queues, and the same capture is to give the same records whatever these are.

/// What the fragments of one packet have in common.
///
/// @source  RFC 791 §3.2 (IPv4: with the protocol); RFC 8200 §4.5 (IPv6: without, since each
///          fragment names the header behind its own fragment header). The VLAN is no part of it,
///          although it parts flows: RFC 791 has none, and a packet is reassembled by these alone
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
    static constexpr std::size_t kWays = 8;
    /// The first size of a table, and its only size live: 65536 entries, 3.5 MiB.
    static constexpr std::size_t kFirstSets = std::size_t{1} << 13U;
    /// The largest size of a table offline: 2^22 entries, 224 MiB, and half of that again while it
    /// doubles for the last time. Sets fill unevenly: the first entry is displaced at some 500 000.
    static constexpr std::size_t kMostSets = std::size_t{1} << 19U;

    /// @param timeout    time for which a first fragment's ports are good, 0: until a newer one
    ///                   needs the place
    /// @param most_sets  how far the table may grow; a power of two from kFirstSets on
    /// @errors           std::bad_alloc: no room for kFirstSets
    FragmentTable(FlowHasher hasher, std::chrono::seconds timeout,
                  std::size_t most_sets = kFirstSets)
        : hasher_(hasher), timeout_(timeout), most_sets_(most_sets), sets_(allocate(kFirstSets)) {
        if (sets_ == nullptr) {
            throw std::bad_alloc();
        }
    }

    /// Keeps the ports of a first fragment, in place of an older one of the same identity. Writes
    /// kept ports into a later fragment. A first fragment without ports, such as that of an ICMP
    /// message, leaves ports 0.
    ///
    /// @param fields   of a fragment; the ports of a later one may change
    /// @param seen_at  the packet's own time
    /// @param clock    the source's clock: the timeout is tested against it, because it never goes
    ///                 back with a late packet. So no packet can need an entry whose place was
    ///                 taken
    /// @cost           one set, eight cache lines in a row; no allocation while most_sets is
    ///                 kFirstSets. A table that grows moves all its entries each time it doubles:
    ///                 six times at most, some 0.1 s in all
    void track(PacketFields& fields, Timestamp seen_at, Timestamp clock,
               FragmentCounters& counters) noexcept {
        const FragmentIdentity identity = FragmentIdentity::of(fields);
        const std::span<Entry> set = set_of(identity);
        const auto found = std::ranges::find(set, identity, &Entry::identity);
        if (!fields.is_later_fragment) {
            counters.first.add();
            Entry& entry = found != set.end() ? *found : make_room(identity, clock, counters);
            const bool has_ports = carries_ports(fields.protocol);
            entry = {.identity = identity,
                     .source_port = has_ports ? fields.source_port : L4Port{},
                     .destination_port = has_ports ? fields.destination_port : L4Port{},
                     .seen_at = seen_at};
            return;
        }
        counters.later.add();
        if (found == set.end() || is_old(*found, clock)) {
            counters.without_first.add();
            return;
        }
        fields.source_port = found->source_port;
        fields.destination_port = found->destination_port;
    }

    /// Sets that the table has now.
    [[nodiscard]] std::size_t sets() const noexcept { return set_count_; }

private:
    struct Entry {
        FragmentIdentity identity;
        L4Port source_port{};
        L4Port destination_port{};
        Timestamp seen_at{};  ///< of the first fragment
    };
    static_assert(sizeof(Entry) == 56);
    using Set = std::array<Entry, kWays>;
    static_assert(std::is_trivially_copyable_v<Set>);
    struct Freer {
        // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): it came from calloc
        void operator()(Set* sets) const noexcept { std::free(sets); }
    };
    using Sets = std::unique_ptr<Set[], Freer>;

    /// Zero octets are free entries. calloc returns so many of them as untouched pages, which must
    /// stay untouched here: the main thread makes the table, and the first touch decides on which
    /// NUMA node a page lies. That must be the input thread's.
    ///
    /// @return  nullptr: no memory
    [[nodiscard]] static Sets allocate(std::size_t sets) noexcept {
        // NOLINTNEXTLINE(cppcoreguidelines-no-malloc): new would write to every page
        return Sets(static_cast<Set*>(std::calloc(sets, sizeof(Set))));
    }

    /// For ICMP the fields hold its type and code in place of ports. These are of the first
    /// fragment alone.
    [[nodiscard]] static bool carries_ports(std::uint8_t protocol) noexcept {
        return protocol != ip_protocol::kIcmp && protocol != ip_protocol::kIcmpV6;
    }
    /// A fragment exactly at the end of the timeout still finds its entry. An entry from after
    /// `clock` was made before the clock went back.
    [[nodiscard]] bool is_old(const Entry& entry, Timestamp clock) const noexcept {
        return entry.seen_at > clock ||
               (timeout_ != std::chrono::seconds::zero() && clock - entry.seen_at > timeout_);
    }
    [[nodiscard]] Set& set_of(const FragmentIdentity& identity) const noexcept {
        return sets_[hasher_(identity) & (set_count_ - 1)];
    }

    /// An entry that is free or old. If there is none, the table doubles where it may; else the
    /// oldest.
    [[nodiscard]] Entry& make_room(const FragmentIdentity& identity, Timestamp clock,
                                   FragmentCounters& counters) noexcept {
        const auto is_usable = [&](const Entry& entry) {
            return is_free(entry) || is_old(entry, clock);
        };
        do {
            const std::span<Entry> set = set_of(identity);
            const auto usable = std::ranges::find_if(set, is_usable);
            if (usable != set.end()) {
                return *usable;
            }
        } while (try_double());
        counters.forgotten.add();
        return *std::ranges::min_element(set_of(identity), {}, &Entry::seen_at);
    }
    [[nodiscard]] static bool is_free(const Entry& entry) noexcept {
        return entry.identity.ip_version == 0;
    }

    /// @return  false: the table has all the sets that it may have, or there is no more memory
    [[nodiscard]] bool try_double() noexcept {
        if (set_count_ >= most_sets_) {
            return false;
        }
        Sets larger = allocate(2 * set_count_);
        if (larger == nullptr) {
            return false;
        }
        const Sets smaller = std::exchange(sets_, std::move(larger));
        const std::size_t moved_sets = std::exchange(set_count_, 2 * set_count_);
        for (const Set& set : std::span(smaller.get(), moved_sets)) {
            std::ranges::for_each(set, [this](const Entry& entry) { move_in(entry); });
        }
        return true;
    }
    /// All entries of one set of the larger table come from one set of the smaller: there is room.
    void move_in(const Entry& entry) noexcept {
        if (!is_free(entry)) {
            *std::ranges::find_if(set_of(entry.identity), is_free) = entry;
        }
    }

    FlowHasher hasher_;
    std::chrono::seconds timeout_;
    std::size_t most_sets_;
    std::size_t set_count_ = kFirstSets;  ///< a power of two
    Sets sets_;
};

}  // namespace tributary
