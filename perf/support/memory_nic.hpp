// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "flowcache/input/frame_burst.hpp"
#include "parsers/packet.hpp"
#include "parsers/parse_packet.hpp"
#include "parsers/unified_header.hpp"
#include "tests/support/packet_builder.hpp"

// Packet sources in memory, in place of a NIC. Each rewrites its frames in a ring of buffers all
// the time, as a NIC's DMA leaves them in the last-level cache. The writing costs time, more for
// longer packets: benchmarks measure it apart, with the source alone.

namespace tributary::perf {

/// The packets: IPv4/UDP from changing sources to one destination.
struct Traffic {
    std::uint16_t packet_bytes{};  ///< on the wire with FCS, 64 or more; NIC makers' count
    std::uint32_t flows{};         ///< a power of two; each packet belongs to one at random
    std::uint64_t packets{};       ///< until the source is exhausted

    [[nodiscard]] std::uint32_t frame_bytes() const noexcept { return packet_bytes - 4U; }
    [[nodiscard]] std::uint32_t ip_bytes() const noexcept { return frame_bytes() - 14U; }
    /// Between two packets at 10 Gbit/s, with preamble and gap.
    [[nodiscard]] Timestamp::duration interval() const noexcept {
        return Timestamp::duration{(packet_bytes + 20) * 8 / 10};
    }
};

/// The flows of one packet after the other, and their times.
class TrafficSequence {
public:
    explicit TrafficSequence(const Traffic& traffic) noexcept
        : mask_(traffic.flows - 1), left_(traffic.packets), interval_(traffic.interval()) {}

    [[nodiscard]] std::uint64_t left() const noexcept { return left_; }
    [[nodiscard]] Timestamp now() const noexcept { return now_; }
    /// @return  the next packet's flow
    std::uint32_t next() noexcept {
        --left_;
        now_ += interval_;
        state_ ^= state_ << 13U;  // xorshift64, Marsaglia 2003
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        return static_cast<std::uint32_t>(state_ >> 32U) & mask_;
    }

private:
    std::uint32_t mask_;
    std::uint64_t left_;
    Timestamp::duration interval_;
    Timestamp now_{std::chrono::seconds{1'700'000'000}};
    std::uint64_t state_ = 0x9E37'79B9'7F4A'7C15;
};

inline constexpr std::size_t kRingBuffers = 4096;
inline constexpr std::size_t kBufferBytes = 2048;

[[nodiscard]] inline std::vector<std::byte> template_frame(const Traffic& traffic) {
    constexpr std::size_t kHeaders = 14 + 20 + 8;
    return test::ethernet()
        .ipv4({.source = "10.0.0.0", .destination = "192.0.2.1"})
        .udp(1000, 53)
        .payload(traffic.frame_bytes() - kHeaders)
        .build()
        .captured;
}

/// Frames, whole or trimmed to their first bytes. Models PacketSource.
class MemoryNic {
public:
    /// @param most_bytes  delivered of a frame
    MemoryNic(const Traffic& traffic, std::size_t most_bytes)
        : sequence_(traffic),
          frame_(template_frame(traffic)),
          wire_bytes_(traffic.frame_bytes()),
          captured_(std::min<std::size_t>(frame_.size(), most_bytes)),
          ring_(kRingBuffers * kBufferBytes) {}

    [[nodiscard]] FrameBurst receive() noexcept {
        const std::size_t count = std::min<std::uint64_t>(kBurstPackets, sequence_.left());
        for (std::size_t i = 0; i < count; ++i) {
            std::byte* const buffer = ring_.data() + next_ * kBufferBytes;
            next_ = (next_ + 1) % kRingBuffers;
            write(buffer);
            packets_[i] = {.captured = {buffer, captured_},
                           .wire_bytes = wire_bytes_,
                           .link_type = LinkType::ethernet,
                           .ingress_interface = {1},
                           .seen_at = sequence_.now(),
                           .clock = sequence_.now()};
        }
        return {.frames = std::span(packets_).first(count), .now = sequence_.now()};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}
    [[nodiscard]] bool exhausted() const noexcept { return sequence_.left() == 0; }

private:
    void write(std::byte* buffer) noexcept {
        constexpr std::size_t kSourceAddress = 14 + 12;
        std::memcpy(buffer, frame_.data(), captured_);
        const std::uint32_t flow = sequence_.next();
        const std::array<std::uint8_t, 3> address{static_cast<std::uint8_t>(flow >> 16U),
                                                  static_cast<std::uint8_t>(flow >> 8U),
                                                  static_cast<std::uint8_t>(flow)};
        std::memcpy(buffer + kSourceAddress + 1, address.data(), address.size());
    }

    TrafficSequence sequence_;
    std::vector<std::byte> frame_;
    std::uint32_t wire_bytes_;
    std::size_t captured_;
    std::vector<std::byte> ring_;
    std::size_t next_ = 0;
    std::array<PacketView, kBurstPackets> packets_;
};

/// Frames of unified headers, as many records in each as 1500 octets hold. Models PacketSource.
class UnifiedHeaderNic {
public:
    static constexpr std::uint16_t kRecords = 23;

    explicit UnifiedHeaderNic(const Traffic& traffic)
        : sequence_(traffic), ring_(kRingBuffers * kBufferBytes) {
        const std::vector<std::byte> frame = template_frame(traffic);
        const PacketView packet{.captured = frame,
                                .wire_bytes = traffic.frame_bytes(),
                                .link_type = LinkType::ethernet,
                                .ingress_interface = {1}};
        PacketFields fields;
        const ParseStatus status = parse_packet(packet, {}, fields);
        write_unified_header(packet, status, fields, record_.data());
    }

    [[nodiscard]] FrameBurst receive() noexcept {
        std::size_t count = 0;
        for (; count < kFrames && sequence_.left() > 0; ++count) {
            std::byte* const buffer = ring_.data() + next_ * kBufferBytes;
            next_ = (next_ + 1) % kRingBuffers;
            frames_[count] = {.captured = {buffer, write(buffer)},
                              .link_type = LinkType::ethernet,
                              .seen_at = sequence_.now(),
                              .clock = sequence_.now()};
        }
        return {.frames = std::span(frames_).first(count), .now = sequence_.now()};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}
    [[nodiscard]] bool exhausted() const noexcept { return sequence_.left() == 0; }

private:
    static constexpr std::size_t kFrames = 16;  ///< per burst

    /// @return  octets of the frame
    std::size_t write(std::byte* buffer) noexcept {
        using namespace unified_header;
        const auto records =
            static_cast<std::uint16_t>(std::min<std::uint64_t>(kRecords, sequence_.left()));
        write_unified_frame({.stream = 0, .sequence = sent_, .records = records}, {}, buffer);
        sent_ += records;
        std::byte* record = buffer + frame_at::kFirstRecord;
        for (std::uint16_t i = 0; i < records; ++i, record += kRecordBytes) {
            const std::uint32_t flow = sequence_.next();
            std::memcpy(record, record_.data(), kRecordBytes);
            const std::array<std::uint8_t, 3> address{static_cast<std::uint8_t>(flow >> 16U),
                                                      static_cast<std::uint8_t>(flow >> 8U),
                                                      static_cast<std::uint8_t>(flow)};
            std::memcpy(record + record_at::kSource + 1, address.data(), address.size());
            store(record + record_at::kTime,
                  std::int64_t{sequence_.now().time_since_epoch().count()});
        }
        return frame_at::kFirstRecord + records * kRecordBytes;
    }

    TrafficSequence sequence_;
    std::array<std::byte, unified_header::kRecordBytes> record_{};
    std::uint64_t sent_ = 0;
    std::vector<std::byte> ring_;
    std::size_t next_ = 0;
    std::array<PacketView, kFrames> frames_;
};

}  // namespace tributary::perf
