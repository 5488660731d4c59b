// SPDX-License-Identifier: Apache-2.0
#include "daemon/preparse/capture_feed.hpp"

#include <memory>
#include <span>
#include <utility>

namespace tributary {

void CaptureFeed::run(const std::atomic<bool>& stop) noexcept {
    const auto go_on = [&stop] { return !stop.load(std::memory_order_relaxed); };
    for (std::size_t file = 0; file < files_.count() && go_on(); ++file) {
        std::shared_ptr<OpenCapture> capture = files_.take(file);
        if (capture == nullptr) {
            break;
        }
        CaptureWalk walk(std::move(capture));
        CaptureItem item = CaptureItem::frame;
        while (go_on() && item != CaptureItem::end && item != CaptureItem::cut) {
            item = read_some(walk);
        }
        if (!note_end(walk, item, file)) {
            break;
        }
    }
    stream_.flush();
}

CaptureItem CaptureFeed::read_some(CaptureWalk& walk) noexcept {
    CaptureItem item = CaptureItem::frame;
    bool goes_on = true;
    while (count_ < packets_.size() && goes_on) {
        CaptureFrame frame;
        item = walk.next(frame);
        switch (item) {
            case CaptureItem::frame:
                take(frame);
                break;
            case CaptureItem::unknown_interface:
                unknown_interface_.add();
                break;
            case CaptureItem::other_block:
                break;
            case CaptureItem::cut:
            case CaptureItem::end:
            case CaptureItem::pause:
                goes_on = false;
        }
    }
    hand_over();  // before the file's memory is freed
    if (item == CaptureItem::pause) {
        walk.read_on();
    }
    return item;
}

/// @return  true: go on with the next file
bool CaptureFeed::note_end(const CaptureWalk& walk, CaptureItem item, std::size_t file) noexcept {
    if (item != CaptureItem::end && item != CaptureItem::cut) {
        return true;  // reading stopped before its end
    }
    const CaptureEnding ending = walk.ending();
    if (ending == CaptureEnding::unreadable) {
        files_.mark_unreadable(file, walk.fault());
    } else if (item == CaptureItem::cut && ending != CaptureEnding::abandoned) {
        files_.mark_cut(file, walk.fault());
    }
    return ending == CaptureEnding::whole || ending == CaptureEnding::damaged;
}

void CaptureFeed::take(const CaptureFrame& frame) noexcept {
    const Timestamp seen_at = times_.stamp(frame.time);
    if (seen_at != frame.time) {
        bad_timestamps_.add();
    }
    received_times_[count_] = frame.time;
    packets_[count_] = {.captured = frame.captured,
                        .wire_bytes = frame.wire_bytes,
                        .link_type = frame.link_type,
                        .ingress_interface = ingress_interface_,
                        .seen_at = seen_at,
                        .clock = times_.now()};
    ++count_;
}

void CaptureFeed::hand_over() noexcept {
    stream_.take(std::span(packets_).first(count_), std::span(received_times_).first(count_));
    count_ = 0;
}

}  // namespace tributary
