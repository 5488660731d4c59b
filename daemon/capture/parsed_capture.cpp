// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/parsed_capture.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "flowcache/record/prefetch.hpp"
#include "parsers/parse_packet.hpp"
#include "parsers/parse_status.hpp"

namespace tributary {
namespace {

/// Frames of a batch for each worker: two bursts, if all have as many.
constexpr std::size_t kFramesOfWorker = 2 * kBurstPackets;

}  // namespace

static_assert(ParsedFrameSource<ParsedCaptureShare>);

ParsedCapture::ParsedCapture(CaptureFiles& files, std::uint16_t workers,
                             InterfaceIndex ingress_interface, const ParseOptions& parse)
    : files_(files),
      workers_(workers),
      parse_(parse),
      source_(files, counters_, ingress_interface) {
    for (Batch& batch : batches_) {
        batch.frames.resize(kFramesOfWorker * workers);
        batch.first.resize(workers);
        batch.last.resize(workers);
    }
}

const ParsedCapture::Batch* ParsedCapture::take(std::size_t number) noexcept {
    std::unique_lock lock{mutex_};
    if (number < made_ && may_read_ahead_ && may_read()) {
        read_next(lock);
    }
    while (number == made_) {
        if (has_ended_) {
            return nullptr;
        }
        if (may_read()) {
            read_next(lock);
        } else if (!wait(lock)) {
            return nullptr;
        }
    }
    return &batches_[number % kBatches];
}

void ParsedCapture::leave(std::size_t number) noexcept {
    std::shared_ptr<OpenCapture> passed;  // closes the file after the mutex is free
    const std::scoped_lock lock{mutex_};
    Batch& batch = batches_[number % kBatches];
    if (--batch.holders == 0) {
        passed = std::move(batch.capture);
        change_.notify_all();
    }
}

/// Whether no worker reads, and there is room for another batch.
bool ParsedCapture::may_read() const noexcept {
    return !is_reading_ && !has_ended_ && batches_[made_ % kBatches].holders == 0;
}

/// @return  false: the workers are to stop
bool ParsedCapture::wait(std::unique_lock<std::mutex>& lock) noexcept {
    constexpr std::chrono::milliseconds kLook{100};
    change_.wait_for(lock, kLook);
    return !files_.is_abandoned();
}

void ParsedCapture::read_next(std::unique_lock<std::mutex>& lock) noexcept {
    Batch& batch = batches_[made_ % kBatches];
    is_reading_ = true;
    lock.unlock();
    fill(batch);
    const bool is_there = !source_.pauses();
    const bool takes_no_wait = !source_.is_between_files() && !files_.is_in_pipe();
    lock.lock();
    is_reading_ = false;
    may_read_ahead_ = is_there || takes_no_wait;
    has_ended_ = batch.is_last;
    batch.holders = workers_;
    ++made_;
    change_.notify_all();
}

void ParsedCapture::fill(Batch& batch) noexcept {
    const std::uint64_t unknown = counters_.unknown_interface.read();
    const std::uint64_t unknown_octets = counters_.unknown_interface_octets.read();
    batch.count = 0;
    std::ranges::fill(batch.first, kNone);
    // The number of frames is bounded, and all lie in one piece of the capture: where the source
    // pauses, the frames that it reads next go into another batch.
    for (std::size_t room = batch.frames.size(); room >= kBurstPackets; room -= kBurstPackets) {
        const Burst burst = source_.receive();
        append(batch, burst);
        batch.now = burst.now;
        if (source_.pauses()) {
            break;
        }
    }
    batch.capture = source_.capture();
    batch.is_last = source_.exhausted();
    batch.unknown_interface = counters_.unknown_interface.read() - unknown;
    batch.unknown_interface_octets = counters_.unknown_interface_octets.read() - unknown_octets;
}

void ParsedCapture::append(Batch& batch, const Burst& burst) noexcept {
    const ParseOptions parse = parse_;  // a copy, which no store to fields can change
    PacketMask bad_times = source_.bad_times();
    for (const PacketView& packet : burst.packets) {
        Frame& frame = batch.frames[batch.count];
        ParsedFrame& parsed = frame.parsed;
        parsed.packet = packet;
        parsed.status = parse_plain(packet, parse, parsed.fields)
                            ? ParseStatus::ok
                            : parse_header_by_header(packet, parse, parsed.fields);
        frame.next = kNone;
        frame.has_bad_time = (bad_times & 1U) != 0;
        bad_times >>= 1U;
        const std::uint16_t worker =
            parsed.status == ParseStatus::ok ? worker_of(parsed.fields, workers_) : std::uint16_t{};
        std::uint32_t& place = batch.first[worker] == kNone ? batch.first[worker]
                                                            : batch.frames[batch.last[worker]].next;
        place = batch.count;
        batch.last[worker] = batch.count;
        ++batch.count;
    }
}

ParsedFrames ParsedCaptureShare::receive() noexcept {
    if (batch_ == nullptr && !begin_batch()) {
        return {.frames = {}, .now = now_};
    }
    std::size_t count = 0;
    std::uint64_t bad_times = 0;
    while (next_ != ParsedCapture::kNone && count < frames_.size()) {
        ParsedCapture::Frame& frame = capture_.frame(number_, next_);
        frames_[count] = &frame.parsed;
        ++count;
        bad_times += frame.has_bad_time ? 1 : 0;
        next_ = frame.next;
    }
    counters_.bad_timestamp.add(bad_times);
    now_ = next_ == ParsedCapture::kNone ? batch_->now : frames_[count - 1]->packet.clock;
    return {.frames = std::span(frames_).first(count), .now = now_};
}

bool ParsedCaptureShare::begin_batch() noexcept {
    if (has_ended_) {
        return false;
    }
    batch_ = capture_.take(number_);
    if (batch_ == nullptr) {
        has_ended_ = true;
        return false;
    }
    next_ = batch_->first[worker_];
    if (worker_ == 0) {
        counters_.unknown_interface.add(batch_->unknown_interface);
        counters_.unknown_interface_octets.add(batch_->unknown_interface_octets);
    }
    return true;
}

void ParsedCaptureShare::release() noexcept {
    if (batch_ == nullptr || next_ != ParsedCapture::kNone) {
        return;
    }
    has_ended_ = batch_->is_last;
    capture_.leave(number_);
    ++number_;
    batch_ = nullptr;
}

}  // namespace tributary
