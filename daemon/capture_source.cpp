// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture_source.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "parsers/parse_packet.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {

static_assert(PacketSource<CaptureSource>);

std::uint16_t worker_of(const IpAddress& source, const IpAddress& destination,
                        std::uint16_t workers) noexcept {
    struct Halves {
        std::uint64_t first;
        std::uint64_t second;
    };
    Halves a{};
    Halves b{};
    static_assert(sizeof a == sizeof source);
    std::memcpy(&a, source.data(), sizeof a);
    std::memcpy(&b, destination.data(), sizeof b);
    // XOR and sum are the same both ways round; together they tell pairs apart whose XOR is equal,
    // such as all of x and x + 1. The multipliers are XXH64's odd primes.
    std::uint64_t mix = (a.first ^ b.first) * 0x9E37'79B1'85EB'CA87U;
    mix = (mix ^ mix >> 32U ^ (a.first + b.first)) * 0xC2B2'AE3D'27D4'EB4FU;
    mix = (mix ^ mix >> 32U ^ (a.second ^ b.second)) * 0x9E37'79B1'85EB'CA87U;
    mix = (mix ^ mix >> 32U ^ (a.second + b.second)) * 0xC2B2'AE3D'27D4'EB4FU;
    mix = (mix ^ mix >> 29U) * 0x1656'67B1'9E37'79F9U;
    return static_cast<std::uint16_t>((mix >> 32U) * workers >>
                                      32U);  // top bits, scaled to 0 .. workers-1
}

Burst CaptureSource::receive() noexcept {
    // Not where the last file ended: the burst of then still pointed into it.
    if (file_ended_ && !exhausted()) {
        open_next_file();
    }
    std::size_t own = 0;
    for (std::size_t i = 0; i < kScanItems && own < packets_.size() && !file_ended_; ++i) {
        own += try_next(packets_[own]) ? 1 : 0;
    }
    return {.packets = std::span(packets_).first(own), .now = clock_};
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
    if (worker_ != 0) {
        return false;  // what concerns the file is told once
    }
    if (item == CaptureItem::unknown_interface) {
        counters_->unknown_interface.add();
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
}

/// Every frame moves the clock; those of this worker become packets.
bool CaptureSource::accept(const CaptureFrame& frame, PacketView& packet) noexcept {
    const bool good = frame.time >= kFirstTimestamp && frame.time <= kLastTimestamp;
    if (good) {
        last_good_ = frame.time;
        clock_ = std::max(clock_, frame.time);
    }
    packet = {.captured = frame.captured,
              .wire_bytes = frame.wire_bytes,
              .link_type = frame.link_type,
              .ingress_interface = ingress_interface_,
              .seen_at = last_good_,
              .clock = clock_};
    if (!owns(packet)) {
        return false;
    }
    if (!good) {
        counters_->bad_timestamp.add();
    }
    return true;
}

bool CaptureSource::owns(const PacketView& packet) const noexcept {
    if (files_->workers() == 1) {
        return true;
    }
    PacketFields fields;
    if (parse_packet(packet, fields) != ParseStatus::ok) {
        return worker_ == 0;
    }
    return worker_of(fields.source, fields.destination, files_->workers()) == worker_;
}

}  // namespace tributary
