// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <span>

#include "flowcache/input/fragment_table.hpp"
#include "flowcache/input/frame_burst.hpp"
#include "flowcache/input/input_counters.hpp"
#include "flowcache/input/packet_selector.hpp"
#include "flowcache/input/sampler.hpp"
#include "parsers/packet.hpp"
#include "parsers/parse_options.hpp"
#include "parsers/parse_packet.hpp"
#include "parsers/plain_packet.hpp"

namespace tributary {

/// The stages between a frame and its fields. What it points to outlives the parser.
struct FrameParserParts {
    ParseOptions parse{};
    PacketSelector* filter = nullptr;    ///< nullptr: every frame passes
    Sampler* sampler = nullptr;          ///< of those that passed; nullptr: takes them all
    FragmentTable* fragments = nullptr;  ///< nullptr: later fragments have ports 0
};

/// Filters, samples and parses the frames of one queue, tracks their fragments, and counts the
/// outcomes; the received frames it does not count. Full and trimmed parsing differ by
/// ParseOptions.
///
/// @thread  one
class FrameParser {
public:
    /// @param counters  outlives the parser
    FrameParser(const FrameParserParts& parts, InputCounters& counters) noexcept
        : parts_(parts), counters_(counters) {}

    /// @param filter  outlives the parser, or its next set_filter(); nullptr: every frame passes
    void set_filter(PacketSelector* filter) noexcept { parts_.filter = filter; }

    /// Filters and samples a burst, and sets its masks accordingly: all but `metered`.
    ///
    /// @return  the frames that are to be parsed
    [[nodiscard]] PacketMask choose(FrameBurst& burst) noexcept {
        const PacketMask all = mask_of_all(burst.frames);
        if (parts_.filter == nullptr && parts_.sampler == nullptr) [[likely]] {
            return all;
        }
        const PacketMask passed = filter(burst.frames);
        const PacketMask taken = sample(burst.frames, passed);
        const bool decides = parts_.filter == nullptr || parts_.filter->is_ready();
        (decides ? burst.filtered : burst.ignored) = all ^ passed;
        burst.not_sampled = passed ^ taken;
        return taken;
    }

    /// @param packets  at most kBurstPackets
    /// @return         those that pass the filter; the others are filtered, or all are ignored
    ///                 while the filter is not ready
    [[nodiscard]] PacketMask filter(std::span<const PacketView> packets) noexcept {
        const PacketMask all = mask_of_all(packets);
        if (parts_.filter == nullptr) {
            return all;
        }
        if (!parts_.filter->is_ready()) [[unlikely]] {
            counters_.count_filter_not_ready(packets);
            return 0;
        }
        const PacketMask passed = parts_.filter->select(packets) & all;
        counters_.filtered.add(count_of(all ^ passed));
        return passed;
    }

    /// @param packets  those given to filter()
    /// @param passed   the result of filter()
    /// @return         those of them that are to be parsed; the others are ignored as `not_sampled`
    [[nodiscard]] PacketMask sample(std::span<const PacketView> packets,
                                    PacketMask passed) noexcept {
        if (parts_.sampler == nullptr) {
            return passed;
        }
        const PacketMask taken = parts_.sampler->select(passed);
        for (PacketMask left = passed ^ taken; left != 0; left &= left - 1) {
            const auto next = static_cast<std::size_t>(std::countr_zero(left));
            counters_.count_ignored(ParseStatus::not_sampled, packets[next].wire_bytes);
        }
        return taken;
    }

    /// Inlined, so that the path of a plain packet is short.
    ///
    /// @param fields  written when the status is `ok`
    /// @return        `ok`, or why the packet is ignored
    [[nodiscard]] [[gnu::always_inline]] ParseStatus parse(const PacketView& packet,
                                                           PacketFields& fields) noexcept {
        if (parse_plain(packet, parts_.parse, fields)) [[likely]] {
            return ParseStatus::ok;  // with no header cut, and no fragment
        }
        return parse_any(packet, fields);
    }

    /// Does for a frame that was parsed before, with the same options, what follows on parsing:
    /// counts an ignored frame and a cut header, and tracks a fragment.
    ///
    /// @param status  of the frame, from parse_packet()
    /// @param fields  valid if the status is `ok`; the ports of a later fragment may change
    /// @return        the status
    [[nodiscard]] [[gnu::always_inline]] ParseStatus finish_parsed(const PacketView& packet,
                                                                   ParseStatus status,
                                                                   PacketFields& fields) noexcept {
        if (status != ParseStatus::ok) {
            counters_.count_ignored(status, packet.wire_bytes);
            return status;
        }
        if (fields.cut_header != CutHeader::none) {
            counters_.cut_headers[static_cast<std::size_t>(fields.cut_header)].add();
        }
        if (parts_.fragments != nullptr && fields.is_fragment()) {
            parts_.fragments->track(fields, packet.seen_at, packet.clock, counters_.fragments);
        }
        return status;
    }

private:
    [[nodiscard]] static std::size_t count_of(PacketMask packets) noexcept {
        return static_cast<std::size_t>(std::popcount(packets));
    }

    [[nodiscard]] [[gnu::noinline]] ParseStatus parse_any(const PacketView& packet,
                                                          PacketFields& fields) noexcept {
        return finish_parsed(packet, parse_header_by_header(packet, parts_.parse, fields), fields);
    }

    FrameParserParts parts_;
    InputCounters& counters_;
};

}  // namespace tributary
