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

template <TcpCountsView::Count kCount>
Value tcp_of(const FlowView& flow) noexcept {
    const std::optional<std::uint64_t>& forward = flow.tcp.*kCount;
    const std::optional<std::uint64_t>& reverse = flow.reverse_tcp.*kCount;
    return forward || reverse ? Value(WideCount{forward.value_or(0)} + reverse.value_or(0))
                              : std::nullopt;
}

constexpr std::array<FlowMeasure, 13> kMeasures{{
    {"packets", MeasureUnit::count,
     [](const FlowView& flow) noexcept -> Value { return flow.packets(); }},
    {"octets", MeasureUnit::count,
     [](const FlowView& flow) noexcept -> Value { return flow.octets(); }},
    {"duration", MeasureUnit::nanoseconds, &duration_of},
    {"rate", MeasureUnit::count, &rate_of},
    {"tos", MeasureUnit::count,
     [](const FlowView& flow) noexcept -> Value { return flow.core.ip_class_of_service; }},
    {"dscp", MeasureUnit::count,
     [](const FlowView& flow) noexcept -> Value { return flow.dscp(); }},
    {"interface", MeasureUnit::count,
     [](const FlowView& flow) noexcept -> Value { return flow.core.key.ingress_interface.value; }},
    {"segments", MeasureUnit::count, &tcp_of<&TcpCountsView::segments>},
    {"retransmissions", MeasureUnit::count, &tcp_of<&TcpCountsView::retransmissions>},
    {"duplicates", MeasureUnit::count, &tcp_of<&TcpCountsView::duplicates>},
    {"out-of-order", MeasureUnit::count, &tcp_of<&TcpCountsView::out_of_order>},
    {"zero-windows", MeasureUnit::count, &tcp_of<&TcpCountsView::zero_windows>},
    {"reverse-packets", MeasureUnit::count,
     [](const FlowView& flow) noexcept -> Value { return flow.reverse.packets; }},
}};

}  // namespace

std::span<const FlowMeasure> flow_measures() noexcept { return kMeasures; }

const FlowMeasure* find_measure(std::string_view name) noexcept {
    const auto* const found =
        std::find_if(kMeasures.begin(), kMeasures.end(),
                     [name](const FlowMeasure& measure) { return measure.name == name; });
    return found != kMeasures.end() ? found : nullptr;
}

}  // namespace tributary
