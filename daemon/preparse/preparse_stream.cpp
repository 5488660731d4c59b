// SPDX-License-Identifier: Apache-2.0
#include "daemon/preparse/preparse_stream.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace tributary {

using unified_header::frame_at::kFirstRecord;

void PreparseStream::take(std::span<const PacketView> packets) noexcept {
    std::array<Timestamp, kBurstPackets> times;
    std::ranges::transform(packets, times.begin(), &PacketView::seen_at);
    take(packets, std::span(times).first(packets.size()));
}

void PreparseStream::take(std::span<const PacketView> packets,
                          std::span<const Timestamp> times) noexcept {
    counters_.input.received.add(packets.size());
    const PacketMask passed = parser_.filter(packets);
    const PacketMask taken = parser_.sample(packets, passed);
    for (PacketMask left = passed; left != 0; left &= left - 1) {
        const auto index = static_cast<std::size_t>(std::countr_zero(left));
        const bool is_taken = (taken >> index & 1U) != 0;
        const ParseStatus status =
            is_taken ? parser_.parse(packets[index], fields_) : ParseStatus::not_sampled;
        add(packets[index], status, times[index]);
    }
}

void PreparseStream::add(const PacketView& packet, ParseStatus status, Timestamp time) noexcept {
    if (frame_.empty() && !begin_frame()) {
        counters_.packets[static_cast<std::size_t>(FrameOutcome::no_buffer)].add();
        ++frame_header_.sequence;
        return;
    }
    times_.advance(packet.seen_at);
    PacketView timed = packet;
    timed.seen_at = time;
    std::byte* const record =
        frame_.data() + kFirstRecord + frame_header_.records * frame_header_.record_bytes();
    write_unified_header(timed, status, fields_, record);
    if (frame_header_.has_segments) {
        write_unified_segment(status, fields_, record + unified_header::kRecordBytes);
    }
    if (++frame_header_.records == most_records_) {
        flush();
    }
}

bool PreparseStream::begin_frame() noexcept {
    frame_ = sink_.begin();
    if (frame_.empty()) {
        return false;
    }
    const std::size_t room = (frame_.size() - kFirstRecord) / frame_header_.record_bytes();
    most_records_ = static_cast<std::uint16_t>(
        std::min<std::size_t>(room, std::numeric_limits<std::uint16_t>::max()));
    return true;
}

void PreparseStream::flush() noexcept {
    const std::size_t records = frame_header_.records;
    if (records == 0) {
        return;
    }
    write_unified_frame(frame_header_, sink_.addresses(), frame_.data());
    const FrameOutcome outcome =
        sink_.send(kFirstRecord + records * frame_header_.record_bytes(), times_.now());
    counters_.packets[static_cast<std::size_t>(outcome)].add(records);
    counters_.frames[static_cast<std::size_t>(outcome)].add();
    frame_header_.sequence += records;
    frame_header_.records = 0;
    frame_ = {};
}

}  // namespace tributary
