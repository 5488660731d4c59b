// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "flowcache/keyed_burst.hpp"
#include "flowcache/keyed_packet.hpp"
#include "parsers/packet.hpp"
#include "perf/support/random.hpp"

namespace tributary::perf {

/// Parsed IPv4/UDP packets of numbered flows, with their keys.
class MadeBurst {
public:
    MadeBurst() {
        for (std::size_t i = 0; i < kBurstPackets; ++i) {
            fields_[i] = {
                .protocol = ip_protocol::kUdp, .ip_version = 4, .ip_bytes = 46, .ttl = 64};
            fields_[i].destination = {std::byte{192}, std::byte{0}, std::byte{2}, std::byte{1}};
            fields_[i].source_port = {1000};
            fields_[i].destination_port = {53};
            views_[i].ingress_interface = {1};
            keyed_[i].packet = &views_[i];
            keyed_[i].fields = &fields_[i];
        }
    }

    /// @param next_flow  gives the number of each packet's flow
    /// @return           valid until the next call; without hashes
    template <class NextFlow>
    [[nodiscard]] std::span<const KeyedPacket> make(NextFlow next_flow, Timestamp now) noexcept {
        for (std::size_t i = 0; i < kBurstPackets; ++i) {
            describe(i, next_flow(), now);
            key_packet(keyed_[i], FlowDirection::uniflow, WholeKeyMasks(true));
        }
        return keyed_;
    }
    /// The first `count` packets of such a burst, ready for a cache, as from an input path.
    ///
    /// @param keyed  of the cache
    template <class NextFlow>
    [[nodiscard]] std::span<KeyedPacket> make_for(KeyedBurst& keyed, NextFlow next_flow,
                                                  Timestamp now,
                                                  std::size_t count = kBurstPackets) noexcept {
        keyed.clear();
        for (std::size_t i = 0; i < count; ++i) {
            describe(i, next_flow(), now);
            keyed.add(views_[i], fields_[i]);
        }
        return keyed.finish();
    }

private:
    void describe(std::size_t i, std::uint32_t flow, Timestamp now) noexcept {
        const std::uint32_t address = scrambled(flow);
        std::memcpy(fields_[i].source.data(), &address, sizeof address);
        views_[i].seen_at = views_[i].clock = now;
    }

    // No arrays: g++ 12 initialises each element separately, and takes minutes to compile it.
    std::vector<PacketFields> fields_ = std::vector<PacketFields>(kBurstPackets);
    std::vector<PacketView> views_ = std::vector<PacketView>(kBurstPackets);
    std::vector<KeyedPacket> keyed_ = std::vector<KeyedPacket>(kBurstPackets);
};

}  // namespace tributary::perf
