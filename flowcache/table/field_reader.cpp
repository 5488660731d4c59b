// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/field_reader.hpp"

#include <xxhash.h>

#include <cstdint>
#include <optional>

#include "flowcache/table/table_text.hpp"
#include "parsers/captured_bytes.hpp"
#include "parsers/ethernet.hpp"

namespace tributary {

FieldReader::Step FieldReader::step_of(const PacketField& field) noexcept {
    switch (field.source) {
        case FieldSource::fields:
            if (field.octets == 1) {
                return Step::fields1;
            }
            return field.octets == 2 ? Step::fields2 : Step::fields4;
        case FieldSource::view:
            return Step::view4;
        case FieldSource::icmp:
            return Step::icmp;
        case FieldSource::icmp_v6:
            return Step::icmp_v6;
        case FieldSource::time:
            return Step::time;
        case FieldSource::ether_type:
            return Step::ether_type;
        case FieldSource::source_address:
            return Step::source_address;
        case FieldSource::destination_address:
            return Step::destination_address;
        case FieldSource::tunnel_source:
            return Step::tunnel_source;
        case FieldSource::tunnel_destination:
            return Step::tunnel_destination;
        case FieldSource::mac_address:
            return Step::mac_address;
        case FieldSource::mpls_section:
            break;
    }
    return Step::mpls_section;
}

FieldReader::Step FieldReader::step_of(const OwnField& field) noexcept {
    if (tributary::is_number(field.as)) {
        switch (field.octets) {
            case 1:
                return Step::own_number1;
            case 2:
                return Step::own_number2;
            case 4:
                return Step::own_number4;
            default:
                return Step::own_number;
        }
    }
    switch (field.as) {
        case OwnFieldType::string:
            return Step::own_text;
        case OwnFieldType::octet_array:
            return Step::own_octet_array;
        default:
            return Step::own_octets;
    }
}

std::uint64_t FieldReader::ether_type(const PacketView& packet) noexcept {
    if (packet.link_type != LinkType::ethernet) {
        return 0;
    }
    const CapturedBytes frame(packet.captured);
    const std::optional<std::size_t> at = type_behind_tags(frame);
    const std::uint16_t type = at ? frame.header<2>(*at).u16<0>() : std::uint16_t{0};
    return type > ethertype::kLastLlcLength ? type : 0;
}

void FieldReader::write_tunnel_address(const TunnelFields& tunnel, bool is_destination,
                                       std::byte* to) const noexcept {
    constexpr std::size_t kIpv4 = 4;
    if (tunnel.addresses == nullptr) {
        return;
    }
    IpAddress address{};
    const std::size_t octets = tunnel.ip_version == 4 ? kIpv4 : address.size();
    std::memcpy(address.data(), tunnel.addresses + (is_destination ? octets : 0), octets);
    write_address(address, tunnel.ip_version, to);
}

void FieldReader::write_octets(const PacketAtHand& at_hand, std::byte* to) const noexcept {
    const PacketFields& fields = *at_hand.fields;
    switch (step_) {
        case Step::source_address:
            write_address(fields.source, fields.ip_version, to);
            return;
        case Step::destination_address:
            write_address(fields.destination, fields.ip_version, to);
            return;
        case Step::tunnel_source:
            write_tunnel_address(fields.tunnel, false, to);
            return;
        case Step::tunnel_destination:
            write_tunnel_address(fields.tunnel, true, to);
            return;
        case Step::mac_address:
            if (has_octets(at_hand)) {
                std::memcpy(to, fields.mac_addresses + offset_, octets_);
            }
            return;
        case Step::mpls_section:
            if (has_octets(at_hand)) {
                std::memcpy(to, fields.mpls_stack + offset_, octets_);
            }
            return;
        default:
            write_own(at_hand, to);
    }
}

void FieldReader::write_own(const PacketAtHand& at_hand, std::byte* to) const noexcept {
    const std::byte* const octets = own_octets(at_hand);
    if (octets == nullptr) {
        return;
    }
    if (step_ == Step::own_octets) {
        std::memcpy(to, octets, octets_);
        return;
    }
    // As a BoundedText lies in a record.
    std::size_t length = octets_;
    std::byte* const text = to + 1;
    if (step_ == Step::own_octet_array) {
        std::memcpy(text, octets, length);
    } else {
        length =
            static_cast<std::size_t>(std::find(octets, octets + length, std::byte{0}) - octets);
        std::transform(octets, octets + length, text, [](std::byte octet) {
            return is_printable(static_cast<char>(octet)) ? octet : static_cast<std::byte>('.');
        });
    }
    *to = static_cast<std::byte>(length);
}

bool FieldReader::has_octets(const PacketAtHand& at_hand) const noexcept {
    constexpr std::size_t kEntry = 4;
    const PacketFields& fields = *at_hand.fields;
    switch (step_) {
        case Step::tunnel_source:
        case Step::tunnel_destination:
            return fields.tunnel.addresses != nullptr;
        case Step::mac_address:
            return fields.mac_addresses != nullptr;
        case Step::mpls_section:
            return fields.mpls_stack != nullptr && offset_ < kEntry * fields.mpls_labels;
        case Step::own_octets:
        case Step::own_text:
        case Step::own_octet_array:
            return is_there(at_hand);
        default:
            return true;
    }
}

std::optional<std::uint32_t> FieldReader::hash(const PacketAtHand& at_hand,
                                               std::uint64_t seed) const noexcept {
    constexpr unsigned kUpper = 32;
    if (is_number()) {
        const std::uint64_t value = number(at_hand);
        return static_cast<std::uint32_t>(XXH3_64bits_withSeed(&value, sizeof value, seed) >>
                                          kUpper);
    }
    if (!has_octets(at_hand)) {
        return std::nullopt;
    }
    // Behind the value the IP version: 192.0.2.1 is not c000:201::.
    std::array<std::byte, OwnField::kMostOctets + 2> octets{};
    write_octets(at_hand, octets.data());
    const bool is_outer = step_ == Step::tunnel_source || step_ == Step::tunnel_destination;
    octets.back() = static_cast<std::byte>(is_outer ? at_hand.fields->tunnel.ip_version
                                                    : at_hand.fields->ip_version);
    const bool is_address = step_ <= Step::tunnel_destination;
    const std::size_t size = is_address ? octets.size() : octets.size() - 1;
    return static_cast<std::uint32_t>(XXH3_64bits_withSeed(octets.data(), size, seed) >> kUpper);
}

}  // namespace tributary
