// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "flowcache/input/fragment_table.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "flowcache/input/packet_selector.hpp"
#include "flowcache/input/sampler.hpp"
#include "flowcache/record/options.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

/// The stages of one queue before and after the parser.
class FrameStages {
public:
    /// @param filter         of the input, or nullptr; outlives the stages
    /// @param fragment_sets  how far a FragmentTable may grow: kFirstSets live, kMostSets offline
    /// @errors               std::bad_alloc
    FrameStages(const FlowCacheOptions& flows, const SamplingOptions& sampling,
                PacketSelector* filter, std::size_t fragment_sets)
        : filter_(filter) {
        if (sampling.one_in > 1) {
            sampler_.emplace(Sampler::seeded(sampling));
        }
        if (flows.fragments == FragmentMode::track) {
            fragments_.emplace(FlowHasher::random(), flows.fragment_timeout, fragment_sets);
        }
    }
    FrameStages(const FrameStages&) = delete;
    FrameStages& operator=(const FrameStages&) = delete;

    /// The parts of a FrameReader; the stages outlive it.
    [[nodiscard]] FrameParserParts parts(const ParseOptions& parse) noexcept {
        return {.parse = parse,
                .filter = filter_,
                .sampler = sampler_ ? &*sampler_ : nullptr,
                .fragments = fragments_ ? &*fragments_ : nullptr};
    }

private:
    PacketSelector* filter_;
    std::optional<Sampler> sampler_;
    std::optional<FragmentTable> fragments_;
};

}  // namespace tributary
