// SPDX-License-Identifier: Apache-2.0
#include "parsers/units.hpp"

bool compare() {
    const tributary::L4Port destination{443};
    const tributary::EthPortId nic{443};
    static_cast<void>(nic == nic);
    static_cast<void>(destination == nic);  // forbidden
    return destination == destination;
}
