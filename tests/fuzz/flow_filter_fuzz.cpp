// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "export/listing/flow_filter.hpp"
#include "export/listing/printable_text.hpp"

// Input: what is in a flow, and the filter.

using tributary::FlowFilter;
using tributary::FlowView;
using tributary::IpfixElement;
using tributary::IpfixField;
using tributary::IpfixRecord;
using tributary::IpfixTemplate;
using tributary::IpfixType;

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

constexpr std::size_t kFlowOctets = 128;

/// What filters look at, out of `octets`.
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
    take(flow.core.key.vlan);
    take(flow.core.key.ingress_interface);
    take(flow.core.packets);
    take(flow.core.octets);
    take(flow.reverse.octets);
    take(flow.core.tcp_control_bits);
    take(flow.core.ip_class_of_service);
    take(flow.core.end_reason);
    std::uint32_t milliseconds = 0;
    take(milliseconds);
    flow.core.start = tributary::kFirstTimestamp;
    flow.core.end = flow.core.start + std::chrono::milliseconds(milliseconds);
    if ((choice & 32U) != 0) {
        flow.counts[0] = choice;
        flow.reverse_counts[1] = milliseconds;
    }
    flow.core.key.ip_version = (choice & 1U) != 0 ? 4 : 6;
    flow.tunnel.ip_version = (choice & 2U) != 0 ? 4 : 6;
    flow.tunnel.kind = static_cast<tributary::TunnelKind>(choice >> 2U & 7U);
    return flow;
}

/// A record with an element of each type, t0 to t22, and one without a value that it can have, out
/// of the same octets.
class TypedRecord {
public:
    TypedRecord() {
        static constexpr std::array<std::uint16_t, 23> kOctets{3, 1, 2, 4, 8, 1, 2, 4,  8, 4, 8, 1,
                                                               6, 5, 4, 8, 8, 8, 4, 16, 3, 3, 3};
        for (std::size_t type = 0; type < kOctets.size(); ++type) {
            add("t" + std::to_string(type), static_cast<IpfixType>(type), kOctets.at(type));
        }
        add("12345/odd", IpfixType::mac_address, 3);
    }
    /// @param octets  as many as the longest value has
    [[nodiscard]] IpfixRecord of(const std::uint8_t* octets) {
        values_.clear();
        for (const IpfixField& field : layout_.fields) {
            values_.emplace_back(reinterpret_cast<const std::byte*>(octets), field.length);
        }
        return {.layout = &layout_, .values = values_};
    }

private:
    void add(const std::string& name, IpfixType type, std::uint16_t octets) {
        elements_.push_back({.name = name, .type = type});
        layout_.fields.push_back({.element = &elements_.back(), .length = octets});
    }

    std::deque<IpfixElement> elements_;
    IpfixTemplate layout_;
    std::vector<std::span<const std::byte>> values_;
};

/// @return  nothing: a value cannot be compared with an element of its type
std::optional<bool> matched(const FlowFilter& filter, const FlowView& flow,
                            const IpfixRecord& record) {
    try {
        return filter.matches(flow, &record);
    } catch (const tributary::FilterError& error) {
        const std::string why = error.what();
        require(why.starts_with("filter, column ") && tributary::printable(why) == why);
        return std::nullopt;
    }
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
    // What is put together of a filter means what it says; nested too deep, it does not compile. In
    // parentheses, because a value without words has those of the value before it.
    static TypedRecord typed;
    const IpfixRecord record = typed.of(data);
    const std::optional<bool> matches = matched(*filter, flow, record);
    const auto negated = compiled("not (" + text + ")");
    if (matches && negated) {
        require(matched(*negated, flow, record) == !*matches);
        require(FlowFilter("(" + text + ") or not (" + text + ")").matches(flow, &record));
        require(!FlowFilter("(" + text + ") and not (" + text + ")").matches(flow, &record));
    }
    return 0;
}
