// SPDX-License-Identifier: Apache-2.0
#include "export/listing/listing_input.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "export/listing/ipfix_reader.hpp"
#include "tests/support/temporary_directory.hpp"

namespace tributary {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const char* text) { std::ofstream(path) << text; }

std::string text_of(ListingInput& input) {
    return {std::istreambuf_iterator<char>(input.stream()), {}};
}

}  // namespace

TEST_CASE("files_of: a directory's files by name, without those that are not finished",
          "[export][unit]") {
    const test::TemporaryDirectory directory;
    const fs::path path = directory.path();
    for (const char* name : {"b.ipfix", "a.ipfix", "a.ipfix.gz", "c.ipfix.xz", "d.ipfix.part",
                             ".hidden", "b.ipfix.zst", "b.ipfix.xz", "e.gz", "e.gz.gz", ".gz"}) {
        write(path / name, name);
    }
    fs::create_directory(path / "folder");
    std::vector<std::string> expected;
    for (const char* name : {"a.ipfix", "b.ipfix", "c.ipfix.xz", "e.gz"}) {
        expected.push_back((path / name).string());
    }
    CHECK(files_of(path.string()) == expected);
    CHECK(files_of("-") == std::vector<std::string>{"-"});
    CHECK_THROWS_AS(files_of((path / "folder").string()), IpfixInputError);
}

TEST_CASE("open_of_directory: a file compressed since the directory was read, is still read",
          "[export][unit]") {
    const test::TemporaryDirectory directory;
    const fs::path path = directory.path() / fs::path("a.ipfix");
    for (const char* suffix : {".gz", ".xz", ".zst"}) {
        CAPTURE(suffix);
        const std::string now = path.string() + suffix;
        write(now, "what is there now");  // by content it is not compressed
        const auto input = ListingInput::open_of_directory(path.string());
        CHECK(input->name() == now);
        CHECK(text_of(*input) == "what is there now");
        CHECK_THROWS_WITH(ListingInput::open(path.string()),
                          path.string() + ": cannot open: No such file or directory");
        fs::remove(now);
    }
    CHECK_THROWS_WITH(ListingInput::open_of_directory(path.string()),
                      path.string() + ": cannot open: No such file or directory");
}

}  // namespace tributary
