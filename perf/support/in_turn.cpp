// SPDX-License-Identifier: Apache-2.0
#include "perf/support/in_turn.hpp"

#include <algorithm>
#include <stdexcept>

#include "perf/support/this_thread.hpp"

namespace tributary::perf {
namespace {

/// @return  nanoseconds per packet of one round
double time_round(const Subject& subject, std::uint64_t packets) {
    double time = 0;
    for (std::uint64_t left = packets; left > 0;) {
        const std::uint64_t now = std::min(left, subject.most_packets);
        if (subject.prepare) {
            subject.prepare();
        }
        const double start = cpu_time_of_this_thread();
        subject.work(now);
        time += cpu_time_of_this_thread() - start;
        left -= now;
    }
    return time * 1e9 / static_cast<double>(packets);
}

}  // namespace

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::vector<Figure> measure_in_turn(std::span<const Subject> subjects, int rounds,
                                    std::uint64_t packets) {
    std::vector<std::vector<double>> times(subjects.size());
    for (int round = 0; round < rounds + 1; ++round) {
        for (std::size_t i = 0; i < subjects.size(); ++i) {
            times[i].push_back(time_round(subjects[i], packets));
        }
    }
    for (std::vector<double>& of_subject : times) {
        of_subject.erase(of_subject.begin());  // the first round warms up
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
