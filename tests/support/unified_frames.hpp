// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/unified_header.hpp"

namespace tributary::test {

/// A packet with the values of its record.
struct ToldPacket {
    PacketFields fields{};
    ParseStatus status = ParseStatus::ok;
    Timestamp time{std::chrono::seconds{1000}};
    std::uint32_t wire_bytes = 60;
    InterfaceIndex ingress_interface{1};
};

/// A frame of unified headers.
///
/// @param has_segments  it is of version 2
inline std::vector<std::byte> unified_frame(const std::vector<ToldPacket>& packets,
                                            std::uint64_t sequence = 0, std::uint32_t stream = 0,
                                            bool has_segments = false) {
    using namespace unified_header;
    const UnifiedFrame header{.stream = stream,
                              .sequence = sequence,
                              .records = static_cast<std::uint16_t>(packets.size()),
                              .has_segments = has_segments};
    std::vector<std::byte> frame(frame_at::kFirstRecord + packets.size() * header.record_bytes());
    write_unified_frame(header, {}, frame.data());
    std::byte* record = frame.data() + frame_at::kFirstRecord;
    for (const ToldPacket& packet : packets) {
        write_unified_header({.wire_bytes = packet.wire_bytes,
                              .ingress_interface = packet.ingress_interface,
                              .seen_at = packet.time},
                             packet.status, packet.fields, record);
        if (has_segments) {
            write_unified_segment(packet.status, packet.fields, record + kRecordBytes);
        }
        record += header.record_bytes();
    }
    return frame;
}

inline PacketView view_of(const std::vector<std::byte>& frame) {
    return {.captured = frame, .wire_bytes = static_cast<std::uint32_t>(frame.size())};
}

}  // namespace tributary::test
