// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flowcache/table/compiled_table.hpp"
#include "flowcache/table/field_reader.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// What a table reads of the packets of one burst, beyond FlowKey: the octets of their keys, and
/// whether they have the fields of the user's own.
///
/// Headers are located packet by packet, and then each field is read of all packets: so its kind,
/// place and mask stay in registers. Packet by packet, a key of two fields took twice as long.
///
/// @thread  the thread that accounts the packets; nothing allocates but the constructor
class BurstKeys {
public:
    /// @param table  outlives this
    explicit BurstKeys(const CompiledTable& table)
        : table_(table),
          words_(table.extractor() != nullptr ? table.extractor()->octets() / kWord : 0),
          octets_(words_ * kBurstPackets) {}

    void clear() noexcept { count_ = 0; }
    /// Adds packets; at most kBurstPackets since clear().
    ///
    /// @param packets  have pointers `packet` and `fields`, to what is borrowed until the next
    ///                 clear()
    template <class Packets>
    void add(const Packets& packets) noexcept {
        PacketAtHand* to = packets_.data() + count_;
        for (const auto& each : packets) {
            to->packet = each.packet;
            to->fields = each.fields;
            ++to;
        }
        count_ = static_cast<std::size_t>(to - packets_.data());
    }
    /// Reads what the packets have.
    ///
    /// @return  a bit for each packet, in the order in which they were added: CompiledTable::
    ///          has_fields()
    [[nodiscard]] PacketMask read() noexcept {
        const std::span<PacketAtHand> packets(packets_.data(), count_);
        table_.locate(packets);
        return table_.read_keys(packets, octets(0));
    }
    /// In the order in which they were added.
    [[nodiscard]] std::span<const PacketAtHand> packets() const noexcept {
        return {packets_.data(), count_};
    }
    /// The octets of a packet's key, aligned to 8; valid until the next read().
    [[nodiscard]] std::byte* octets(std::size_t place) noexcept {
        return reinterpret_cast<std::byte*>(octets_.data() + place * words_);
    }
    /// From the octets of one packet to those of the next.
    [[nodiscard]] std::size_t stride() const noexcept { return words_ * kWord; }

private:
    static constexpr std::size_t kWord = sizeof(std::uint64_t);

    const CompiledTable& table_;
    std::size_t words_;  ///< of a key
    std::vector<std::uint64_t> octets_;
    std::size_t count_ = 0;
    std::array<PacketAtHand, kBurstPackets> packets_;
};

}  // namespace tributary
