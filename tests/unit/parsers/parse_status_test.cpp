// SPDX-License-Identifier: Apache-2.0
#include "parsers/parse_status.hpp"

#include <catch2/catch.hpp>
#include <cstddef>
#include <set>
#include <string>

namespace tributary::test {

TEST_CASE("name_of: every status has a name of its own, fit for a JSON key", "[parsers][unit]") {
    std::set<std::string> names;
    for (std::size_t value = 0; value < kParseStatusCount; ++value) {
        const std::string name(name_of(static_cast<ParseStatus>(value)));
        CAPTURE(value, name);
        CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos);
        CHECK(names.insert(name).second);
        CHECK(name != "unknown");
    }
    CHECK(names.count("bad_ipv4_header_length") == 1);
    CHECK(name_of(ParseStatus::ok) == "ok");
}

}  // namespace tributary::test
