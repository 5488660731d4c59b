// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/unified_header.hpp"

namespace tributary::test {

/// A packet as a record of it says.
struct ToldPacket {
    PacketFields fields{};
    ParseStatus status = ParseStatus::ok;
    Timestamp time{std::chrono::seconds{1000}};
    std::uint32_t wire_bytes = 60;
    InterfaceIndex ingress_interface{1};
};

/// A frame of unified headers.
inline std::vector<std::byte> unified_frame(const std::vector<ToldPacket>& packets,
                                            std::uint64_t sequence = 0, std::uint32_t stream = 0) {
    using namespace unified_header;
    std::vector<std::byte> frame(frame_at::kFirstRecord + packets.size() * kRecordBytes);
    write_unified_frame({.stream = stream,
                         .sequence = sequence,
                         .records = static_cast<std::uint16_t>(packets.size())},
                        {}, frame.data());
    std::byte* record = frame.data() + frame_at::kFirstRecord;
    for (const ToldPacket& packet : packets) {
        write_unified_header({.wire_bytes = packet.wire_bytes,
                              .ingress_interface = packet.ingress_interface,
                              .seen_at = packet.time},
                             packet.status, packet.fields, record);
        record += kRecordBytes;
    }
    return frame;
}

inline PacketView view_of(const std::vector<std::byte>& frame) {
    return {.captured = frame, .wire_bytes = static_cast<std::uint32_t>(frame.size())};
}

}  // namespace tributary::test
