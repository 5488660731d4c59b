// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/pcapng_reader.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "daemon/capture/pcapng_format.hpp"

namespace tributary {
namespace {

__extension__ typedef __int128 Wide;  // 64-bit ticks times 10^9, and 64-bit seconds times 10^9

constexpr std::uint32_t kByteOrderMagic = 0x1A2B'3C4D;
constexpr std::size_t kBlockHeader = 8;     ///< type and total length
constexpr std::size_t kBlockOverhead = 12;  ///< with the second length at the block's end

constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kTimeResolution = 9;  ///< if_tsresol
constexpr std::uint16_t kTimeOffset = 14;     ///< if_tsoffset

constexpr std::uint64_t kNanosPerSecond = 1'000'000'000;

std::uint64_t power_of_ten(unsigned exponent) noexcept {
    std::uint64_t power = 1;
    while (exponent-- > 0) {
        power *= 10;
    }
    return power;
}

/// Any byte is valid: the low seven bits are a negative power of two (top bit set) or of ten.
void set_resolution(PcapngInterface& interface, std::uint8_t resolution) noexcept {
    constexpr unsigned kNanoExponent = 9;
    constexpr unsigned kMaxDecimalExponent = 19;  // 10^19 is the last power below 2^64
    const unsigned exponent = resolution & 0x7FU;
    interface.divisor = 1;
    interface.factor = 1;
    interface.shift = 0;
    if ((resolution & 0x80U) != 0) {
        interface.factor = kNanosPerSecond;
        interface.shift = static_cast<std::uint8_t>(exponent);
    } else if (exponent <= kNanoExponent) {
        interface.factor = power_of_ten(kNanoExponent - exponent);
    } else if (exponent - kNanoExponent <= kMaxDecimalExponent) {
        interface.divisor = power_of_ten(exponent - kNanoExponent);
    } else {
        interface.factor = 0;  // 2^64 ticks are less than a nanosecond
    }
}

void read_options(std::span<const std::byte> options, CaptureByteOrder order,
                  PcapngInterface& interface) noexcept {
    constexpr std::size_t kOptionHeader = 4;
    while (options.size() >= kOptionHeader) {
        const std::uint16_t code = order.u16(options.first<2>());
        const std::size_t length = order.u16(options.subspan<2, 2>());
        options = options.subspan(kOptionHeader);
        const auto value = options.first(std::min(length, options.size()));
        options = options.subspan(std::min((length + 3) / 4 * 4, options.size()));
        if (code == kEndOfOptions) {
            return;
        }
        if (code == kTimeResolution && !value.empty()) {
            set_resolution(interface, std::to_integer<std::uint8_t>(value[0]));
        }
        if (code == kTimeOffset && length == sizeof(std::int64_t) && value.size() == length) {
            interface.offset_seconds = static_cast<std::int64_t>(order.u64(value.first<8>()));
        }
    }
}

}  // namespace

Timestamp PcapngInterface::time_of(std::uint64_t ticks) const noexcept {
    // Below 2^94, so that the sum cannot overflow. Most files count in micro- or nanoseconds and
    // need no division.
    const std::uint64_t units = divisor == 1 ? ticks : ticks / divisor;
    const Wide since_offset = (Wide{units} * factor) >> shift;
    const Wide nanoseconds = since_offset + Wide{offset_seconds} * kNanosPerSecond;
    using Limits = std::numeric_limits<PacketClock::rep>;
    const Wide held = std::clamp(nanoseconds, Wide{Limits::min()}, Wide{Limits::max()});
    return Timestamp{PacketClock::duration{static_cast<PacketClock::rep>(held)}};
}

struct PcapngReader::PacketBlock {
    std::uint32_t interface {};
    std::uint64_t ticks{};
    std::uint32_t captured_bytes{};
    std::uint32_t wire_bytes{};
    std::span<const std::byte> data;  ///< with padding and options
};

std::optional<PcapngReader> PcapngReader::try_open(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() < 4 ||
        PcapngBlock{CaptureByteOrder{}.u32(bytes.first<4>())} != PcapngBlock::section_header) {
        return std::nullopt;
    }
    PcapngReader reader;
    reader.rest_ = bytes;
    if (bytes.size() >= kBlockOverhead && !reader.start_section()) {
        return std::nullopt;
    }
    return reader;
}

CaptureItem PcapngReader::next(CaptureFrame& out) noexcept {
    if (rest_.empty()) {
        return CaptureItem::end;
    }
    if (rest_.size() < kBlockOverhead) {
        return CaptureItem::cut;
    }
    const bool new_section =
        PcapngBlock{order_.u32(rest_.first<4>())} == PcapngBlock::section_header;
    if (new_section && !start_section()) {
        damage_ = "the capture is damaged: a section header has neither byte order";
        return CaptureItem::cut;
    }
    const auto type = PcapngBlock{order_.u32(rest_.first<4>())};
    const std::size_t block_bytes = order_.u32(rest_.subspan<4, 4>());
    if (block_bytes < kBlockOverhead) {
        damage_ =
            "the capture is damaged: a block's length is below 12 octets, the least it can be";
        return CaptureItem::cut;
    }
    if (block_bytes > rest_.size()) {
        return CaptureItem::cut;
    }
    const auto body = rest_.subspan(kBlockHeader, block_bytes - kBlockOverhead);
    rest_ = rest_.subspan(block_bytes);
    switch (type) {
        case PcapngBlock::enhanced_packet:
            return timed_packet(body, true, out);
        case PcapngBlock::simple_packet:
            return simple_packet(body, out);
        case PcapngBlock::obsolete_packet:
            return timed_packet(body, false, out);
        case PcapngBlock::interface_description:
            add_interface(body);
            return CaptureItem::other_block;
        default:
            return CaptureItem::other_block;
    }
}

/// Takes the byte order of the section header at rest_, and clears the last section's interfaces.
/// @return  false: neither byte order, so that the block's length cannot be read
bool PcapngReader::start_section() noexcept {
    interfaces_.clear();
    has_no_memory_ = false;
    const auto magic = rest_.subspan<8, 4>();
    for (const std::endian endian : {std::endian::little, std::endian::big}) {
        order_ = CaptureByteOrder{endian};
        if (order_.u32(magic) == kByteOrderMagic) {
            return true;
        }
    }
    return false;
}

void PcapngReader::add_interface(std::span<const std::byte> body) noexcept {
    if (interfaces_.size() == kMaxInterfaces || has_no_memory_) {
        return;
    }
    // A block without a link type still takes its number: packets refer to interfaces by position.
    PcapngInterface interface;
    if (body.size() >= 8) {
        interface.described = true;
        interface.link_type = LinkType{order_.u16(body.first<2>())};
        interface.snap_bytes = order_.u32(body.subspan<4, 4>());
        read_options(body.subspan(8), order_, interface);
    }
    try {
        interfaces_.push_back(interface);
    } catch (const std::bad_alloc&) {
        has_no_memory_ = true;  // frames of this and all later interfaces count as unknown
    }
}

/// The block types differ in their first four octets alone: an enhanced packet has 32 bits of
/// interface there, an obsolete one 16 bits of interface and 16 of drop count.
CaptureItem PcapngReader::timed_packet(std::span<const std::byte> body, bool enhanced,
                                       CaptureFrame& out) const noexcept {
    constexpr std::size_t kHeader = 20;
    if (body.size() < kHeader) {
        return CaptureItem::other_block;
    }
    const auto header = body.first<kHeader>();
    const std::uint64_t high = order_.u32(header.subspan<4, 4>());
    return packet({.interface = enhanced ? order_.u32(header.subspan<0, 4>())
                                         : order_.u16(header.subspan<0, 2>()),
                   .ticks = high << 32U | order_.u32(header.subspan<8, 4>()),
                   .captured_bytes = order_.u32(header.subspan<12, 4>()),
                   .wire_bytes = order_.u32(header.subspan<16, 4>()),
                   .data = body.subspan(kHeader)},
                  out);
}

/// A simple packet has no time (it counts as zero ticks) and belongs to the first interface; its
/// captured length follows from the snap length.
CaptureItem PcapngReader::simple_packet(std::span<const std::byte> body,
                                        CaptureFrame& out) const noexcept {
    constexpr std::size_t kHeader = 4;
    if (body.size() < kHeader) {
        return CaptureItem::other_block;
    }
    const std::uint32_t wire_bytes = order_.u32(body.first<kHeader>());
    const bool snapped = !interfaces_.empty() && interfaces_.front().snap_bytes != 0;
    return packet({.captured_bytes =
                       snapped ? std::min(wire_bytes, interfaces_.front().snap_bytes) : wire_bytes,
                   .wire_bytes = wire_bytes,
                   .data = body.subspan(kHeader)},
                  out);
}

CaptureItem PcapngReader::packet(const PacketBlock& block, CaptureFrame& out) const noexcept {
    // A block may announce more than it holds: then the octets that it holds are the packet.
    out.captured = block.data.first(std::min<std::size_t>(block.captured_bytes, block.data.size()));
    out.wire_bytes = std::max(block.wire_bytes, static_cast<std::uint32_t>(out.captured.size()));
    if (block.interface >= interfaces_.size() || !interfaces_[block.interface].described) {
        return CaptureItem::unknown_interface;
    }
    const PcapngInterface& interface = interfaces_[block.interface];
    out.link_type = interface.link_type;
    out.time = interface.time_of(block.ticks);
    return CaptureItem::frame;
}

}  // namespace tributary
