// SPDX-License-Identifier: Apache-2.0
#include "parsers/units.hpp"

tributary::Timestamp tick(tributary::Timestamp seen_at) {
    seen_at = tributary::PacketClock::now();  // forbidden
    return seen_at;
}
