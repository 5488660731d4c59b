// SPDX-License-Identifier: Apache-2.0
#include "parsers/units.hpp"

tributary::Timestamp stamp() {
    tributary::Timestamp seen_at{std::chrono::nanoseconds{1'700'000'000}};
    seen_at = 1'700'000'000;  // forbidden
    return seen_at;
}
