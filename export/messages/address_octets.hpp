// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tributary {

/// The probe's address as it is in packets: 4 or 16 octets.
///
/// @param text  empty: it is not known
/// @return      empty: it is not known
/// @errors      ExportError: the text is no IPv4 or IPv6 address
[[nodiscard]] std::vector<std::byte> address_octets(const std::string& text);

}  // namespace tributary
