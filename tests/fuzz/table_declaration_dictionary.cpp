// SPDX-License-Identifier: Apache-2.0
// Prints a dictionary for table_declaration_fuzz: the fields of the catalogue, and the functions.
#include <cstdint>
#include <iostream>

#include "flowcache/table/field_reference.hpp"

int main() {
    for (const tributary::PacketField& field : tributary::packet_fields()) {
        std::cout << '"' << field.name << "\"\n";
    }
    for (std::size_t function = 1; function < tributary::kValueFunctions; ++function) {
        std::cout << '"' << name_of(static_cast<tributary::ValueFunction>(function)) << "(\"\n";
    }
    for (const char* const text :
         {"alpha", "beta", "gamma", "/24/56", "/60", "\\x0a=", ")\\x0a="}) {
        std::cout << '"' << text << "\"\n";
    }
}
