// SPDX-License-Identifier: Apache-2.0
#include "export/transport/file_names.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "export/export_error.hpp"
#include "export/file_descriptor.hpp"
#include "export/transport/open_output.hpp"
#include "tests/support/read_file.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;
namespace fs = std::filesystem;

namespace {

constexpr std::time_t kChanged = 1'795'320'900;  // 2026-11-22 04:15:00 UTC

/// Writes a file that was last changed at kChanged.
void write_former(const std::string& path, const std::string& content = "records") {
    std::ofstream(path) << content;
    const std::array<timespec, 2> times{{{kChanged, 0}, {kChanged, 0}}};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
}

}  // namespace

TEST_CASE("utc_text: seconds since 1970 as a date in UTC that sorts", "[export][unit]") {
    CHECK(utc_text(0) == "19700101T000000Z");
    CHECK(utc_text(kChanged) == "20261122T041500Z");
    CHECK(utc_text(951'827'696) == "20000229T123456Z");
    CHECK(utc_text(4'294'967'294) == "21060207T062814Z");
}

TEST_CASE("dated_name: the date stands before the suffix, a number behind it from the second on",
          "[export][unit]") {
    const std::string utc = "20261122T041500Z";
    CHECK(dated_name("flows.ipfix", utc, 1) == "flows-20261122T041500Z.ipfix");
    CHECK(dated_name("flows.ipfix", utc, 2) == "flows-20261122T041500Z_002.ipfix");
    CHECK(dated_name("/var/a.b/flows", utc, 999) == "/var/a.b/flows-20261122T041500Z_999");
    CHECK(dated_name("a/flows.x.ipfix", utc, 1000) == "a/flows.x-20261122T041500Z_1000.ipfix");
}

TEST_CASE("parts_of: unfinished files of this path, sorted, and no others", "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "flows.ipfix").string();
    for (const char* name :
         {"flows-20261122T041500Z_002.ipfix.part", "flows-20261122T041500Z.ipfix.part",
          "flows-20251122T041500Z.ipfix.part",    // these three
          "flows-20261122T041500Z.ipfix",         // finished
          "flows-20261122T041500Z_.ipfix.part",   // no number
          "flows-20261122T041500Z_x.ipfix.part",  // no number
          "flows-20261122T0415Z.ipfix.part",      // no date
          "flows-2026112aT041500Z.ipfix.part",    // no date
          "flows-20261122T041500Z.pcap.part",     // of another suffix
          "others-20261122T041500Z.ipfix.part",   // of another path
          "flows-x-20261122T041500Z.ipfix.part",  // of another path
          "flows.ipfix.part", "flows-.ipfix.part"}) {
        std::ofstream(directory / name) << "records";
    }
    CHECK(parts_of(path) ==
          std::vector<std::string>{(directory / "flows-20251122T041500Z.ipfix.part").string(),
                                   (directory / "flows-20261122T041500Z.ipfix.part").string(),
                                   (directory / "flows-20261122T041500Z_002.ipfix.part").string()});
    CHECK(parts_of((directory / "absent" / "flows.ipfix").string()).empty());
}

TEST_CASE("move_former_file_aside: a former file is named by the time of its last change",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "flows.ipfix").string();
    write_former(path, "first");
    CHECK(move_former_file_aside(path) == (directory / "flows-20261122T041500Z.ipfix").string());
    write_former(path, "second");
    CHECK(move_former_file_aside(path) ==
          (directory / "flows-20261122T041500Z_002.ipfix").string());
    CHECK(directory.names() == std::vector<std::string>{"flows-20261122T041500Z.ipfix",
                                                        "flows-20261122T041500Z_002.ipfix"});
    CHECK(read_file(directory / "flows-20261122T041500Z.ipfix") == "first");
    CHECK(read_file(directory / "flows-20261122T041500Z_002.ipfix") == "second");
}

TEST_CASE("move_former_file_aside: a link stays, and the file that it leads to is renamed",
          "[export][unit]") {
    const TemporaryDirectory directory;
    fs::create_directory(directory / "disk");
    write_former((directory / "disk" / "real.ipfix").string());
    fs::create_symlink(directory / "disk" / "real.ipfix", directory / "flows.ipfix");
    const fs::path renamed = fs::canonical(directory / "disk") / "real-20261122T041500Z.ipfix";
    CHECK(move_former_file_aside((directory / "flows.ipfix").string()) == renamed.string());
    CHECK(fs::is_symlink(directory / "flows.ipfix"));
    CHECK(read_file(renamed) == "records");
    CHECK_FALSE(fs::exists(directory / "disk" / "real.ipfix"));
}

TEST_CASE("move_former_file_aside: what holds no records of a former run stays", "[export][unit]") {
    const TemporaryDirectory directory;
    CHECK(move_former_file_aside((directory / "absent").string()).empty());
    write_former((directory / "empty").string(), "");
    CHECK(move_former_file_aside((directory / "empty").string()).empty());
    REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
    CHECK(move_former_file_aside((directory / "fifo").string()).empty());
    CHECK(move_former_file_aside("/dev/null").empty());
    CHECK(move_former_file_aside("/dev/stdout").empty());
    CHECK(directory.names() == std::vector<std::string>{"empty", "fifo"});
}

TEST_CASE("move_former_file_aside: a file that another process writes is refused",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "flows.ipfix").string();
    write_former(path);
    const FileDescriptor writer(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(lock_file(writer.get()));
    CHECK_THROWS_AS(move_former_file_aside(path), ExportError);
    CHECK_THROWS_WITH(move_former_file_aside(path),
                      path + ": another process writes it" + locking_process(writer.get()));
    CHECK(directory.names() == std::vector<std::string>{"flows.ipfix"});
}
