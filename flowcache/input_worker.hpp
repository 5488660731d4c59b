// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <utility>

#include "flowcache/cache_counters.hpp"
#include "flowcache/flow_cache.hpp"
#include "flowcache/keyed_packet.hpp"
#include "flowcache/record_stream.hpp"
#include "parsers/packet.hpp"
#include "parsers/parse_packet.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

/// What one input worker counts beside its cache; `ignored` is indexed by ParseStatus. Written by
/// the worker's thread, read by anyone. received = ignored + filtered + the cache's packets.
struct InputCounters {
    Counter received;
    Counter filtered;
    std::array<Counter, kParseStatusCount> ignored;  ///< [ok] stays 0
    CacheCounters cache;
};

/// A worker's clock for other threads. No record that they get from it ends later than what they
/// read here.
class PublishedClock {
public:
    /// @thread  the worker, before it hands on what came with `now`
    void publish(Timestamp now) noexcept {
        nanoseconds_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    }
    /// @thread  any. The ring's release and acquire order this store before the records that follow
    /// it.
    [[nodiscard]] Timestamp read() const noexcept {
        return Timestamp{Timestamp::duration{nanoseconds_.load(std::memory_order_relaxed)}};
    }

private:
    std::atomic<Timestamp::rep> nanoseconds_{0};
};

/// The packet path of one queue: from its source through its private flow cache to its sink. One
/// thread owns it and calls step() again and again; nothing in it waits, allocates or throws,
/// unless the source or sink does.
template <PacketSource Source, class Cache, RecordSink<typename Cache::Record> Sink>
class InputWorker {
public:
    /// All of them outlive the worker.
    InputWorker(Source& source, Cache& cache, Sink& sink, InputCounters& counters,
                PublishedClock& clock) noexcept
        : source_(source), cache_(cache), sink_(sink), counters_(counters), clock_(clock) {}

    /// One burst, start to finish.
    ///
    /// @return  packets received; 0 lets the caller back off
    std::size_t step() noexcept {
        const Burst burst = source_.receive();
        clock_.publish(burst.now);
        cache_.account(parse(burst.packets), sink_);
        source_.release();
        cache_.expire_some(burst.now, kExpiryBudget, sink_);
        return burst.packets.size();
    }

    /// Ends all records, after the last step(). Call it until it returns true.
    [[nodiscard]] bool drain() noexcept { return cache_.end_all(clock_.read(), sink_); }

private:
    /// Entries that expiry may visit per step. Twice a burst: even if every packet opens a flow,
    /// they are ended faster than they come.
    static constexpr std::size_t kExpiryBudget = 2 * kBurstPackets;

    /// Parses a burst, keys and hashes what is to be metered and counts the rest by its reason.
    [[nodiscard]] std::span<const KeyedPacket> parse(std::span<const PacketView> packets) noexcept {
        std::size_t metered = 0;
        for (const PacketView& packet : packets) {
            PacketFields& fields = fields_[metered];
            const ParseStatus status = parse_packet(packet, fields);
            if (status != ParseStatus::ok) {
                counters_.ignored[static_cast<std::size_t>(status)].add();
                continue;
            }
            keyed_[metered++] = {
                .key = make_key(fields, packet.ingress_interface, cache_.options().vlan_in_key),
                .packet = &packet,
                .fields = &fields};
        }
        for (KeyedPacket& keyed : std::span(keyed_).first(metered)) {
            keyed.hash = cache_.hash(keyed.key);
        }
        counters_.received.add(packets.size());
        return std::span(keyed_).first(metered);
    }

    Source& source_;
    Cache& cache_;
    Sink& sink_;
    InputCounters& counters_;
    PublishedClock& clock_;
    std::array<PacketFields, kBurstPackets> fields_;
    std::array<KeyedPacket, kBurstPackets> keyed_;
};

}  // namespace tributary
