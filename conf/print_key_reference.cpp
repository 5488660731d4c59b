// SPDX-License-Identifier: Apache-2.0
// Writes docs/configuration.md anew: build/conf/key_reference conf/examples > docs/configuration.md
#include <array>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "conf/dump_config.hpp"

namespace {

/// The least, a large probe, and a careful export.
constexpr std::array kShown{"minimal.yaml", "probe-100g.yaml", "failover-tls.yaml"};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: key_reference DIRECTORY-OF-EXAMPLES\n";
        return 1;
    }
    std::vector<tributary::ExampleFile> examples;
    for (const std::string name : kShown) {
        std::ifstream file(argv[1] + ("/" + name));
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        if (text.empty()) {
            std::cerr << argv[1] << "/" << name << " cannot be read\n";
            return 1;
        }
        examples.push_back({"conf/examples/" + name, text});
    }
    std::cout << tributary::key_reference(examples);
    return std::cout.good() ? 0 : 1;
}
