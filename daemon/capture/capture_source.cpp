// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_source.hpp"

#include <span>
#include <utility>

namespace tributary {

static_assert(PacketSource<CaptureSource>);

FrameBurst CaptureSource::receive() noexcept {
    // Now, not at the end of the last file or piece: that burst still pointed into it.
    if (pauses_ && !exhausted()) [[unlikely]] {
        go_on();
    }
    bad_times_ = 0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < kScanItems && count < packets_.size() && !pauses_; ++i) {
        count += try_next(count) ? 1 : 0;
    }
    return {.frames = std::span(packets_).first(count), .now = times_.now(), .owner = &copies_};
}

/// Steps over one item of the file.
/// @param place  in the burst
/// @return       whether it is a frame, and that packet written
bool CaptureSource::try_next(std::size_t place) noexcept {
    CaptureFrame frame;
    const CaptureItem item = walk_.next(frame);
    if (item == CaptureItem::frame) {
        accept(frame, place);
        return true;
    }
    note(item, frame);
    return false;
}

/// For items other than frames. One worker reports the items of the whole file, once.
void CaptureSource::note(CaptureItem item, const CaptureFrame& frame) noexcept {
    switch (item) {
        case CaptureItem::unknown_interface:
            if (reports_files_) {
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
    if (!reports_files_) {
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
    overlap_is_known_ = !are_packets_;
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

/// Every frame advances the clock and becomes a packet.
void CaptureSource::accept(const CaptureFrame& frame, std::size_t place) noexcept {
    const Timestamp seen_at = times_.stamp(frame.time);
    packets_[place] = {.captured = frame.captured,
                       .wire_bytes = frame.wire_bytes,
                       .link_type = frame.link_type,
                       .ingress_interface = ingress_interface_,
                       .seen_at = seen_at,
                       .clock = times_.now()};
    if (are_packets_ && seen_at != frame.time) {
        counters_->bad_timestamp.add();
        bad_times_ |= mask_of(place);
    }
}

}  // namespace tributary
