// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace tributary {

/// One whole IPFIX message, header included (RFC 7011 §3.1). Borrowed from whoever made it.
using MessageView = std::span<const std::byte>;

}  // namespace tributary
