// SPDX-License-Identifier: Apache-2.0
#include "daemon/filter_change.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "daemon/filter/filter_check.hpp"

namespace tributary {

FilterChange::FilterChange(const Config& running, const LoadedConfig& wanted,
                           const std::vector<TableFilter>& of_tables)
    : wanted_(wanted), end_(std::chrono::steady_clock::now() + kPatience) {
    const std::vector<InputOptions>& inputs = wanted.config.inputs;
    for (std::size_t input = 0; input < inputs.size(); ++input) {
        const std::string& expression = inputs[input].filter;
        if (expression != running.inputs[input].filter) {
            begin(input, filter_path(input), expression);
        }
    }
    for (const TableFilter& filter : of_tables) {
        begin(std::nullopt, filter.path, filter.expression);
    }
}

void FilterChange::begin(std::optional<std::size_t> input, std::string path,
                         std::string expression) {
    Change& change = changes_.emplace_back();
    change.input = input;
    change.path = std::move(path);
    change.expression = std::move(expression);
    if (!change.expression.empty()) {
        change.compilation =
            std::make_unique<FilterCompilation>(change.expression, FilterLinks::ethernet);
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
        refuse_filter(wanted_, change.path, change.expression,
                      "not ready within " + std::to_string(kPatience.count()) + " s; " +
                          (change.compilation->asks_resolver()
                               ? "no answer with the addresses of its host names"
                               : "it is too long"));
    }
    if (!outcome) {
        return;
    }
    if (outcome->filter == nullptr) {
        refuse_filter(wanted_, change.path, change.expression, outcome->fault);
    }
    change.filter = std::move(outcome->filter);
    change.compilation.reset();
}

void FilterChange::apply(ProbeFilters& filters, const ProbeFilters::Give& give) {
    for (Change& change : changes_) {
        if (change.input) {
            filters.replace(*change.input, change.expression, std::move(change.filter), give);
        }
    }
}

std::vector<std::unique_ptr<PacketFilter>> FilterChange::take_of_tables() {
    std::vector<std::unique_ptr<PacketFilter>> filters;
    for (Change& change : changes_) {
        if (!change.input) {
            filters.push_back(std::move(change.filter));
        }
    }
    return filters;
}

}  // namespace tributary
