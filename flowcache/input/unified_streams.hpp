// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "parsers/unified_header.hpp"

namespace tributary {

/// Follows the sequence numbers of the streams that come to one queue, to count records that never
/// came.
///
/// A stream that goes back by up to kLateRecords has a frame that comes late or twice: nothing is
/// counted, and what was missing before it stays counted. A stream that goes back further, or
/// forward by more than kLongestGap, is that of a sender that has restarted. A sender that has
/// restarted a little further back looks late until it overtakes what it sent before. The frame
/// that overtakes may begin before the end of the old ones; the stream goes on from its end.
///
/// @thread  the queue's input thread
class UnifiedStreams {
public:
    static constexpr std::size_t kMostStreams = 64;
    static constexpr std::uint64_t kLateRecords = std::uint64_t{1} << 16U;
    static constexpr std::uint64_t kLongestGap = std::uint64_t{1} << 40U;

    struct Gap {
        std::uint64_t missing{};  ///< records between the stream's last frame and this one
        bool tracked{};           ///< false: kMostStreams others came first
    };

    /// Call it with each frame.
    ///
    /// @cost  no allocation; at most kMostStreams comparisons, one if the same stream came last
    [[nodiscard]] Gap follow(const UnifiedFrame& frame) noexcept {
        Stream* const stream = find(frame);
        if (stream == nullptr) {
            return {};
        }
        const std::uint64_t gap = frame.sequence - stream->next;
        const std::uint64_t behind = std::uint64_t{0} - gap;
        const bool is_late = behind != 0 && behind <= kLateRecords;
        if (!is_late || behind < frame.records) {
            stream->next = frame.sequence + frame.records;
        }
        return {.missing = gap <= kLongestGap ? gap : 0, .tracked = true};
    }

private:
    struct Stream {
        std::uint32_t number;
        std::uint64_t next;  ///< sequence number that is expected
    };

    /// @return  the frame's stream, a new one as if this frame were expected; nullptr: no room
    [[nodiscard]] Stream* find(const UnifiedFrame& frame) noexcept {
        if (last_ < count_ && streams_[last_].number == frame.stream) {
            return &streams_[last_];
        }
        for (last_ = 0; last_ < count_; ++last_) {
            if (streams_[last_].number == frame.stream) {
                return &streams_[last_];
            }
        }
        if (count_ == kMostStreams) {
            return nullptr;
        }
        streams_[count_] = {.number = frame.stream, .next = frame.sequence};
        return &streams_[count_++];
    }

    std::array<Stream, kMostStreams> streams_{};
    std::size_t count_ = 0;
    std::size_t last_ = 0;  ///< place of the stream that came last
};

}  // namespace tributary
