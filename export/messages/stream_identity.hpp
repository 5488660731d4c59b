// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "export/messages/record_encoder.hpp"
#include "export/options.hpp"

namespace tributary {

/// A new stream of this collector.
///
/// @errors  ExportError: the system gives no random number
[[nodiscard]] StreamIdentity new_stream(const ExportOptions& options,
                                        const CollectorOptions& collector);

}  // namespace tributary
