// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "flowcache/keyed_packet.hpp"
#include "parsers/packet.hpp"
#include "perf/support/random.hpp"

namespace tributary::perf {

/// Parsed IPv4/UDP packets of flows that are told by number, ready for a cache but for their
/// hashes: as InputWorker makes them.
class KeyedBurst {
public:
    KeyedBurst() {
        for (std::size_t i = 0; i < kBurstPackets; ++i) {
            fields_[i] = {
                .ip_bytes = 46, .ip_version = 4, .protocol = ip_protocol::kUdp, .ttl = 64};
            fields_[i].destination = {std::byte{192}, std::byte{0}, std::byte{2}, std::byte{1}};
            fields_[i].source_port = {1000};
            fields_[i].destination_port = {53};
            views_[i].ingress_interface = {1};
        }
    }

    /// @param next_flow  gives the number of each packet's flow
    /// @return           good until the next call; the hashes are for the caller to fill in
    template <class NextFlow>
    [[nodiscard]] std::span<KeyedPacket> make(NextFlow next_flow, Timestamp now) noexcept {
        for (std::size_t i = 0; i < kBurstPackets; ++i) {
            const std::uint32_t address = scrambled(next_flow());
            std::memcpy(fields_[i].source.data(), &address, sizeof address);
            views_[i].seen_at = views_[i].clock = now;
            key_packet(keyed_[i], views_[i], fields_[i], {});
        }
        return keyed_;
    }

private:
    // No arrays: g++ 12 lays out the initialisation of each element by itself, which takes minutes.
    std::vector<PacketFields> fields_ = std::vector<PacketFields>(kBurstPackets);
    std::vector<PacketView> views_ = std::vector<PacketView>(kBurstPackets);
    std::vector<KeyedPacket> keyed_ = std::vector<KeyedPacket>(kBurstPackets);
};

}  // namespace tributary::perf
