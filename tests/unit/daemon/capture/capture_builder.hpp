// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/capture/capture_reader.hpp"

namespace tributary::test {

/// Writes integers in a given byte order, one by one, independently of the reader's conversion.
class CaptureBytes {
public:
    explicit CaptureBytes(std::endian order) : order_(order) {}

    CaptureBytes& u8(std::uint8_t value) { return put(value, 1); }
    CaptureBytes& u16(std::uint16_t value) { return put(value, 2); }
    CaptureBytes& u32(std::uint32_t value) { return put(value, 4); }
    CaptureBytes& u64(std::uint64_t value) { return put(value, 8); }
    CaptureBytes& text(std::string_view value) {
        for (const char c : value) {
            bytes_.push_back(static_cast<std::byte>(c));
        }
        return *this;
    }
    CaptureBytes& append(const std::vector<std::byte>& value) {
        bytes_.insert(bytes_.end(), value.begin(), value.end());
        return *this;
    }
    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
    [[nodiscard]] std::endian order() const { return order_; }

private:
    CaptureBytes& put(std::uint64_t value, unsigned size) {
        for (unsigned i = 0; i < size; ++i) {
            const unsigned place = order_ == std::endian::little ? i : size - 1 - i;
            bytes_.push_back(static_cast<std::byte>(value >> 8 * place));
        }
        return *this;
    }

    std::endian order_;
    std::vector<std::byte> bytes_;
};

inline constexpr std::uint32_t kMicrosecondPcap = 0xA1B2C3D4;

inline CaptureBytes pcap_header(std::endian order, std::uint32_t magic = kMicrosecondPcap,
                                std::uint32_t link_type = 1) {
    CaptureBytes out{order};
    out.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(262144).u32(link_type);
    return out;
}

struct Record {
    std::uint32_t seconds{};
    std::uint32_t fraction{};
    std::string_view data;
    std::uint32_t wire_bytes{};
};

/// A pcap record with a header of 16 bytes.
inline void add(CaptureBytes& out, const Record& record) {
    out.u32(record.seconds).u32(record.fraction);
    out.u32(static_cast<std::uint32_t>(record.data.size()))
        .u32(record.wire_bytes)
        .text(record.data);
}

/// A pcapng block around `body`, padded to four bytes.
inline void add_block(CaptureBytes& out, std::uint32_t type, const CaptureBytes& body) {
    const std::size_t padding = (4 - body.bytes().size() % 4) % 4;
    const auto length = static_cast<std::uint32_t>(body.bytes().size() + padding + 12);
    out.u32(type).u32(length).append(body.bytes());
    for (std::size_t i = 0; i < padding; ++i) {
        out.u8(0);
    }
    out.u32(length);
}

inline void add_section(CaptureBytes& out) {
    CaptureBytes body{out.order()};
    body.u32(0x1A2B3C4D).u16(1).u16(0).u64(0xFFFF'FFFF'FFFF'FFFF);
    add_block(out, 0x0A0D0D0A, body);
}

/// An interface description; `options` are its options, written in the order of `out`.
inline void add_interface(CaptureBytes& out, std::uint16_t link_type, std::uint32_t snap_bytes = 0,
                          const std::vector<std::byte>& options = {}) {
    CaptureBytes body{out.order()};
    body.u16(link_type).u16(0).u32(snap_bytes).append(options);
    add_block(out, 1, body);
}

struct Packet {
    std::uint32_t interface {};
    std::uint64_t ticks{};
    std::string_view data;
    std::uint32_t wire_bytes{};
};

inline void add_enhanced(CaptureBytes& out, const Packet& packet) {
    CaptureBytes body{out.order()};
    body.u32(packet.interface).u32(static_cast<std::uint32_t>(packet.ticks >> 32U));
    body.u32(static_cast<std::uint32_t>(packet.ticks));
    body.u32(static_cast<std::uint32_t>(packet.data.size()))
        .u32(packet.wire_bytes)
        .text(packet.data);
    add_block(out, 6, body);
}

struct Walk {
    std::vector<CaptureFrame> frames;
    std::size_t unknown_interface = 0;
    CaptureItem last = CaptureItem::end;  ///< end or cut
};

inline Walk walk(std::span<const std::byte> bytes) {
    CaptureReader reader{bytes};
    Walk result;
    while (true) {
        CaptureFrame frame;
        result.last = reader.next(frame);
        if (result.last == CaptureItem::end || result.last == CaptureItem::cut) {
            return result;
        }
        if (result.last == CaptureItem::frame) {
            result.frames.push_back(frame);
        }
        result.unknown_interface += result.last == CaptureItem::unknown_interface ? 1 : 0;
    }
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tributary::test
