// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/pcap_reader.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "flowcache/record/prefetch.hpp"

namespace tributary {
namespace {

struct Format {
    std::uint32_t magic;
    std::int64_t fraction_ns;
    std::size_t record_header;
};
constexpr std::size_t kRecordHeader = 16;
constexpr std::size_t kModifiedRecordHeader =
    24;  ///< adds interface index, protocol and packet type
constexpr std::array kFormats{Format{0xA1B2'C3D4, 1000, kRecordHeader},
                              Format{0xA1B2'3C4D, 1, kRecordHeader},
                              Format{0xA1B2'CD34, 1000, kModifiedRecordHeader}};

/// The bits above encode the presence and length of a frame check sequence (draft-ietf-opsawg-pcap
/// §4).
constexpr std::uint32_t kLinkTypeBits = 0x03FF'FFFF;

}  // namespace

std::optional<PcapReader> PcapReader::try_open(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() < kFileHeader) {
        return std::nullopt;
    }
    const auto header = bytes.first<kFileHeader>();
    for (const std::endian endian : {std::endian::little, std::endian::big}) {
        const CaptureByteOrder order{endian};
        const auto* const format =
            std::ranges::find(kFormats, order.u32(header.subspan<0, 4>()), &Format::magic);
        if (format == kFormats.end()) {
            continue;
        }
        PcapReader reader;
        reader.rest_ = bytes.subspan(kFileHeader);
        reader.order_ = order;
        reader.link_type_ = LinkType{order.u32(header.subspan<20, 4>()) & kLinkTypeBits};
        reader.fraction_ns_ = format->fraction_ns;
        reader.record_header_ = format->record_header;
        return reader;
    }
    return std::nullopt;
}

CaptureItem PcapReader::next(CaptureFrame& out) noexcept {
    if (rest_.empty()) {
        return CaptureItem::end;
    }
    if (rest_.size() < record_header_) {
        return CaptureItem::cut;
    }
    // A frame's length is known only after its header was read, so the hardware does not prefetch
    // the next pages in time. Two cache lines, because small frames are longer than one.
    constexpr std::size_t kAhead = 4096;
    constexpr std::size_t kLine = 64;
    if (rest_.size() > kAhead + kLine) {
        prefetch_to_read(rest_.data() + kAhead);
        prefetch_to_read(rest_.data() + kAhead + kLine);
    }
    const auto header = rest_.first<kRecordHeader>();
    const std::uint32_t captured_bytes = order_.u32(header.subspan<8, 4>());
    if (rest_.size() - record_header_ < captured_bytes) {
        return CaptureItem::cut;
    }
    out.captured = rest_.subspan(record_header_, captured_bytes);
    out.wire_bytes = std::max(order_.u32(header.subspan<12, 4>()), captured_bytes);
    out.link_type = link_type_;
    // Two 32-bit words: 2^32 s + 2^32 us stays far below the 2^63 ns of a Timestamp.
    out.time =
        Timestamp{std::chrono::seconds{order_.u32(header.subspan<0, 4>())} +
                  std::chrono::nanoseconds{order_.u32(header.subspan<4, 4>()) * fraction_ns_}};
    rest_ = rest_.subspan(record_header_ + captured_bytes);
    return CaptureItem::frame;
}

}  // namespace tributary
