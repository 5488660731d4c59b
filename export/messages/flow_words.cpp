// SPDX-License-Identifier: Apache-2.0
#include "export/messages/flow_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "export/messages/ip_text.hpp"

namespace tributary {
namespace {

struct ReasonWord {
    FlowEndReason reason;
    std::string_view word;
};
constexpr std::array<ReasonWord, 5> kReasonWords{{
    {FlowEndReason::idle_timeout, "idle"},
    {FlowEndReason::active_timeout, "active"},
    {FlowEndReason::end_of_flow, "end"},
    {FlowEndReason::forced_end, "forced"},
    {FlowEndReason::lack_of_resources, "resources"},
}};

constexpr std::string_view kFlagLetters = "CEUAPRSF";  // from bit 7 to 0, RFC 9293 §3.1
constexpr std::size_t kClassicFlags = 6;

}  // namespace

std::string end_reason_text(FlowEndReason reason) {
    if (reason == FlowEndReason::none) {
        return "-";
    }
    const auto* const found =
        std::find_if(kReasonWords.begin(), kReasonWords.end(),
                     [reason](const ReasonWord& known) { return known.reason == reason; });
    return found != kReasonWords.end() ? std::string(found->word) : "unknown";
}

std::optional<FlowEndReason> parse_end_reason(std::string_view text) noexcept {
    const auto* const found =
        std::find_if(kReasonWords.begin(), kReasonWords.end(),
                     [text](const ReasonWord& known) { return known.word == text; });
    return found != kReasonWords.end() ? std::optional(found->reason) : std::nullopt;
}

std::string flow_address_text(const IpAddress& address, const FlowAddress& kind,
                              std::uint8_t version) {
    std::string text = address_text(std::span(address).first(version == 4 ? 4 : 16));
    if (!kind.is_prefix) {
        return text;
    }
    return text + '/' + (kind.prefix_bits ? std::to_string(*kind.prefix_bits) : "?");
}

std::string tcp_flags_text(std::uint8_t protocol, std::uint16_t tcp_control_bits) {
    if (protocol != ip_protocol::kTcp) {
        return "-";
    }
    std::string text(kFlagLetters.substr(kFlagLetters.size() - kClassicFlags));
    for (std::size_t index = 0; index < text.size(); ++index) {
        const unsigned bit = 1U << (text.size() - 1 - index);
        text[index] = (tcp_control_bits & bit) != 0 ? text[index] : '.';
    }
    return text;
}

std::optional<std::uint16_t> parse_tcp_flags(std::string_view text) noexcept {
    unsigned bits = 0;
    for (const char letter : text) {
        const auto place =
            kFlagLetters.find(static_cast<char>(std::toupper(static_cast<unsigned char>(letter))));
        if (place == std::string_view::npos) {
            return std::nullopt;
        }
        const unsigned bit = 1U << (kFlagLetters.size() - 1 - place);
        if ((bits & bit) != 0) {
            return std::nullopt;
        }
        bits |= bit;
    }
    return text.empty() ? std::nullopt : std::optional(static_cast<std::uint16_t>(bits));
}

}  // namespace tributary
