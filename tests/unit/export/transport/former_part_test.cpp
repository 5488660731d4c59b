// SPDX-License-Identifier: Apache-2.0
#include "export/transport/former_part.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// FlowMessages with lengths of one octet and of two; a line end is among their octets.
std::string flow_messages() {
    const std::string body("\x08\x04\n", 3);
    std::string octets = '\x03' + body;
    octets += "\xAC\x02" + body + std::string(297, '\n');
    return octets;
}

std::uintmax_t octets_left(const std::string& content) {
    const TemporaryDirectory directory;
    const std::string path = (directory / "part").string();
    std::ofstream(path, std::ios::binary) << content;
    const FormerPart part = mend_former_part(path);
    CHECK(part.failure.empty());
    CHECK(part.is_whole == std::filesystem::exists(path));
    return part.is_whole ? std::filesystem::file_size(path) : 0;
}

}  // namespace

TEST_CASE("former_part: FlowMessages are cut to whole ones, and not to lines", "[export][unit]") {
    const std::string whole = flow_messages();
    CHECK(octets_left(whole) == whole.size());
    for (std::size_t cut = 5; cut < whole.size(); ++cut) {
        CHECK(octets_left(whole.substr(0, cut)) == 4);
    }
    CHECK(octets_left(whole + std::string(200'000, '\0')) == whole.size());
    CHECK(octets_left(whole.substr(4, 100)) == 0);
}

TEST_CASE("former_part: lines are cut to whole ones", "[export][unit]") {
    CHECK(octets_left("{\"a\":1}\n{\"a\"") == 8);
    CHECK(octets_left("{\"a\":1}\n") == 8);
    CHECK(octets_left("{\"a\"") == 0);
}
