// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/chosen_packets.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "daemon/recorder/packet_hashes.hpp"
#include "export/listing/ip_prefix.hpp"
#include "flowcache/record/flow_direction.hpp"
#include "parsers/parse_packet.hpp"

namespace tributary {
namespace {

/// The hash that the recorder gives the packets of a flow of the main table.
std::uint32_t hash_of(const FlowHasher& hasher, const FlowKey& key) noexcept {
    PacketFields fields{};
    fields.source = key.source;
    fields.destination = key.destination;
    fields.source_port = key.source_port;
    fields.destination_port = key.destination_port;
    fields.protocol = key.protocol;
    fields.ip_version = key.ip_version;
    return symmetric_hash(hasher, fields);
}

/// Whether an address of a packet is that of a record, as far as the record's key has it.
///
/// @param bits  of the address that are in the key; 0: it is not in it
bool is_host(const IpAddress& of_packet, const IpAddress& of_record, std::uint8_t bits) noexcept {
    return bits != 0 && prefix_of(of_packet, bits) == prefix_of(of_record, bits);
}

}  // namespace

ChosenPackets::ChosenPackets(std::shared_ptr<const WatchedTable> table, TriggerPackets packets,
                             const FlowIdentity& flow, FlowHasher hasher)
    : table_(std::move(table)), packets_(packets), flow_(flow), masks_(table_->options.key) {
    if (packets_ == TriggerPackets::flow && table_->is_main()) {
        flow_hash_ = hash_of(hasher, flow.key);
    }
    for (const std::string& filter : table_->filters) {
        if (packets_ == TriggerPackets::flow) {
            filters_.emplace_back(filter, FilterLinks::all);
        }
    }
    if (table_->fragments == FragmentMode::track) {
        fragments_.emplace(FlowHasher::random(), table_->fragment_timeout);
    }
}

PacketMask ChosenPackets::select(std::span<const RecordedPacket> packets) noexcept {
    PacketMask wanted = 0;
    for (std::size_t place = 0; place < packets.size(); ++place) {
        const PacketView view = packets[place].view();
        wanted |= PacketMask{wants_recorded(packets[place], view)} << place;
    }
    return wanted;
}

bool ChosenPackets::wants_recorded(const RecordedPacket& packet, const PacketView& view) noexcept {
    const std::uint32_t hash = packet.metadata.flow_hash;
    if (hash == 0 || (flow_hash_ && hash != *flow_hash_)) {
        return false;  // in no flow, or in another one
    }
    PacketFields fields;
    if (parse_packet(view, table_->parse, fields) != ParseStatus::ok) {
        return false;
    }
    if (fragments_ && fields.is_fragment()) {
        fragments_->track(fields, view.seen_at, view.clock, fragment_counters_);
    }
    return wants_metered(view, fields) || (flow_hash_ && is_fragment_of_flow(view, fields));
}

bool ChosenPackets::wants_metered(const PacketView& packet,
                                  const PacketFields& fields) const noexcept {
    return packets_ == TriggerPackets::hosts ? is_of_hosts(fields)
                                             : is_of_flow(packet, fields) && passes_filters(packet);
}

bool ChosenPackets::passes_filters(const PacketView& packet) const noexcept {
    return std::ranges::all_of(filters_, [&packet](PacketFilter& filter) {
        return filter.select(std::span(&packet, 1)) != 0;
    });
}

/// What a packet has in place of its record's identity, in its own direction.
FlowIdentity ChosenPackets::identity_of(const PacketView& packet,
                                        const PacketFields& fields) const noexcept {
    constexpr bool kAsItIs = false;
    ShortKey key;
    write_key(key, masks_.masked(words_of_packet(fields, packet.ingress_interface)), kAsItIs);
    FlowIdentity identity{.key = whole_key(key, masks_.ipv6_addresses(fields, kAsItIs))};
    const KeyDescriptor& descriptor = table_->options.key;
    if (descriptor.extension == KeyExtension::tunnel) {
        identity.tunnel = tunnel_of(fields);
    } else if (descriptor.extension == KeyExtension::declared) {
        descriptor.extractor->extract(packet, fields, identity.octets.data());
    }
    return identity;
}

bool ChosenPackets::is_of_flow(const PacketView& packet,
                               const PacketFields& fields) const noexcept {
    if (!table_->is_main() && table_->compiled->has_own_fields() &&
        !table_->compiled->has_fields(packet, fields)) {
        return false;
    }
    FlowIdentity identity = identity_of(packet, fields);
    if (is_equal(identity)) {
        return true;
    }
    const bool may_be_answer =
        table_->options.direction == FlowDirection::biflow && masks_.can_be_paired(fields.protocol);
    if (may_be_answer) {
        turn(identity);
    }
    return may_be_answer && is_equal(identity);
}

/// Whether a later fragment belongs to the flow, for one whose first fragment is not in the ring,
/// so that its ports are not known here. The caller has compared the hash, for which the input
/// thread had the ports.
bool ChosenPackets::is_fragment_of_flow(const PacketView& packet,
                                        const PacketFields& fields) const noexcept {
    FlowIdentity identity = identity_of(packet, fields);
    const auto has_ports_of_flow = [this](FlowIdentity& other) {
        other.key.source_port = flow_.key.source_port;
        other.key.destination_port = flow_.key.destination_port;
        return is_equal(other);
    };
    if (!fields.is_later_fragment || has_ports_of_flow(identity)) {
        return fields.is_later_fragment;
    }
    turn(identity);
    return table_->options.direction == FlowDirection::biflow && has_ports_of_flow(identity);
}

bool ChosenPackets::is_of_hosts(const PacketFields& fields) const noexcept {
    const KeyDescriptor& key = table_->options.key;
    const bool is_ipv4 = fields.ip_version == 4;
    const std::uint8_t source_bits = is_ipv4 ? key.source.ipv4 : key.source.ipv6;
    const std::uint8_t destination_bits = is_ipv4 ? key.destination.ipv4 : key.destination.ipv6;
    const auto is_one = [&](const IpAddress& address) {
        return is_host(address, flow_.key.source, source_bits) ||
               is_host(address, flow_.key.destination, destination_bits);
    };
    return fields.ip_version == flow_.key.ip_version &&
           (is_one(fields.source) || is_one(fields.destination));
}

bool ChosenPackets::is_equal(const FlowIdentity& other) const noexcept {
    return flow_.key == other.key && flow_.tunnel == other.tunnel && flow_.octets == other.octets;
}

/// Makes an identity that of the other direction.
void ChosenPackets::turn(FlowIdentity& identity) const noexcept {
    constexpr bool kSwaps = true;
    identity.key = swapped(identity.key, kSwaps);
    identity.tunnel = swapped(identity.tunnel, kSwaps);
    const KeyExtractor* const extractor = table_->options.key.extractor;
    if (extractor != nullptr && extractor->has_sides()) {
        extractor->swap_sides(identity.octets.data());
    }
}

}  // namespace tributary
