// SPDX-License-Identifier: Apache-2.0
#include "perf/support/in_turn.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace tributary::perf {

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::vector<Figure> measure_in_turn(std::span<const Subject> subjects, int rounds,
                                    std::uint64_t packets) {
    using Clock = std::chrono::steady_clock;
    std::vector<std::vector<double>> times(subjects.size());
    for (const Subject& subject : subjects) {
        subject.work(packets);  // to warm up
    }
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < subjects.size(); ++i) {
            const auto start = Clock::now();
            subjects[i].work(packets);
            const std::chrono::duration<double, std::nano> time = Clock::now() - start;
            times[i].push_back(time.count() / static_cast<double>(packets));
        }
    }
    std::vector<Figure> figures;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        figures.push_back({.name = subjects[i].name,
                           .median = median_of(times[i]),
                           .least = *std::ranges::min_element(times[i]),
                           .most = *std::ranges::max_element(times[i])});
    }
    return figures;
}

void demand(bool holds, const std::string& what) {
    if (!holds) {
        throw std::runtime_error("wrong result, nothing measured: " + what);
    }
}

}  // namespace tributary::perf
