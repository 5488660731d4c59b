// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "export/messages/flow_view.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// @return  "idle", "active", "end", "forced", "resources", "-" of a flow without a reason,
///          "unknown"
[[nodiscard]] std::string end_reason_text(FlowEndReason reason);
/// @param text  one of the first five
/// @return      nothing when it is none of them
[[nodiscard]] std::optional<FlowEndReason> parse_end_reason(std::string_view text) noexcept;

/// An address of a flow, or with its length its prefix: "10.0.0.1", "10.1.2.0/24", "10.1.2.0/?"
/// where the record does not tell the length.
///
/// @param version  4 or 6
[[nodiscard]] std::string flow_address_text(const IpAddress& address, const FlowAddress& kind,
                                            std::uint8_t version);

/// The six classic TCP flags, as most flow tools print them: "UAPRSF", "." for one that was never
/// set; "-" when the protocol is not TCP.
[[nodiscard]] std::string tcp_flags_text(std::uint8_t protocol, std::uint16_t tcp_control_bits);
/// @param text  letters of "CEUAPRSF" in any order and case, each at most once
/// @return      as in tcpControlBits; nothing when it is not that
[[nodiscard]] std::optional<std::uint16_t> parse_tcp_flags(std::string_view text) noexcept;

}  // namespace tributary
