// SPDX-License-Identifier: Apache-2.0
#include "perf/support/yardstick.hpp"

#include <array>
#include <vector>

#include "flowcache/record/prefetch.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/random.hpp"

namespace tributary::perf {

Yardstick::Yardstick(std::uint32_t lines)
    : memory_(std::size_t{lines} * sizeof(Line)),
      lines_(std::span(reinterpret_cast<Line*>(memory_.bytes().data()), lines)) {
    for (Line& line : lines_) {
        line = {};  // no page fault while it is measured
    }
}

void Yardstick::work(std::uint64_t accesses) noexcept {
    const auto count = static_cast<std::uint32_t>(lines_.size());
    Random random = random_;  // a copy, which no line can alias, stays in a register
    std::array<std::uint32_t, kBatch> batch{};
    std::array<std::uint32_t, kBatch> next{};
    for (std::uint32_t& line : batch) {
        line = random.below(count);
    }
    for (std::uint64_t done = 0; done < accesses; done += kBatch) {
        for (std::uint32_t& line : next) {
            line = random.below(count);
            prefetch_to_write(&lines_[line]);
        }
        for (const std::uint32_t line : batch) {
            lines_[line].accesses += 1;
        }
        batch = next;
    }
    random_ = random;
}

void Yardstick::check() {
    constexpr std::uint64_t kAccesses = 64 * kBatch;
    std::vector<std::uint64_t> reference(lines_.size());
    Random random = random_;
    for (std::uint64_t done = 0; done < kAccesses; ++done) {
        ++reference[random.below(static_cast<std::uint32_t>(lines_.size()))];
    }
    work(kAccesses);
    for (std::size_t line = 0; line < lines_.size(); ++line) {
        demand(lines_[line].accesses == reference[line], "yardstick: a line's count");
    }
}

}  // namespace tributary::perf
