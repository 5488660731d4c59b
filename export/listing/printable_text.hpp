// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tributary {

// Text of an exporter, or of a peer, may contain characters that control a terminal or hide other
// text: control characters and escape sequences, octets that are no UTF-8, characters that change
// the direction of writing or take no room.

/// Text from outside as one line for a terminal or a log: such a character becomes \x1b, \u202e or
/// \U000e0041, an octet that is no UTF-8 \xff.
///
/// @param text  any octets
/// @return      UTF-8; at most four times as long
[[nodiscard]] std::string printable(std::string_view text);

/// A text of several lines for a terminal: line ends stay, all else is as in printable().
[[nodiscard]] std::string printable_lines(std::string_view text);

/// JSON of the same meaning, in which such characters inside strings are written as \u202e.
///
/// @param json  a JSON text; line ends may stand between its values, and stay
[[nodiscard]] std::string printable_json(std::string_view json);

}  // namespace tributary
