// SPDX-License-Identifier: Apache-2.0
#include "daemon/filter_change.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "daemon/filter/filter_check.hpp"

namespace tributary {

FilterChange::FilterChange(const Config& running, const LoadedConfig& wanted)
    : wanted_(wanted), end_(std::chrono::steady_clock::now() + kPatience) {
    const std::vector<InputOptions>& inputs = wanted.config.inputs;
    for (std::size_t input = 0; input < inputs.size(); ++input) {
        const std::string& expression = inputs[input].filter;
        if (expression == running.inputs[input].filter) {
            continue;
        }
        changes_.push_back({.input = input, .compilation = nullptr, .filter = nullptr});
        if (!expression.empty()) {
            changes_.back().compilation =
                std::make_unique<FilterCompilation>(expression, FilterLinks::ethernet);
        }
    }
}

bool FilterChange::is_ready() {
    std::ranges::for_each(changes_, [this](Change& change) { take_outcome(change); });
    return std::ranges::all_of(changes_,
                               [](const Change& change) { return change.compilation == nullptr; });
}

void FilterChange::take_outcome(Change& change) {
    if (change.compilation == nullptr) {
        return;
    }
    std::optional<FilterCompilation::Outcome> outcome = change.compilation->poll();
    if (!outcome && std::chrono::steady_clock::now() >= end_) {
        refuse_filter(wanted_, change.input,
                      "not ready within " + std::to_string(kPatience.count()) + " s; " +
                          (change.compilation->asks_resolver()
                               ? "no answer with the addresses of its host names"
                               : "it is too long"));
    }
    if (!outcome) {
        return;
    }
    if (outcome->filter == nullptr) {
        refuse_filter(wanted_, change.input, outcome->fault);
    }
    change.filter = std::move(outcome->filter);
    change.compilation.reset();
}

void FilterChange::apply(ProbeFilters& filters, const ProbeFilters::Give& give) {
    for (Change& change : changes_) {
        filters.replace(change.input, wanted_.config.inputs[change.input].filter,
                        std::move(change.filter), give);
    }
}

}  // namespace tributary
