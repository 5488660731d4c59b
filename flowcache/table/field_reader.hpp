// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

#include "flowcache/record/address_words.hpp"
#include "flowcache/record/key_descriptor.hpp"
#include "flowcache/table/own_field.hpp"
#include "flowcache/table/packet_field.hpp"
#include "parsers/header_places.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// The leading bits of addresses that count, by IP version.
struct AddressMasks {
    explicit AddressMasks(const AddressPrefix& prefix) noexcept
        : ipv4(prefix_mask(prefix.ipv4)), ipv6(prefix_mask(prefix.ipv6)) {}

    [[nodiscard]] AddressWords masked(const AddressWords& words,
                                      std::uint8_t ip_version) const noexcept {
        const AddressWords& bits = ip_version == 4 ? ipv4 : ipv6;
        return {words.low & bits.low, words.high & bits.high};
    }

    AddressWords ipv4;
    AddressWords ipv6;
};

/// Up to where readers need places of headers; each has those before.
enum class HeaderNeed : std::uint8_t { none, transport, payload };

/// A packet, and where its headers lie, if a field that is read needs that.
struct PacketAtHand {
    PacketAtHand() noexcept = default;
    /// @param of, parsed  borrowed
    PacketAtHand(const PacketView& of, const PacketFields& parsed,
                 const HeaderPlaces& headers = {}) noexcept
        : packet(&of), fields(&parsed), places(headers) {}

    const PacketView* packet{};
    const PacketFields* fields{};
    HeaderPlaces places{};
};

/// A field of packets, compiled: from where, how many octets, which bits. It is read without a look
/// at its name, and without a call by pointer.
///
/// @thread  any: it does not change
class FieldReader {
public:
    /// @param record_octets  of a number: those that it has in records, 1, 2, 4 or 8; larger values
    ///                       become the largest that these hold
    /// @param masks          of an address; outlives the reader
    /// @param interval       of a time: 1 or more seconds
    FieldReader(const PacketField& field, std::size_t record_octets, const AddressMasks* masks,
                std::uint32_t interval) noexcept
        : step_(step_of(field)),
          octets_(field.octets),
          shift_(field.shift),
          record_octets_(static_cast<std::uint8_t>(record_octets)),
          offset_(field.offset),
          mask_(field.mask),
          most_(largest(record_octets)),
          interval_(interval),
          masks_(masks) {}
    explicit FieldReader(const OwnField& field) noexcept
        : step_(step_of(field)),
          octets_(field.octets),
          record_octets_(
              static_cast<std::uint8_t>(octets_in_group({.name = "",
                                                         .number = 0,
                                                         .encoding = encoding_of(field.as),
                                                         .offset = 0,
                                                         .meaning = "",
                                                         .text_octets = field.octets}))),
          base_(field.from),
          base_place_(place_of_base(field.from)),
          offset_(field.offset) {}
    /// The IP version of the outer addresses; 0 without a tunnel.
    [[nodiscard]] static FieldReader of_tunnel_version() noexcept {
        FieldReader reader;
        reader.step_ = Step::tunnel_version;
        return reader;
    }

    /// Up to where it needs PacketAtHand::places.
    [[nodiscard]] HeaderNeed header_need() const noexcept {
        if (!is_own() || base_ == OwnFieldBase::frame) {
            return HeaderNeed::none;
        }
        return base_ == OwnFieldBase::payload ? HeaderNeed::payload : HeaderNeed::transport;
    }
    /// Whether it is a field of the user's own.
    [[nodiscard]] bool is_own() const noexcept { return step_ >= Step::own_number1; }
    /// Whether number() reads it.
    [[nodiscard]] bool is_number() const noexcept {
        return step_ <= Step::tunnel_version ||
               (step_ >= Step::own_number1 && step_ <= Step::own_number);
    }
    /// Whether a field of the user's own lies within a packet.
    [[nodiscard]] bool is_there(const PacketAtHand& at_hand) const noexcept {
        return own_octets(at_hand) != nullptr;
    }
    /// Octets of what write() writes.
    [[nodiscard]] std::size_t record_octets() const noexcept { return record_octets_; }

    /// The value of a number; 0 where a packet does not have the field.
    [[nodiscard]] std::uint64_t number(const PacketAtHand& at_hand) const noexcept {
        std::uint64_t number = 0;
        with_step([&](auto step) { number = read<step()>(at_hand).number; });
        return number;
    }
    /// number() of many packets. What the field is, is looked at once for all of them.
    ///
    /// @param packets  at most kBurstPackets
    /// @param take     called with each index and the packet's number
    /// @return         a bit for each packet: whether it has the field, if that is one of the
    ///                 user's own; otherwise 1
    template <class Take>
    PacketMask numbers(std::span<const PacketAtHand> packets, Take take) const noexcept {
        PacketMask with_field = 0;
        with_step([&](auto step) {
            constexpr bool kIsOwn = step() >= Step::own_number1;
            const FieldReader reader = *this;  // which no store to a key can change
            PacketMask mask = 0;
            for (std::size_t index = 0; index < packets.size(); ++index) {
                const Reading reading = reader.read<step()>(packets[index]);
                take(index, reading.number);
                mask |= PacketMask{kIsOwn && reading.is_there} << index;
            }
            with_field = kIsOwn ? mask : ~PacketMask{0};
        });
        return with_field;
    }
    /// Writes the value as it lies in records: numbers in host byte order.
    ///
    /// @param to  record_octets() octets of 0; they stay so where a packet does not have the field
    void write(const PacketAtHand& at_hand, std::byte* to) const noexcept {
        if (is_number()) {
            const std::uint64_t value = number(at_hand);
            put(value, to);
            return;
        }
        write_octets(at_hand, to);
    }
    /// Writes a number of this field, or a sum of them.
    void put(std::uint64_t value, std::byte* to) const noexcept {
        static_assert(std::endian::native == std::endian::little);
        switch (record_octets_) {
            case 1:
                std::memcpy(to, &value, 1);
                return;
            case 2:
                std::memcpy(to, &value, 2);
                return;
            case 4:
                std::memcpy(to, &value, 4);
                return;
            default:
                std::memcpy(to, &value, sizeof value);
        }
    }
    [[nodiscard]] std::uint64_t get(const std::byte* from) const noexcept {
        std::uint64_t value = 0;
        switch (record_octets_) {
            case 1:
                std::memcpy(&value, from, 1);
                break;
            case 2:
                std::memcpy(&value, from, 2);
                break;
            case 4:
                std::memcpy(&value, from, 4);
                break;
            default:
                std::memcpy(&value, from, sizeof value);
        }
        return value;
    }
    [[nodiscard]] std::uint64_t largest() const noexcept { return largest(record_octets_); }

    /// A hash of the value.
    ///
    /// @param seed  random, so that a sender cannot choose the hashes
    /// @return      nothing: the packet does not have these octets. A number that it does not have
    ///              counts as 0
    [[nodiscard]] std::optional<std::uint32_t> hash(const PacketAtHand& at_hand,
                                                    std::uint64_t seed) const noexcept;

private:
    enum class Step : std::uint8_t {
        fields1,  ///< a member of PacketFields of so many octets
        fields2,
        fields4,
        view4,
        icmp,
        icmp_v6,
        time,
        ether_type,
        tunnel_version,
        // Octets.
        source_address,
        destination_address,
        tunnel_source,
        tunnel_destination,
        mac_address,
        mpls_section,
        // A field of the user's own.
        own_number1,  ///< of one octet
        own_number2,
        own_number4,
        own_number,  ///< of another number of octets
        own_octets,
        own_text,
        own_octet_array,
    };

    FieldReader() noexcept = default;

    [[nodiscard]] static std::uint64_t largest(std::size_t octets) noexcept {
        constexpr std::size_t kWord = sizeof(std::uint64_t);
        return octets >= kWord ? ~std::uint64_t{0} : (std::uint64_t{1} << 8U * octets) - 1;
    }
    [[nodiscard]] static Step step_of(const PacketField& field) noexcept;
    [[nodiscard]] static Step step_of(const OwnField& field) noexcept;
    template <class Number>
    [[nodiscard]] static std::uint64_t load(const void* from, std::size_t offset) noexcept {
        Number value{};
        std::memcpy(&value, static_cast<const std::byte*>(from) + offset, sizeof value);
        return value;
    }
    /// A number, and whether the packet has the field; without it the number is 0.
    struct Reading {
        std::uint64_t number;
        bool is_there;
    };
    template <Step kStep>
    [[nodiscard, gnu::always_inline]] Reading read(const PacketAtHand& at_hand) const noexcept {
        if constexpr (kStep >= Step::own_number1) {
            const std::byte* const octets = own_octets(at_hand);
            return {octets != nullptr ? own_number<kStep>(octets) : 0, octets != nullptr};
        } else {
            return {std::min(raw_number<kStep>(at_hand) >> shift_ & mask_, most_), true};
        }
    }
    template <Step kStep>
    using Constant = std::integral_constant<Step, kStep>;
    /// Calls `use` with the step of a number, as a constant.
    template <class Use>
    [[gnu::always_inline]] void with_step(Use use) const noexcept {
        switch (step_) {
            case Step::fields1:
                return use(Constant<Step::fields1>{});
            case Step::fields2:
                return use(Constant<Step::fields2>{});
            case Step::fields4:
                return use(Constant<Step::fields4>{});
            case Step::view4:
                return use(Constant<Step::view4>{});
            case Step::icmp:
                return use(Constant<Step::icmp>{});
            case Step::icmp_v6:
                return use(Constant<Step::icmp_v6>{});
            case Step::time:
                return use(Constant<Step::time>{});
            case Step::ether_type:
                return use(Constant<Step::ether_type>{});
            case Step::tunnel_version:
                return use(Constant<Step::tunnel_version>{});
            case Step::own_number1:
                return use(Constant<Step::own_number1>{});
            case Step::own_number2:
                return use(Constant<Step::own_number2>{});
            case Step::own_number4:
                return use(Constant<Step::own_number4>{});
            default:
                return use(Constant<Step::own_number>{});
        }
    }
    template <Step kStep>
    [[nodiscard, gnu::always_inline]] std::uint64_t raw_number(
        const PacketAtHand& at_hand) const noexcept {
        const PacketFields& fields = *at_hand.fields;
        if constexpr (kStep == Step::fields1) {
            return load<std::uint8_t>(&fields, offset_);
        } else if constexpr (kStep == Step::fields2) {
            return load<std::uint16_t>(&fields, offset_);
        } else if constexpr (kStep == Step::fields4) {
            return load<std::uint32_t>(&fields, offset_);
        } else if constexpr (kStep == Step::view4) {
            return load<std::uint32_t>(at_hand.packet, offset_);
        } else if constexpr (kStep == Step::icmp) {
            return fields.protocol == ip_protocol::kIcmp && fields.ip_version == 4
                       ? fields.destination_port.value
                       : 0;
        } else if constexpr (kStep == Step::icmp_v6) {
            return fields.protocol == ip_protocol::kIcmpV6 && fields.ip_version == 6
                       ? fields.destination_port.value
                       : 0;
        } else if constexpr (kStep == Step::time) {
            return interval_start(at_hand.packet->seen_at);
        } else if constexpr (kStep == Step::ether_type) {
            return ether_type(*at_hand.packet);
        } else {
            static_assert(kStep == Step::tunnel_version);
            return fields.tunnel.addresses != nullptr ? fields.tunnel.ip_version : 0;
        }
    }
    [[nodiscard]] std::uint64_t interval_start(Timestamp time) const noexcept {
        using std::chrono::duration_cast;
        using std::chrono::seconds;
        const auto whole = static_cast<std::uint32_t>(
            duration_cast<seconds>(time.time_since_epoch()).count());  // 1 .. 2^32 - 2
        return whole - whole % interval_;
    }
    [[nodiscard]] static std::uint64_t ether_type(const PacketView& packet) noexcept;

    /// Where HeaderPlaces has what an offset counts from.
    [[nodiscard]] static std::uint8_t place_of_base(OwnFieldBase base) noexcept {
        switch (base) {
            case OwnFieldBase::l3:
                return offsetof(HeaderPlaces, network);
            case OwnFieldBase::l4:
                return offsetof(HeaderPlaces, transport);
            default:
                return offsetof(HeaderPlaces, payload);
        }
    }
    /// @return  nullptr: the packet ends before the field
    [[nodiscard]] const std::byte* own_octets(const PacketAtHand& at_hand) const noexcept {
        const bool is_in_frame = base_ == OwnFieldBase::frame;
        const std::uint64_t base =
            is_in_frame ? 0 : load<std::uint32_t>(&at_hand.places, base_place_);
        const std::uint64_t end =
            is_in_frame ? at_hand.packet->captured.size() : at_hand.places.end;
        // An absent header's place is far behind any end.
        return base + offset_ + octets_ <= end ? at_hand.packet->captured.data() + base + offset_
                                               : nullptr;
    }
    /// @param octets  of the field
    template <Step kStep>
    [[nodiscard]] std::uint64_t own_number(const std::byte* octets) const noexcept {
        if constexpr (kStep == Step::own_number1) {
            return load<std::uint8_t>(octets, 0);
        } else if constexpr (kStep == Step::own_number2) {
            return __builtin_bswap16(static_cast<std::uint16_t>(load<std::uint16_t>(octets, 0)));
        } else if constexpr (kStep == Step::own_number4) {
            return __builtin_bswap32(static_cast<std::uint32_t>(load<std::uint32_t>(octets, 0)));
        }
        std::uint64_t value = 0;
        for (std::size_t place = 0; place < octets_; ++place) {
            value = value << 8U | std::to_integer<std::uint64_t>(octets[place]);
        }
        return value;
    }
    void write_octets(const PacketAtHand& at_hand, std::byte* to) const noexcept;
    void write_own(const PacketAtHand& at_hand, std::byte* to) const noexcept;
    [[nodiscard]] bool has_octets(const PacketAtHand& at_hand) const noexcept;
    /// @param address  of one of the packets' IP versions
    void write_address(const IpAddress& address, std::uint8_t ip_version,
                       std::byte* to) const noexcept {
        const AddressWords words = masks_->masked(words_of(address, ip_version), ip_version);
        std::memcpy(to, &words, sizeof words);
    }
    void write_tunnel_address(const TunnelFields& tunnel, bool is_destination,
                              std::byte* to) const noexcept;

    Step step_{};
    std::uint8_t octets_{1};  ///< in the packet
    std::uint8_t shift_{0};
    std::uint8_t record_octets_{1};
    OwnFieldBase base_{};
    std::uint8_t base_place_{};  ///< unless that is the frame: in HeaderPlaces
    std::uint16_t offset_{0};
    std::uint64_t mask_{~std::uint64_t{0}};
    std::uint64_t most_{~std::uint64_t{0}};
    std::uint32_t interval_{1};
    const AddressMasks* masks_{};
};

}  // namespace tributary
