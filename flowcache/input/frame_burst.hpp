// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flowcache/input/kept_packet.hpp"
#include "parsers/packet.hpp"

namespace tributary {

class FrameOwner;

/// A burst of frames, and what became of each. `filtered`, `not_sampled`, `ignored` and `metered`
/// have each frame once between them.
struct FrameBurst {
    std::span<const PacketView> frames;  ///< all that came; at most kBurstPackets
    Timestamp now;  ///< the source's clock after these frames; it moves on also without frames
    FrameOwner* owner = nullptr;  ///< nullptr: no frame can be kept

    PacketMask filtered{};     ///< the input's filter left them out
    PacketMask not_sampled{};  ///< ignored, because the sampler did not take them
    PacketMask ignored{};      ///< for any other reason, such as a filter that is not ready
    PacketMask metered{};      ///< parsed, and accounted in a flow
    PacketMask kept{};         ///< by a stage, which gives them back later
    PacketMask forwarded{};    ///< taken by a stage that sends them on

    /// Of a capture that several workers share, if its packets are numbered: the number of each
    /// frame. A worker's numbers rise, and no two packets have the same. nullptr: there are none.
    const std::uint64_t* numbers = nullptr;
    /// With `numbers`: all packets of this worker that come later have this number or a higher one.
    std::uint64_t next_number{};

    /// @param frame  one of `frames`
    [[nodiscard]] std::size_t index_of(const PacketView& frame) const noexcept {
        return static_cast<std::size_t>(&frame - frames.data());
    }
    /// @param index  of the frame, below frames.size(); so in all the following
    /// @cost         one virtual call, so in all the following
    [[nodiscard]] inline FrameDetails details(std::size_t index) const noexcept;
    /// The octets of one of the frame's segments; the first one is that of its view.
    ///
    /// @param number  from 0, below FrameDetails::segments
    [[nodiscard]] inline std::span<const std::byte> segment(std::size_t index,
                                                            std::size_t number) const noexcept;
    /// Keeps a frame, which several stages may do.
    ///
    /// @return  none: the queue's stages hold as many as they may, which is counted
    ///          (`keep_refused`); or the frames have no octets
    [[nodiscard]] inline KeptPacket keep(std::size_t index) noexcept;
};

/// What a source does for single frames of its burst. Functions get the burst and the place of a
/// frame in it.
///
/// @thread  the input thread, between receive() and release()
class FrameOwner {
public:
    FrameOwner() = default;
    FrameOwner(const FrameOwner&) = delete;
    FrameOwner& operator=(const FrameOwner&) = delete;

    [[nodiscard]] virtual FrameDetails details(const FrameBurst& burst,
                                               std::size_t index) const noexcept = 0;
    [[nodiscard]] virtual std::span<const std::byte> segment(const FrameBurst& burst,
                                                             std::size_t index,
                                                             std::size_t number) const noexcept = 0;
    /// Sets the frame's bit in FrameBurst::kept, unless it is refused.
    [[nodiscard]] virtual KeptPacket keep(FrameBurst& burst, std::size_t index) noexcept = 0;

protected:
    ~FrameOwner() = default;
};

FrameDetails FrameBurst::details(std::size_t index) const noexcept {
    return owner == nullptr ? FrameDetails{} : owner->details(*this, index);
}
std::span<const std::byte> FrameBurst::segment(std::size_t index,
                                               std::size_t number) const noexcept {
    return owner == nullptr ? frames[index].captured : owner->segment(*this, index, number);
}
KeptPacket FrameBurst::keep(std::size_t index) noexcept {
    return owner == nullptr ? KeptPacket{} : owner->keep(*this, index);
}

/// A source of frames: a NIC queue, a capture file, a list in a test. It owns the frames' memory
/// from receive() to release(), which leaves alone what is kept or forwarded. No other frame, and
/// no PacketView, is used past release(). Stages can keep frames of a source with a function
/// kept(), which returns its KeptBuffers.
template <class S>
concept PacketSource = requires(S source, const FrameBurst& burst) {
    { source.receive() } noexcept -> std::same_as<FrameBurst>;
    { source.release(burst) } noexcept;
};

}  // namespace tributary
