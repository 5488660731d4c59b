// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_source.hpp"

#include <span>
#include <utility>

#include "parsers/packet_fields.hpp"
#include "parsers/parse_packet.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

static_assert(PacketSource<CaptureSource>);

Burst CaptureSource::receive() noexcept {
    // Now, not at the end of the last file or piece: that burst still pointed into it.
    if (pauses_ && !exhausted()) [[unlikely]] {
        go_on();
    }
    std::size_t own = 0;
    for (std::size_t i = 0; i < kScanItems && own < packets_.size() && !pauses_; ++i) {
        own += try_next(packets_[own]) ? 1 : 0;
    }
    return {.packets = std::span(packets_).first(own), .now = times_.now()};
}

/// Steps over one item of the file.
/// @return  whether it is a frame of this worker, and `packet` written
bool CaptureSource::try_next(PacketView& packet) noexcept {
    CaptureFrame frame;
    const CaptureItem item = walk_.next(frame);
    if (item == CaptureItem::frame) {
        return accept(frame, packet);
    }
    note(item, frame);
    return false;
}

/// For items other than frames. One worker reports the items of the whole file, once.
void CaptureSource::note(CaptureItem item, const CaptureFrame& frame) noexcept {
    switch (item) {
        case CaptureItem::unknown_interface:
            if (share_.has_packets_without_flow()) {
                counters_->unknown_interface.add();
                counters_->unknown_interface_octets.add(frame.wire_bytes);
            }
            break;
        case CaptureItem::pause:
            pauses_ = true;
            break;
        case CaptureItem::end:
        case CaptureItem::cut:
            note_end(item);
            break;
        case CaptureItem::frame:
        case CaptureItem::other_block:
            break;
    }
}

void CaptureSource::note_end(CaptureItem item) noexcept {
    pauses_ = true;
    file_ended_ = true;
    const CaptureEnding ending = walk_.ending();
    failed_ = ending == CaptureEnding::unreadable || ending == CaptureEnding::abandoned;
    if (!share_.has_packets_without_flow()) {
        return;
    }
    if (ending == CaptureEnding::unreadable) {
        files_->mark_unreadable(next_file_ - 1, walk_.fault());
    } else if (item == CaptureItem::cut && !failed_) {
        files_->mark_cut(next_file_ - 1, walk_.fault());
    }
}

void CaptureSource::go_on() noexcept {
    if (file_ended_) {
        open_next_file();
    } else {
        walk_.read_on();
        pauses_ = false;
    }
    if (!overlap_is_known_ && !pauses_) {
        note_overlap();
    }
}

void CaptureSource::open_next_file() noexcept {
    auto capture = files_->take(next_file_++);
    if (capture == nullptr) {
        failed_ = true;
        return;
    }
    walk_ = CaptureWalk(std::move(capture));
    file_ended_ = false;
    pauses_ = false;
    overlap_is_known_ = !parse_ || !share_.has_packets_without_flow();
}

/// Looks ahead at the first frame of a file, so that no frame needs a check.
void CaptureSource::note_overlap() noexcept {
    CaptureFrame frame;
    const CaptureItem item = walk_.look_ahead(frame);
    overlap_is_known_ = item != CaptureItem::pause;
    if (item == CaptureItem::frame && times_.is_good(frame.time) && frame.time < times_.now()) {
        files_->mark_overlap(next_file_ - 1, times_.now() - frame.time);
    }
}

/// Every frame advances the clock; frames of this worker become packets.
bool CaptureSource::accept(const CaptureFrame& frame, PacketView& packet) noexcept {
    const Timestamp seen_at = times_.stamp(frame.time);
    packet = {.captured = frame.captured,
              .wire_bytes = frame.wire_bytes,
              .link_type = frame.link_type,
              .ingress_interface = ingress_interface_,
              .seen_at = seen_at,
              .clock = times_.now()};
    if (!parse_) {
        return true;
    }
    if (!owns(packet)) {
        return false;
    }
    if (seen_at != frame.time) {
        counters_->bad_timestamp.add();
    }
    return true;
}

bool CaptureSource::owns(const PacketView& packet) const noexcept {
    if (!parse_ || share_.is_everything()) {
        return true;
    }
    PacketFields fields;
    if (parse_packet(packet, *parse_, fields) != ParseStatus::ok) {
        return share_.has_packets_without_flow();
    }
    return share_.has(fields);
}

}  // namespace tributary
