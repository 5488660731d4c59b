// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "export/flow_filter.hpp"
#include "export/printable_text.hpp"

// Input: what is in a flow, and the filter.

using tributary::FlowFilter;
using tributary::FlowView;

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

constexpr std::size_t kFlowOctets = 80;

/// Addresses of both versions, ports, protocol and tunnel out of `octets`.
FlowView make_flow(const std::uint8_t* octets) {
    FlowView flow;
    const auto take = [&octets](auto& value) {
        std::memcpy(&value, octets, sizeof value);
        octets += sizeof value;
    };
    std::uint8_t choice = 0;
    take(choice);
    take(flow.core.key.source);
    take(flow.core.key.destination);
    take(flow.core.key.source_port);
    take(flow.core.key.destination_port);
    take(flow.core.key.protocol);
    take(flow.tunnel.source);
    take(flow.tunnel.destination);
    take(flow.tunnel.id);
    flow.core.key.ip_version = (choice & 1U) != 0 ? 4 : 6;
    flow.tunnel.ip_version = (choice & 2U) != 0 ? 4 : 6;
    flow.tunnel.kind = static_cast<tributary::TunnelKind>(choice >> 2U & 7U);
    return flow;
}

/// @return  nothing: it does not compile
std::optional<FlowFilter> compiled(const std::string& text) {
    try {
        return FlowFilter(text);
    } catch (const tributary::FilterError& error) {
        const std::string why = error.what();
        require(why.starts_with("filter, column ") && tributary::printable(why) == why);
        return std::nullopt;
    }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < kFlowOctets) {
        return 0;
    }
    const FlowView flow = make_flow(data);
    const std::string text(reinterpret_cast<const char*>(data + kFlowOctets), size - kFlowOctets);
    const std::optional<FlowFilter> filter = compiled(text);
    if (!filter) {
        return 0;
    }
    // What is put together of a filter means what it says; nested too deep, it does not compile.
    const bool matches = filter->matches(flow);
    if (const auto negated = compiled("not (" + text + ")")) {
        require(negated->matches(flow) != matches);
        require(FlowFilter(text + " or not (" + text + ")").matches(flow));
        require(!FlowFilter("(" + text + ") and not (" + text + ")").matches(flow));
    }
    return 0;
}
