// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "flowcache/record/counter.hpp"
#include "parsers/packet.hpp"

namespace tributary {

/// What few need of a frame, beside its PacketView. It is looked up on demand. nullopt: the source
/// does not know it.
struct FrameDetails {
    std::optional<std::uint32_t> rss_hash{};  ///< that the NIC spread the frame by
    std::optional<std::uint32_t> mark{};      ///< of the NIC's rule that the frame matched
    std::optional<std::uint16_t> segments{};  ///< buffers that hold the frame, 1 or more
    friend bool operator==(const FrameDetails&, const FrameDetails&) = default;
};

/// The buffers in which stages keep packets of one queue. There may be at most a number that is
/// stated at the start, so that the source never lacks them:
///
///     wanted = kept + refused
///     kept   = given back + held
///
/// It outlives its source as long as a packet is held.
class KeptBuffers {
public:
    /// @param most  buffers that packets may hold at a time; each segment of a packet is one
    explicit KeptBuffers(std::uint32_t most) noexcept : most_(most) {}
    KeptBuffers(const KeptBuffers&) = delete;
    KeptBuffers& operator=(const KeptBuffers&) = delete;

    /// Takes room for one more packet. If there is none, the packet counts as refused.
    ///
    /// @param buffers  of the packet, at least 1
    /// @thread         the source's
    [[nodiscard]] bool try_keep(std::uint32_t buffers) noexcept {
        // Acquire, for the release in leave(): those that left are back in their pool.
        const std::uint64_t holders = holders_.load(std::memory_order_acquire);
        if (std::uint64_t{buffers_of(holders)} + buffers > most_) {
            refused_.add();
            return false;
        }
        kept_.add();
        // Release, for the acquire in held(): those held are counted.
        holders_.fetch_add(holder(buffers), std::memory_order_release);
        return true;
    }
    /// Takes a packet back.
    ///
    /// @param buffer   the first one
    /// @param buffers  as in try_keep()
    /// @thread         any
    /// @cost           one atomic addition, and what the pool takes
    void take_back(void* buffer, std::uint32_t buffers) noexcept {
        put_back(buffer);
        leave(holder(buffers));
    }
    /// The source is gone.
    void let_go() noexcept { leave(kSource); }

    /// @param buffer  the first one of a packet that is held
    /// @thread        its holder's, like segment()
    [[nodiscard]] virtual FrameDetails details(const void* buffer) const noexcept = 0;
    /// @param number  of the segment, from 0, below the packet's buffers
    [[nodiscard]] virtual std::span<const std::byte> segment(const void* buffer,
                                                             std::size_t number) const noexcept = 0;

    [[nodiscard]] std::uint32_t most() const noexcept { return most_; }
    /// Packets since the start. @thread any
    [[nodiscard]] std::uint64_t kept() const noexcept { return kept_.read(); }
    /// Packets that were not kept, because there was no room. @thread any
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.read(); }
    /// Packets that are not given back yet; never more than kept() afterwards. @thread any
    [[nodiscard]] std::uint64_t held() const noexcept {
        return (holders_.load(std::memory_order_acquire) & ~kSource) >> kPacketShift;
    }

protected:
    virtual ~KeptBuffers() = default;

private:
    // holders_: buffers in the low half; packets above; the source in the highest bit.
    static constexpr unsigned kPacketShift = 32;
    static constexpr std::uint64_t kSource = std::uint64_t{1} << 63U;

    /// One packet.
    [[nodiscard]] static std::uint64_t holder(std::uint32_t buffers) noexcept {
        return std::uint64_t{1} << kPacketShift | buffers;
    }
    [[nodiscard]] static std::uint32_t buffers_of(std::uint64_t holders) noexcept {
        return static_cast<std::uint32_t>(holders);
    }

    /// Gives a packet's buffers to the pool that they came from. @thread any
    virtual void put_back(void* buffer) noexcept = 0;

    void leave(std::uint64_t part) noexcept {
        // Release, for the acquire in try_keep(); acquire, so that the last one sees what the
        // others have done.
        if (holders_.fetch_sub(part, std::memory_order_acq_rel) == part) {
            delete this;  // NOLINT(cppcoreguidelines-owning-memory): the last share
        }
    }

    const std::uint32_t most_;
    Counter kept_;  ///< of the source's thread, like refused_
    Counter refused_;
    alignas(64) std::atomic<std::uint64_t> holders_{kSource};  ///< apart: any thread writes it
};

/// A source's hold on its KeptBuffers.
struct LetGo {
    void operator()(KeptBuffers* buffers) const noexcept { buffers->let_go(); }
};
template <class Buffers>
using SourcesHold = std::unique_ptr<Buffers, LetGo>;

/// A packet that a stage has kept. Its octets and metadata stay until the handle is destroyed,
/// which any thread may do, also after the queue is gone.
class KeptPacket {
public:
    KeptPacket() noexcept = default;  ///< none
    /// @param owner   after its try_keep() has succeeded
    /// @param buffer  the first one of the packet
    /// @param view    its octets lie in the buffer
    KeptPacket(KeptBuffers& owner, void* buffer, std::uint32_t buffers,
               const PacketView& view) noexcept
        : owner_(&owner), buffer_(buffer), buffers_(buffers), view_(view) {}
    KeptPacket(KeptPacket&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)),
          buffer_(other.buffer_),
          buffers_(other.buffers_),
          view_(other.view_) {}
    KeptPacket& operator=(KeptPacket&& other) noexcept {
        if (this != &other) {
            give_back();
            owner_ = std::exchange(other.owner_, nullptr);
            buffer_ = other.buffer_;
            buffers_ = other.buffers_;
            view_ = other.view_;
        }
        return *this;
    }
    KeptPacket(const KeptPacket&) = delete;
    KeptPacket& operator=(const KeptPacket&) = delete;
    ~KeptPacket() { give_back(); }

    /// Whether it holds a packet. All others below need one.
    [[nodiscard]] explicit operator bool() const noexcept { return owner_ != nullptr; }
    /// The metadata, and the octets of the first segment.
    [[nodiscard]] const PacketView& view() const noexcept { return view_; }
    [[nodiscard]] std::size_t segments() const noexcept { return buffers_; }
    /// @param number  from 0, below segments(); the first one is that of the view
    /// @cost          for further ones a walk over those before
    [[nodiscard]] std::span<const std::byte> segment(std::size_t number) const noexcept {
        return number == 0 ? view_.captured : owner_->segment(buffer_, number);
    }
    [[nodiscard]] FrameDetails details() const noexcept { return owner_->details(buffer_); }

private:
    void give_back() noexcept {
        if (owner_ != nullptr) {
            owner_->take_back(buffer_, buffers_);
            owner_ = nullptr;
        }
    }

    KeptBuffers* owner_ = nullptr;
    void* buffer_ = nullptr;
    std::uint32_t buffers_ = 0;
    PacketView view_;
};

}  // namespace tributary
