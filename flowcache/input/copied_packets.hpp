// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>

#include "flowcache/input/frame_burst.hpp"
#include "flowcache/input/kept_packet.hpp"
#include "parsers/packet.hpp"

namespace tributary {

/// Buffers for copies of packets. The source's thread takes them, any thread gives them back:
///
///     given back, by any thread --> returned_ --all at once--> free_ --> the next copies
class CopyBuffers final : public KeptBuffers {
public:
    static constexpr std::size_t kBufferBytes = 2048;

    /// @param most  how many there are
    /// @errors      std::bad_alloc
    explicit CopyBuffers(std::uint32_t most)
        : KeptBuffers(most),
          octets_(std::make_unique_for_overwrite<std::byte[]>(most * kBufferBytes)),
          buffers_(std::make_unique<Buffer[]>(most)) {
        for (std::uint32_t number = 0; number < most; ++number) {
            buffers_[number].next = number + 1 < most ? number + 1 : kNone;
        }
        free_ = most > 0 ? 0 : kNone;
    }
    CopyBuffers(const CopyBuffers&) = delete;
    CopyBuffers& operator=(const CopyBuffers&) = delete;

    /// Copies a packet, into as many buffers as it needs.
    ///
    /// @return  none: there is no room, which is counted
    /// @thread  the source's
    [[nodiscard]] KeptPacket copy(const PacketView& packet) noexcept {
        std::span<const std::byte> left = packet.captured;
        const auto needed = static_cast<std::uint32_t>(
            std::max<std::size_t>(1, (left.size() + kBufferBytes - 1) / kBufferBytes));
        if (!try_keep(needed)) {
            return {};
        }
        const std::uint32_t first = take();
        std::uint32_t last = first;
        left = fill(first, left);
        while (!left.empty()) {
            const std::uint32_t number = take();
            buffers_[last].next = number;
            left = fill(number, left);
            last = number;
        }
        buffers_[last].next = kNone;
        PacketView view = packet;
        view.captured = octets_of(first);
        return {*this, octets_.get() + first * kBufferBytes, needed, view};
    }

    [[nodiscard]] FrameDetails details(const void* buffer) const noexcept override {
        std::uint16_t segments = 0;
        for (std::uint32_t number = number_of(buffer); number != kNone;
             number = buffers_[number].next) {
            ++segments;
        }
        return {.rss_hash = {}, .mark = {}, .segments = segments};
    }
    [[nodiscard]] std::span<const std::byte> segment(const void* buffer,
                                                     std::size_t number) const noexcept override {
        std::uint32_t place = number_of(buffer);
        for (; number > 0; --number) {
            place = buffers_[place].next;
        }
        return octets_of(place);
    }

private:
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    struct Buffer {
        std::uint32_t next = kNone;  ///< of the packet, or of a list
        std::uint32_t octets = 0;
    };

    ~CopyBuffers() override = default;

    [[nodiscard]] std::uint32_t number_of(const void* buffer) const noexcept {
        const auto at = static_cast<const std::byte*>(buffer) - octets_.get();
        return static_cast<std::uint32_t>(static_cast<std::size_t>(at) / kBufferBytes);
    }
    [[nodiscard]] std::span<const std::byte> octets_of(std::uint32_t number) const noexcept {
        return {octets_.get() + number * kBufferBytes, buffers_[number].octets};
    }
    /// A free buffer: there is one, because try_keep() counts them.
    [[nodiscard]] std::uint32_t take() noexcept {
        if (free_ == kNone) {
            // Acquire, for the release in put_back(): its list is whole.
            free_ = returned_.exchange(kNone, std::memory_order_acquire);
        }
        const std::uint32_t taken = free_;
        free_ = buffers_[taken].next;
        return taken;
    }
    /// @return  the octets that do not fit
    [[nodiscard]] std::span<const std::byte> fill(std::uint32_t number,
                                                  std::span<const std::byte> octets) noexcept {
        const std::size_t count = std::min(octets.size(), kBufferBytes);
        if (count > 0) {
            std::memcpy(octets_.get() + number * kBufferBytes, octets.data(), count);
        }
        buffers_[number].octets = static_cast<std::uint32_t>(count);
        return octets.subspan(count);
    }
    void put_back(void* buffer) noexcept override {
        const std::uint32_t first = number_of(buffer);
        std::uint32_t last = first;
        while (buffers_[last].next != kNone) {
            last = buffers_[last].next;
        }
        std::uint32_t head = returned_.load(std::memory_order_relaxed);
        do {
            buffers_[last].next = head;
            // Release, for the acquire in take(). The list is taken as a whole, so that a head that
            // is the same again is as good as before.
        } while (!returned_.compare_exchange_weak(head, first, std::memory_order_release,
                                                  std::memory_order_relaxed));
    }

    std::unique_ptr<std::byte[]> octets_;
    std::unique_ptr<Buffer[]> buffers_;
    std::uint32_t free_ = kNone;                              ///< first one of the source's thread
    alignas(64) std::atomic<std::uint32_t> returned_{kNone};  ///< first one of those given back
};

/// Keeps frames of a source whose memory cannot be kept, such as a capture's mapping, by copying
/// them. The source gives it to its bursts as their owner.
///
/// @thread  the source's
class CopiedPackets final : public FrameOwner {
public:
    /// @param most  buffers of CopyBuffers; 0: every frame is refused
    /// @errors      std::bad_alloc
    explicit CopiedPackets(std::uint32_t most) : buffers_(new CopyBuffers(most)) {}

    [[nodiscard]] FrameDetails details(const FrameBurst& /*burst*/,
                                       std::size_t /*index*/) const noexcept override {
        return {.rss_hash = {}, .mark = {}, .segments = 1};
    }
    [[nodiscard]] std::span<const std::byte> segment(
        const FrameBurst& burst, std::size_t index,
        std::size_t /*number*/) const noexcept override {
        return burst.frames[index].captured;
    }
    [[nodiscard]] KeptPacket keep(FrameBurst& burst, std::size_t index) noexcept override {
        KeptPacket packet = buffers_->copy(burst.frames[index]);
        burst.kept |= packet ? mask_of(index) : 0;
        return packet;
    }
    /// @thread  any, its counts
    [[nodiscard]] const KeptBuffers& kept() const noexcept { return *buffers_; }

private:
    SourcesHold<CopyBuffers> buffers_;
};

}  // namespace tributary
