// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "conf/key.hpp"
#include "export/options.hpp"

namespace tributary {

/// The value of `key`: a word or the name of an element.
[[nodiscard]] std::string key_name(const KafkaOptions& kafka);

/// The keys of a collector with transport kafka.
[[nodiscard]] std::vector<Key<CollectorOptions>> kafka_keys();

}  // namespace tributary
