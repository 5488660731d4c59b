// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tributary {

/// Reads only decimal digits; a leading zero does not make them octal.
[[nodiscard]] std::optional<std::uint64_t> parse_whole(std::string_view text);

/// Reads seconds with up to three decimals: "5", "0.25".
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_seconds(std::string_view text);

/// Reads a time: seconds as parse_seconds() does, or a number of ms, s, m, h or d: "30s", "1.5h".
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_time(std::string_view text);

/// Reads a whole number, also with a power of 1000 (k, M, G, T) or 1024 (Ki, Mi, Gi, Ti), also of
/// octets: "64k", "4MiB", "10GB".
[[nodiscard]] std::optional<std::uint64_t> parse_amount(std::string_view text);

/// The probable meaning of a number with words or marks around its digits: "30 sec" is 30s, "1h30m"
/// is 5400s, "9k" is 9000, "1,000" is 1000, "16mib" is 16MiB.
///
/// @return  empty: unknown
[[nodiscard]] std::string likely_time(std::string_view text);
[[nodiscard]] std::string likely_number(std::string_view text);
[[nodiscard]] std::string likely_flag(std::string_view text);

/// Seconds without needless decimals; parse_seconds() reads it back.
[[nodiscard]] std::string seconds_text(std::chrono::milliseconds time);

/// Reads true, false, yes or no.
[[nodiscard]] std::optional<bool> parse_flag(std::string_view text);

/// Text in double quotes, as YAML and our messages write it; `text` is printable.
[[nodiscard]] std::string quoted(std::string_view text);

/// How many bytes at the front are text: UTF-8 without control characters except tab and line ends.
///
/// @source  RFC 3629 §4
[[nodiscard]] std::size_t count_text_bytes(std::string_view bytes);

/// HOST:PORT, [ADDRESS]:PORT, HOST or a bare IPv6 address.
struct HostAndPort {
    std::string host;
    std::string port;  ///< as written; empty: not given
};

/// Splits the two without checking them.
///
/// @return  nullopt: brackets do not match, or the host or the port after a colon is empty
[[nodiscard]] std::optional<HostAndPort> split_host_and_port(std::string_view text);

}  // namespace tributary
