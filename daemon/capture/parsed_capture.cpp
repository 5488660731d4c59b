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

/// Prefetches a frame that will be written: another core may have it in its caches. Inlined, else
/// g++ 12 drops it (prefetch.hpp).
[[gnu::always_inline]] inline void prefetch_to_write_whole(
    const ParsedCapture::Frame& frame) noexcept {
    constexpr std::size_t kCacheLine = 64;
    const auto* const bytes = reinterpret_cast<const std::byte*>(&frame);
    for (std::size_t at = 0; at < sizeof frame; at += kCacheLine) {
        prefetch_to_write(bytes + at);
    }
}

}  // namespace

static_assert(ParsedFrameSource<ParsedCaptureShare>);

ParsedCapture::ParsedCapture(CaptureFiles& files, std::uint16_t workers,
                             InterfaceIndex ingress_interface, const ParseOptions& options,
                             bool is_numbered)
    : files_(files),
      workers_(workers),
      options_(options),
      is_numbered_(is_numbered),
      source_(files, counters_, ingress_interface) {
    for (Batch& batch : batches_) {
        batch.workers.resize(workers);
    }
}

const ParsedCapture::Batch* ParsedCapture::take(std::size_t number) noexcept {
    std::unique_lock lock{mutex_};
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
    // Reading a batch takes longer than a worker's part of it, so one worker or another should read
    // all the time. No further ahead, so that few batches share the caches.
    if (number + 1 == made_ && may_read_ahead_ && may_read()) {
        read_next(lock);
    }
    return &batches_[number % kBatches];
}

void ParsedCapture::leave(std::size_t number) noexcept {
    std::shared_ptr<OpenCapture> passed;  // closes the file after the mutex is free
    const std::scoped_lock lock{mutex_};
    Batch& batch = batches_[number % kBatches];
    if (--batch.holders_ == 0) {
        passed = std::move(batch.capture_);
        announce_change();
    }
}

/// Whether no worker reads, and there is room for another batch.
bool ParsedCapture::may_read() const noexcept {
    return !is_reading_ && !has_ended_ && batches_[made_ % kBatches].holders_ == 0;
}

void ParsedCapture::announce_change() noexcept {
    changes_.fetch_add(1, std::memory_order_relaxed);
    change_.notify_all();
}

/// Waits for a change. It mostly comes within some microseconds, and a thread that sleeps takes
/// longer to wake up than a worker takes for a batch.
///
/// @return  false: the workers are to stop
bool ParsedCapture::wait(std::unique_lock<std::mutex>& lock) noexcept {
    constexpr std::chrono::milliseconds kLook{100};
    constexpr int kPolls = 2000;  // some 50 us
    const std::uint32_t changes = changes_.load(std::memory_order_relaxed);
    const auto has_changed = [&] { return changes_.load(std::memory_order_relaxed) != changes; };
    lock.unlock();
    for (int poll = 0; poll < kPolls && !has_changed(); ++poll) {
        __builtin_ia32_pause();
    }
    lock.lock();
    if (!has_changed()) {
        change_.wait_for(lock, kLook);
    }
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
    batch.holders_ = workers_;
    ++made_;
    announce_change();
}

void ParsedCapture::fill(Batch& batch) noexcept {
    const std::uint64_t unknown = counters_.unknown_interface.read();
    const std::uint64_t unknown_octets = counters_.unknown_interface_octets.read();
    for (WorkerFrames& frames : batch.workers) {
        frames.count = 0;
    }
    // Each worker has room for one burst more. All frames lie in one piece of the capture: where
    // the source pauses, the frames that it reads next go into another batch.
    for (std::size_t most = 0; most + kBurstPackets <= kFramesOfWorker;) {
        const FrameBurst burst = source_.receive();
        parse(burst);
        most = distribute(batch, burst.frames.size());
        batch.now = burst.now;
        if (source_.pauses()) {
            break;
        }
    }
    batch.next_number = next_number_;
    batch.capture_ = source_.capture();
    batch.is_last = source_.exhausted();
    batch.unknown_interface = counters_.unknown_interface.read() - unknown;
    batch.unknown_interface_octets = counters_.unknown_interface_octets.read() - unknown_octets;
}

void ParsedCapture::parse(const FrameBurst& burst) noexcept {
    const ParseOptions options = options_;  // a copy, which no store to fields can change
    PacketMask bad_times = source_.bad_times();
    Frame* frame = burst_.data();
    for (const PacketView& packet : burst.frames) {
        ParsedFrame& parsed = frame->parsed;
        parsed.packet = packet;
        parsed.status = parse_plain(packet, options, parsed.fields)
                            ? ParseStatus::ok
                            : parse_header_by_header(packet, options, parsed.fields);
        frame->has_bad_time = (bad_times & 1U) != 0;
        bad_times >>= 1U;
        ++frame;
    }
    if (is_numbered_) {
        for (Frame& parsed : std::span(burst_).first(burst.frames.size())) {
            parsed.number = next_number_;
            ++next_number_;
        }
    }
}

/// Copies parsed frames to their workers. A copy right behind its parsing would wait for the
/// parser's narrow stores.
///
/// @return  frames of the worker that has most of them
std::size_t ParsedCapture::distribute(Batch& batch, std::size_t count) noexcept {
    constexpr std::size_t kAhead = 10;
    for (const Frame& frame : std::span(burst_).first(count)) {
        const std::uint16_t worker = frame.parsed.status == ParseStatus::ok
                                         ? worker_of(frame.parsed.fields, workers_)
                                         : std::uint16_t{};
        WorkerFrames& frames = batch.workers[worker];
        frames.room[frames.count] = frame;
        ++frames.count;
        if (frames.count + kAhead < kFramesOfWorker) {
            prefetch_to_write_whole(frames.room[frames.count + kAhead]);
        }
    }
    return std::ranges::max_element(batch.workers, {}, &WorkerFrames::count)->count;
}

ParsedFrames ParsedCaptureShare::receive() noexcept {
    if (batch_ == nullptr && !begin_batch()) {
        return {.frames = {},
                .now = now_,
                .owner = &copies_,
                .numbers = capture_.is_numbered() ? numbers_.data() : nullptr,
                .next_number = next_number_};
    }
    const std::size_t count = std::min(frames_.size(), burst_.size());
    std::uint64_t bad_times = 0;
    for (std::size_t i = 0; i < count; ++i) {
        burst_[i] = &frames_[i].parsed;
        bad_times += frames_[i].has_bad_time ? 1 : 0;
    }
    ParsedFrames taken{.frames = std::span(burst_).first(count), .now = {}, .owner = &copies_};
    if (capture_.is_numbered()) {
        for (std::size_t i = 0; i < count; ++i) {
            numbers_[i] = frames_[i].number;
        }
        taken.numbers = numbers_.data();
        next_number_ = count < frames_.size() ? frames_[count].number : batch_->next_number;
        taken.next_number = next_number_;
    }
    frames_ = frames_.subspan(count);
    counters_.bad_timestamp.add(bad_times);
    now_ = frames_.empty() ? batch_->now : burst_[count - 1]->packet.clock;
    taken.now = now_;
    return taken;
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
    frames_ = capture_.frames(number_, worker_);
    if (worker_ == 0) {
        counters_.unknown_interface.add(batch_->unknown_interface);
        counters_.unknown_interface_octets.add(batch_->unknown_interface_octets);
    }
    return true;
}

void ParsedCaptureShare::release() noexcept {
    if (batch_ == nullptr || !frames_.empty()) {
        return;
    }
    has_ended_ = batch_->is_last;
    capture_.leave(number_);
    ++number_;
    batch_ = nullptr;
}

}  // namespace tributary
