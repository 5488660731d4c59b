// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "parsers/parse_packet.hpp"
#include "parsers/parse_status.hpp"
#include "tests/fuzz/fuzzed_frame.hpp"

// The trimmed parser at any cut of a frame, by its own limit and by what its source delivers.
namespace tributary::fuzz {

namespace {

struct Parsed {
    ParseStatus status;
    PacketFields fields;
};

Parsed parse(const PacketView& packet, const ParseOptions& options) {
    Parsed parsed{.status = {}, .fields = old_fields()};
    parsed.status = parse_packet(packet, options, parsed.fields);
    return parsed;
}

bool is_truncated(ParseStatus status) { return name_of(status).starts_with("truncated_"); }

/// What is in front of any header that was cut and that a packet is metered with.
void check_before_the_cut(const PacketFields& full, const PacketFields& trimmed,
                          std::uint32_t wire_bytes) {
    demand(trimmed.source == full.source && trimmed.destination == full.destination);
    demand(trimmed.ip_version == full.ip_version && trimmed.ttl == full.ttl);
    demand(trimmed.ip_class_of_service == full.ip_class_of_service);
    demand(trimmed.outer_vlan == full.outer_vlan && trimmed.vlan_tags == full.vlan_tags &&
           trimmed.customer_vlan == full.customer_vlan);
    // A jumbogram's length stands in an option, which may be behind the cut: then it is the
    // frame's.
    const bool is_cut_jumbogram = trimmed.ip_version == 6 && trimmed.ip_bytes <= wire_bytes &&
                                  trimmed.cut_header == CutHeader::ipv6_extension_header;
    demand(trimmed.ip_bytes == full.ip_bytes || is_cut_jumbogram);
}

/// What the cut parser was given of a frame.
struct Cut {
    std::uint32_t wire_bytes;
    bool is_of_captured;  ///< fewer octets than the full parser
    bool is_of_wire;      ///< fewer octets than the frame had
};

/// A cut parser finds what the full one finds, or says what was cut; nothing else is lost.
void check_against_full(const Parsed& full, const Parsed& trimmed, Cut cut) {
    if (!cut.is_of_wire) {
        demand(trimmed.status == full.status);
        demand(full.status != ParseStatus::ok || same(full.fields, trimmed.fields));
        return;
    }
    if (trimmed.status != ParseStatus::ok) {
        // Of a good packet not even the addresses are in front of the cut.
        demand(full.status != ParseStatus::ok ||
               (cut.is_of_captured && is_truncated(trimmed.status)));
        return;
    }
    if (trimmed.fields.cut_header == CutHeader::none) {
        demand(full.status == ParseStatus::ok && same(full.fields, trimmed.fields));
        return;
    }
    const bool is_in_a_tunnel = full.fields.tunnel.kind != TunnelKind::none ||
                                trimmed.fields.tunnel.kind != TunnelKind::none;
    // Whether below MPLS an IPv4 header is the beginning of an Ethernet frame may be told by the
    // checksum, which goes over its options.
    const bool may_be_ethernet = trimmed.fields.mpls_stack != nullptr &&
                                 trimmed.fields.cut_header == CutHeader::ipv4_options;
    if (full.status == ParseStatus::ok && !is_in_a_tunnel && !may_be_ethernet) {
        check_before_the_cut(full.fields, trimmed.fields, cut.wire_bytes);
    }
}

void check(const FuzzedFrame& input) {
    const Parsed full = parse(input.packet, input.options);
    ParseOptions options = input.options;
    options.keep_cut_headers = true;
    options.most_bytes = static_cast<std::uint32_t>(input.cut);
    const Parsed by_limit = parse(input.packet, options);
    const std::size_t captured = input.packet.captured.size();
    check_against_full(full, by_limit,
                       {.wire_bytes = input.packet.wire_bytes,
                        .is_of_captured = input.cut < captured,
                        .is_of_wire = std::min(input.cut, captured) < input.packet.wire_bytes});

    const FrameCopy frame(input.packet.captured.first(std::min(input.cut, captured)));
    PacketView delivered = input.packet;
    delivered.captured = frame.bytes();
    options.most_bytes = static_cast<std::uint32_t>(captured);
    const Parsed by_source = parse(delivered, options);
    demand(by_source.status == by_limit.status);
    demand(by_source.status != ParseStatus::ok || same(by_source.fields, by_limit.fields));
}

}  // namespace

}  // namespace tributary::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (auto input = tributary::fuzz::read_input(data, size)) {
        // No source delivers more than there was on the wire.
        const auto captured = static_cast<std::uint32_t>(input->packet.captured.size());
        input->packet.wire_bytes = std::max(input->packet.wire_bytes, captured);
        tributary::fuzz::check(*input);
    }
    return 0;
}
