// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "flowcache/input/fragment_table.hpp"
#include "flowcache/input/frame_input.hpp"
#include "flowcache/input/sampler.hpp"
#include "flowcache/packet_selector.hpp"
#include "flowcache/record/options.hpp"

namespace tributary {

/// What the frames of one queue pass through before and after they are parsed.
class InputStages {
public:
    /// @param filter         of the input, or nullptr; outlives the stages
    /// @param fragment_sets  how far a FragmentTable may grow: kFirstSets live, kMostSets offline
    /// @errors               std::bad_alloc
    InputStages(const FlowCacheOptions& flows, const SamplingOptions& sampling,
                PacketSelector* filter, std::size_t fragment_sets)
        : filter_(filter) {
        if (sampling.one_in > 1) {
            sampler_.emplace(Sampler::seeded(sampling));
        }
        if (flows.fragments == FragmentMode::track) {
            fragments_.emplace(FlowHasher::random(), flows.fragment_timeout, fragment_sets);
        }
    }
    InputStages(const InputStages&) = delete;
    InputStages& operator=(const InputStages&) = delete;

    /// What a FrameInput needs; the stages outlive it.
    [[nodiscard]] FrameInputParts parts(const ParseOptions& parse) noexcept {
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
