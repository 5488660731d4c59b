// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "conf/key.hpp"
#include "export/options.hpp"

namespace tributary {

/// The keys of a collector with transport kafka.
[[nodiscard]] std::vector<Key<CollectorOptions>> kafka_keys();

}  // namespace tributary
