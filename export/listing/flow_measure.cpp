// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_measure.hpp"

#include <algorithm>
#include <array>

namespace tributary {
namespace {

using Value = std::optional<WideCount>;

Value duration_of(const FlowView& flow) noexcept {
    return flow.is_timed() ? Value(static_cast<std::uint64_t>((flow.end() - flow.start()).count()))
                           : std::nullopt;
}

/// Octets per second, rounded down; a flow shorter than a second counts as one of a second.
Value rate_of(const FlowView& flow) noexcept {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const Value lasts = duration_of(flow);
    return lasts ? Value(flow.octets() * kSecond / std::max(WideCount{kSecond}, *lasts))
                 : std::nullopt;
}

Value listed_count(const FlowView& flow, std::size_t place) noexcept {
    const std::optional<std::uint64_t>& forward = flow.counts.at(place);
    const std::optional<std::uint64_t>& reverse = flow.reverse_counts.at(place);
    return forward || reverse ? Value(WideCount{forward.value_or(0)} + reverse.value_or(0))
                              : std::nullopt;
}

using Flow = const FlowView&;

constexpr std::array<FlowMeasure, 8> kOfEveryFlow{{
    {"packets", MeasureUnit::count,
     [](Flow flow, std::size_t) noexcept -> Value { return flow.packets(); }},
    {"octets", MeasureUnit::count,
     [](Flow flow, std::size_t) noexcept -> Value { return flow.octets(); }},
    {"duration", MeasureUnit::nanoseconds,
     [](Flow flow, std::size_t) noexcept -> Value { return duration_of(flow); }},
    {"rate", MeasureUnit::count,
     [](Flow flow, std::size_t) noexcept -> Value { return rate_of(flow); }},
    {"tos", MeasureUnit::count,
     [](Flow flow, std::size_t) noexcept -> Value { return flow.class_of_service(); }},
    {"dscp", MeasureUnit::count,
     [](Flow flow, std::size_t) noexcept -> Value { return flow.dscp(); }},
    {"interface", MeasureUnit::count,
     [](Flow flow, std::size_t) noexcept -> Value { return flow.interface(); }},
    {"reverse-packets", MeasureUnit::count,
     [](Flow flow, std::size_t) noexcept -> Value { return flow.reverse.packets; }},
}};

}  // namespace

std::vector<FlowMeasure> flow_measures() {
    std::vector<FlowMeasure> measures(kOfEveryFlow.begin(), kOfEveryFlow.end() - 1);
    const ListedCounts counts;
    for (std::size_t place = 0; place < counts.size(); ++place) {
        measures.push_back(
            {counts.at(place).element->measure, MeasureUnit::count, &listed_count, place});
    }
    measures.push_back(kOfEveryFlow.back());
    return measures;
}

std::optional<FlowMeasure> find_measure(std::string_view name) {
    const std::vector<FlowMeasure> measures = flow_measures();
    const auto found = std::ranges::find(measures, name, &FlowMeasure::name);
    return found != measures.end() ? std::optional(*found) : std::nullopt;
}

}  // namespace tributary
