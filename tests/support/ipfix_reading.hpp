// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "export/listing/ipfix_reader.hpp"
#include "tests/support/ipfix_bytes.hpp"

namespace tributary::test {

struct Outcome {
    std::vector<std::string> records;  ///< "TEMPLATE:name=hex,..." with an 'o' in front for options
    std::string fault;
    std::uint64_t skipped{};
};

inline std::string describe(const IpfixRecord& record) {
    std::ostringstream text;
    text << (record.layout->options ? "o" : "") << record.layout->id << ':' << std::hex;
    for (std::size_t index = 0; index < record.values.size(); ++index) {
        text << (index == 0 ? "" : ",") << record.layout->fields[index].element->name << '='
             << read_unsigned(record.values[index]);
    }
    return text.str();
}

inline Outcome read_all(const std::string& octets) {
    std::istringstream input(octets);
    IpfixReader reader(input, "x.ipfix");
    Outcome outcome;
    try {
        while (const IpfixRecord* record = reader.next()) {
            outcome.records.push_back(describe(*record));
        }
    } catch (const IpfixDataError& error) {
        outcome.fault = error.what();
    }
    outcome.skipped = reader.sets_without_template();
    return outcome;
}

using Records = std::vector<std::string>;

/// Template 256: protocolIdentifier, and packetDeltaCount in two octets.
inline const IpfixBytes small_template = template_record(256, {{4, 1}, {2, 2}});
inline const IpfixBytes small_record = IpfixBytes().u8(17).u16(3);

}  // namespace tributary::test
