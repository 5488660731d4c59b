// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture_feed.hpp"

#include <memory>
#include <span>

namespace tributary {

void CaptureFeed::run(const std::atomic<bool>& stop) noexcept {
    const auto go_on = [&stop] { return !stop.load(std::memory_order_relaxed); };
    for (std::size_t file = 0; file < files_.count() && go_on(); ++file) {
        const std::shared_ptr<const CaptureMemory> memory = files_.take(file);
        if (memory == nullptr) {
            break;
        }
        CaptureReader reader{memory->bytes()};
        while (go_on() && !read_some(reader, file)) {
        }
    }
    stream_.flush();
}

bool CaptureFeed::read_some(CaptureReader& reader, std::size_t file) noexcept {
    bool ended = false;
    while (count_ < packets_.size() && !ended) {
        CaptureFrame frame;
        switch (reader.next(frame)) {
            case CaptureItem::frame:
                take(frame);
                break;
            case CaptureItem::unknown_interface:
                unknown_interface_.add();
                break;
            case CaptureItem::other_block:
                break;
            case CaptureItem::cut:
                files_.mark_cut(file);
                [[fallthrough]];
            case CaptureItem::end:
                ended = true;
        }
    }
    hand_over();  // before the file's memory goes
    return ended;
}

void CaptureFeed::take(const CaptureFrame& frame) noexcept {
    const Timestamp seen_at = times_.stamp(frame.time);
    if (seen_at != frame.time) {
        bad_timestamps_.add();
    }
    told_[count_] = frame.time;
    packets_[count_] = {.captured = frame.captured,
                        .wire_bytes = frame.wire_bytes,
                        .link_type = frame.link_type,
                        .ingress_interface = ingress_interface_,
                        .seen_at = seen_at,
                        .clock = times_.now()};
    ++count_;
}

void CaptureFeed::hand_over() noexcept {
    stream_.take(std::span(packets_).first(count_), std::span(told_).first(count_));
    count_ = 0;
}

}  // namespace tributary
