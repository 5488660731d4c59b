// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "flowcache/flow_cache.hpp"

namespace tributary::test {

/// Takes records while there is room.
template <class Record>
struct RecordList {
    std::size_t room = std::numeric_limits<std::size_t>::max();
    std::vector<Record> records;

    bool try_push(const Record& record) noexcept {
        if (records.size() >= room) {
            return false;
        }
        records.push_back(record);
        return true;
    }
};

inline Timestamp at_ms(std::int64_t milliseconds) {
    return Timestamp{std::chrono::milliseconds{milliseconds}};
}

/// A packet of the IPv4 UDP flow number `flow`.
inline PacketFields flow_packet(std::uint32_t flow, std::uint32_t ip_bytes = 100) {
    PacketFields fields{
        .protocol = ip_protocol::kUdp, .ip_version = 4, .ip_bytes = ip_bytes, .ttl = 64};
    for (std::size_t byte = 0; byte < 4; ++byte) {
        fields.source[byte] = static_cast<std::byte>(flow >> (8 * byte));
    }
    fields.destination_port = L4Port{53};
    return fields;
}

/// A parsed packet with the time `time`, at the clock `clock`.
struct TimedPacket {
    PacketFields fields;
    Timestamp time;
    Timestamp clock;
};

/// A cache with its memory, counters and sink, fed with parsed packets one at a time or by bursts.
///
/// @tparam HookedGroups  as in FlowCache
template <std::size_t kRecordBytes = sizeof(FlowRecordCore),
          class HookedGroups = StandardHookedGroups>
struct CacheHarness {
    using Cache = FlowCache<kRecordBytes, HookedGroups>;

    explicit CacheHarness(const FlowCacheOptions& options, const RecordLayout& layout = {})
        : memory(Cache::bytes_needed(options)),
          cache(options, layout, FlowHasher(7), memory, counters) {}

    /// Accounts one packet with the time `time`, at the clock `clock`.
    void packet(const PacketFields& fields, Timestamp time, Timestamp clock,
                std::uint32_t wire_bytes = 0) {
        const PacketView view{.wire_bytes = wire_bytes,
                              .ingress_interface = InterfaceIndex{1},
                              .seen_at = time,
                              .clock = clock};
        cache.account(keyed(view, fields), sink);
    }
    void packet(const PacketFields& fields, Timestamp time) { packet(fields, time, time); }

    /// Accounts one burst: the candidate of each packet is made before any of them is accounted.
    ///
    /// @param all  at most kBurstPackets
    void packets(std::span<const TimedPacket> all) {
        std::array<PacketView, kBurstPackets> views{};
        burst.clear();
        for (std::size_t i = 0; i < all.size(); ++i) {
            views[i] = {.ingress_interface = InterfaceIndex{1},
                        .seen_at = all[i].time,
                        .clock = all[i].clock};
            burst.add(views[i], all[i].fields);
        }
        cache.account(burst.finish(), sink);
    }
    /// Accounts packets in bursts of changing lengths, 1 to `most`.
    ///
    /// @param random       a generator
    /// @param after_burst  is called with the clock of each burst's last packet
    template <class Random, class AfterBurst>
    void packets_in_bursts(std::span<const TimedPacket> all, std::size_t most, Random& random,
                           AfterBurst after_burst) {
        while (!all.empty()) {
            const std::size_t count = std::min<std::size_t>(all.size(), 1 + random() % most);
            packets(all.first(count));
            after_burst(all[count - 1].clock);
            all = all.subspan(count);
        }
    }

    /// The flow of a packet with these fields.
    [[nodiscard]] std::optional<FlowHandle> handle_of(const PacketFields& fields) {
        const PacketView view{.ingress_interface = InterfaceIndex{1}};
        return cache.handle_of(keyed(view, fields).front());
    }

    /// Expires all flows that are due at `now`.
    void expire(Timestamp now) {
        for (int step = 0; step < 1000; ++step) {
            cache.expire_some(now, 1000, sink);
        }
    }

    CacheCounters counters;
    std::vector<std::byte> memory;
    RecordList<typename Cache::Record> sink;
    Cache cache;
    KeyedBurst burst = cache.burst();

private:
    [[nodiscard]] std::span<KeyedPacket> keyed(const PacketView& view, const PacketFields& fields) {
        burst.clear();
        burst.add(view, fields);
        return burst.finish();
    }
};

/// A burst for input paths without a cache.
inline KeyedBurst& burst_of_no_use() {
    static CacheHarness<> harness({.max_flows = 1});
    return harness.burst;
}

}  // namespace tributary::test
