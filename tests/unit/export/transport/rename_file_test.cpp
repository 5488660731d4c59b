// SPDX-License-Identifier: Apache-2.0
#include "export/transport/rename_file.hpp"

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/read_file.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;
namespace fs = std::filesystem;

namespace {

/// A file system whose rename refuses with this errno.
template <int Refusal>
RenameCalls without_rename() {
    RenameCalls calls = kernel_rename_calls();
    calls.rename = [](const char*, const char*) noexcept { return Refusal; };
    return calls;
}

/// And whose link() does so with this one.
template <int Refusal>
RenameCalls without_links() {
    RenameCalls calls = without_rename<EINVAL>();
    calls.link = [](const char*, const char*) noexcept { return Refusal; };
    return calls;
}

struct TwoNames {
    TwoNames() { std::ofstream(from) << "records"; }
    int rename(RenameCalls calls) const { return rename_without_replacing(from, to, calls); }

    const TemporaryDirectory directory;
    const std::string from = (directory / "flows.part").string();
    const std::string to = (directory / "flows").string();
};

}  // namespace

TEST_CASE("Rename: a file gets its name on every file system", "[export][unit]") {
    for (const RenameCalls calls :
         {kernel_rename_calls(), without_rename<EINVAL>(), without_rename<ENOSYS>()}) {
        const TwoNames names;
        CHECK(names.rename(calls) == 0);
        CHECK(names.directory.names() == std::vector<std::string>{"flows"});
        CHECK(read_file(names.to) == "records");
        CHECK(fs::hard_link_count(names.to) == 1);
    }
}

TEST_CASE("Rename: no file system replaces a file", "[export][unit]") {
    for (const RenameCalls calls : {kernel_rename_calls(), without_rename<EINVAL>()}) {
        const TwoNames names;
        std::ofstream(names.to) << "others";
        CHECK(names.rename(calls) == EEXIST);
        CHECK(read_file(names.from) == "records");
        CHECK(read_file(names.to) == "others");
    }
}

TEST_CASE("Rename: a failure leaves the file, and says what to do", "[export][unit]") {
    for (const RenameCalls calls :
         {without_links<EPERM>(), without_links<EOPNOTSUPP>(), without_links<ENOSYS>()}) {
        const TwoNames names;
        const int error = names.rename(calls);
        CHECK(error == EOPNOTSUPP);
        CHECK_THAT(words_for_rename(error), Catch::Contains("use another file system"));
        CHECK(names.directory.names() == std::vector<std::string>{"flows.part"});
    }
    const TwoNames names;
    CHECK(names.rename(without_rename<EACCES>()) == EACCES);
    CHECK(names.rename(without_links<ENOSPC>()) == ENOSPC);
    CHECK(words_for_rename(EACCES) == std::string("Permission denied"));
    CHECK(names.directory.names() == std::vector<std::string>{"flows.part"});
}
