// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/trigger_files.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/base/startup_error.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using tributary::test::TemporaryDirectory;

namespace {

void put(const std::string& path, std::size_t octets) {
    std::ofstream(path) << std::string(octets, 'x');
}

}  // namespace

TEST_CASE("TriggerFiles: finds its own files, and removes parts", "[daemon][unit]") {
    const TemporaryDirectory directory;
    for (const char* const name : {"a-000003.pcapng", "a-000007.pcapng", "a-b-000009.pcapng",
                                   "a-.pcapng", "a-8x.pcapng", "a-000008.pcapng.part"}) {
        put(directory / name, 100);
    }
    const TriggerFiles files(directory.path(), "a", 1000);
    CHECK(files.last() == 9);  // of any trigger
    CHECK(files.path_of(12) == directory.path() + "/a-000012.pcapng");
    CHECK(directory.names().size() == 5);
    CHECK(TriggerFiles(directory.path(), "a-b", 1000).last() == 9);
    CHECK(TriggerFiles(directory.path(), "c", 1000).last() == 9);
    std::uint64_t removed = 0;
    CHECK(TriggerFiles(directory.path(), "c", 100).give_room(100, removed));
    CHECK(removed == 0);
    CHECK(TriggerFiles(directory.path(), "a", 200).give_room(150, removed));
    CHECK(removed == 2);
    CHECK(directory.names() ==
          std::vector<std::string>{"a-.pcapng", "a-8x.pcapng", "a-b-000009.pcapng"});
}

TEST_CASE("TriggerFiles: the oldest make room, those being written do not", "[daemon][unit]") {
    const TemporaryDirectory directory;
    TriggerFiles files(directory.path(), "a", 1000);
    std::uint64_t removed = 0;
    for (std::uint32_t number = 1; number <= 3; ++number) {
        CHECK(files.give_room(300, removed));
        put(files.path_of(number), 300);
        files.keep(number, 300, 300);
    }
    CHECK(removed == 0);
    CHECK(files.give_room(300, removed));
    CHECK(removed == 1);
    CHECK(directory.names() == std::vector<std::string>{"a-000002.pcapng", "a-000003.pcapng"});
    CHECK(files.give_room(600, removed));
    CHECK(removed == 3);
    CHECK_FALSE(files.give_room(200, removed));
    CHECK(directory.names().empty());
    files.take_back(600);
    put(files.path_of(4), 100);
    files.keep(4, 100, 300);
    CHECK_FALSE(files.give_room(1001, removed));  // no file is removed for that
    CHECK(removed == 3);
    CHECK(directory.names() == std::vector<std::string>{"a-000004.pcapng"});
    CHECK(files.give_room(1000, removed));
    CHECK_FALSE(files.give_room(1, removed));
}

TEST_CASE("TriggerFiles: a file that cannot be removed stays in the account", "[daemon][unit]") {
    const TemporaryDirectory directory;
    std::filesystem::create_directories(directory / "a-000001.pcapng" / "in-the-way");
    TriggerFiles files(directory.path(), "a", 1000);
    files.keep(1, 800, 0);
    std::uint64_t removed = 0;
    CHECK_FALSE(files.give_room(300, removed));
    CHECK(removed == 0);
    CHECK(files.give_room(200, removed));
}

TEST_CASE("LockedDirectories: makes a directory for its owner alone, or says why not",
          "[daemon][unit]") {
    const TemporaryDirectory directory;
    const std::string path = directory / "one" / "two";
    {
        LockedDirectories locked;
        locked.add(path);
        struct stat status {};
        REQUIRE(::stat(path.c_str(), &status) == 0);
        CHECK((status.st_mode & 0777U) == 0700U);
        CHECK_THROWS_AS(LockedDirectories().add(path), StartupError);
    }
    LockedDirectories locked;
    CHECK_NOTHROW(locked.add(path));
    put(directory / "file", 1);
    CHECK_THROWS_AS(locked.add(directory / "file"), StartupError);
}

TEST_CASE("LockedDirectories: one directory by several names", "[daemon][unit]") {
    const TemporaryDirectory directory;
    const std::string path = directory / "one";
    LockedDirectories locked;
    locked.add(path + "/");
    std::filesystem::create_directory_symlink(path, directory / "link");
    for (const std::string& name :
         {path, directory.path() + "/./one", (directory / "link").string()}) {
        CHECK_NOTHROW(locked.add(name));
        CHECK_THROWS_AS(LockedDirectories().add(name), StartupError);
    }
}
