// SPDX-License-Identifier: Apache-2.0
// Writes docs/fields.md with the tables of all field groups: field_reference docs/fields.md
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "export/ipfix/field_reference.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: field_reference PAGE\n";
        return 1;
    }
    std::ifstream file(argv[1]);
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    if (page.empty()) {
        std::cerr << argv[1] << " cannot be read\n";
        return 1;
    }
    std::cout << tributary::field_reference(page);
    return std::cout.good() ? 0 : 1;
}
