// SPDX-License-Identifier: Apache-2.0
// Writes docs/configuration.md anew: build/conf/key_reference > docs/configuration.md
#include <iostream>

#include "conf/dump_config.hpp"

int main() {
    std::cout << tributary::key_reference();
    return std::cout.good() ? 0 : 1;
}
