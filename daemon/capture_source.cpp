// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture_source.hpp"

#include <span>

#include "parsers/packet_fields.hpp"
#include "parsers/parse_packet.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

static_assert(PacketSource<CaptureSource>);

Burst CaptureSource::receive() noexcept {
    // Not where the last file ended: the burst of then still pointed into it.
    if (file_ended_ && !exhausted()) {
        open_next_file();
    }
    std::size_t own = 0;
    for (std::size_t i = 0; i < kScanItems && own < packets_.size() && !file_ended_; ++i) {
        own += try_next(packets_[own]) ? 1 : 0;
    }
    return {.packets = std::span(packets_).first(own), .now = times_.now()};
}

/// Steps over one item of the file.
/// @return  whether it is a frame of this worker, and `packet` written
bool CaptureSource::try_next(PacketView& packet) noexcept {
    CaptureFrame frame;
    const CaptureItem item = reader_.next(frame);
    if (item == CaptureItem::frame) {
        return accept(frame, packet);
    }
    file_ended_ = item == CaptureItem::end || item == CaptureItem::cut;
    if (!share_.has_packets_without_flow()) {
        return false;  // what concerns the file is told once
    }
    if (item == CaptureItem::unknown_interface) {
        counters_->unknown_interface.add();
        counters_->unknown_interface_octets.add(frame.wire_bytes);
    }
    if (item == CaptureItem::cut) {
        files_->mark_cut(next_file_ - 1);
    }
    return false;
}

void CaptureSource::open_next_file() noexcept {
    memory_ = files_->take(next_file_++);
    if (memory_ == nullptr) {
        failed_ = true;
        return;
    }
    reader_ = CaptureReader{memory_->bytes()};
    file_ended_ = false;
    if (parse_ && share_.has_packets_without_flow()) {
        note_overlap();
    }
}

/// Looks at the first frame of the file that was just opened, with a reader of its own, so that
/// nothing is asked of each frame.
void CaptureSource::note_overlap() const noexcept {
    CaptureReader reader{memory_->bytes()};
    CaptureFrame frame;
    CaptureItem item = reader.next(frame);
    while (item == CaptureItem::other_block) {
        item = reader.next(frame);
    }
    if (item == CaptureItem::frame && times_.is_good(frame.time) && frame.time < times_.now()) {
        files_->mark_overlap(next_file_ - 1, times_.now() - frame.time);
    }
}

/// Every frame moves the clock; those of this worker become packets.
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
