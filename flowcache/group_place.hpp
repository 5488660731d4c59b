// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "flowcache/flow_line.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record_update.hpp"

namespace tributary {

/// Whether records are TCP uniflows' analysis and nothing else, so that flows may become
/// CompactTcp.
[[nodiscard]] constexpr bool is_tcp_analysis_alone(const RecordLayout& layout) noexcept {
    return layout.groups() == FieldGroups{.tcp_analysis = true} && layout.reverse_at == 0;
}

/// Where the groups of a cache's entries lie. Mostly behind each line, in the same memory page,
/// because a packet that touches the line touches them:
///
///     line groups   line groups   line groups ..
///
/// But where packets of a compact flow touch the line alone, all groups lie behind all lines:
///
///     line line line ..   group group group ..
///
/// so that a memory page has twice as many of what packets touch. Analysed segments of a million
/// undisturbed flows take 1.3 times as long with the first order (single runs); flows with groups
/// that each packet touches 1.1 times as long with the second.
///
/// @tparam kGroupBytes  of one entry, 0 too
template <std::size_t kGroupBytes>
class GroupPlace {
public:
    /// @param entries  of the cache
    GroupPlace(const RecordLayout& layout, std::size_t entries) noexcept
        : is_apart_(kMayBeApart && is_tcp_analysis_alone(layout)),
          distance_(is_apart_ ? entries * sizeof(FlowLine) : sizeof(FlowLine)) {}

    /// Whether they are not behind their lines.
    [[nodiscard]] bool is_apart() const noexcept { return kMayBeApart && is_apart_; }
    /// Bytes from one line to the next.
    [[nodiscard]] std::size_t stride() const noexcept {
        return is_apart() ? sizeof(FlowLine) : sizeof(Entry);
    }
    /// Of the line that begins so many bytes behind the first one. No division but by constants.
    [[nodiscard]] std::size_t index(std::size_t bytes) const noexcept {
        return is_apart() ? bytes / sizeof(FlowLine) : bytes / sizeof(Entry);
    }
    /// Without groups: where they would be, of which nothing is read.
    [[nodiscard]] GroupBytes of(FlowLine& line) const noexcept { return GroupBytes(begin(line)); }
    /// @param from  the first group's offset in a record
    void clear(FlowLine& line, std::uint16_t from) const noexcept {
        const std::size_t kept = from - sizeof(FlowRecordCore);
        std::memset(begin(line) + kept, 0, kGroupBytes - kept);
    }
    [[nodiscard]] std::byte* begin(FlowLine& line) const noexcept {
        return reinterpret_cast<std::byte*>(&line) + (kMayBeApart ? distance_ : sizeof(FlowLine));
    }

    struct WithoutGroups {
        FlowLine line;
    };
    struct alignas(kGroupBytes <= sizeof(FlowLine) ? 2 * sizeof(FlowLine)
                                                   : sizeof(FlowLine)) WithGroups {
        FlowLine line;
        std::array<std::byte, std::max<std::size_t>(kGroupBytes, 1)> groups;
    };
    /// The memory that one entry takes, in whatever order.
    using Entry = std::conditional_t<kGroupBytes == 0, WithoutGroups, WithGroups>;

private:
    static constexpr bool kMayBeApart = kGroupBytes == sizeof(FlowLine);

    bool is_apart_;
    std::size_t distance_;  ///< from a line to its groups
};

}  // namespace tributary
