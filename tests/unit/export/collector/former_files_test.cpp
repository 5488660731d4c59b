// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "export/file_descriptor.hpp"
#include "export/transport/file_names.hpp"
#include "export/transport/former_part.hpp"
#include "tests/support/file_export.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;
namespace fs = std::filesystem;

namespace {

void write_file(const fs::path& path, const std::string& octets) {
    std::ofstream(path, std::ios::binary) << octets;
}

/// The file of a run with so many records.
std::string file_of(std::size_t records) {
    const TemporaryDirectory directory;
    RotatingExport exports(directory, {});
    exports.queue.put_many(records);
    exports.finish(milliseconds{0});
    return read_file(directory / "flows.ipfix");
}

/// The lines that a run logs of former runs' files.
std::vector<std::string> said_of_former(const RotatingExport& exports) {
    std::vector<std::string> lines;
    for (const CollectorEvent& event : exports.events) {
        if (event.kind == CollectorEventKind::former_file) {
            lines.push_back(event.text);
        }
    }
    return lines;
}

FileRotation each_hour() {
    FileRotation rotation;
    rotation.interval = std::chrono::seconds{3600};
    return rotation;
}

constexpr const char* kPart = "flows-20261122T041500Z.ipfix.part";
constexpr const char* kName = "flows-20261122T041500Z.ipfix";

/// A run that finds a part with these octets.
struct NextRun {
    explicit NextRun(const std::string& octets) {
        write_file(directory / kPart, octets);
        FileRotation rotation = each_hour();
        rotation.command = "echo >>" + (directory / "commands").string();
        exports = std::make_unique<RotatingExport>(directory, rotation);
        exports->run(milliseconds{0});
        exports->worker->close();  // and waits for the files
        exports->worker.reset();
        said = said_of_former(*exports);
        commands = read_file(directory / "commands");
    }
    const TemporaryDirectory directory;
    std::unique_ptr<RotatingExport> exports;
    std::vector<std::string> said;
    std::string commands;
};

}  // namespace

TEST_CASE("File: files of former runs are kept under names of their own", "[export][unit]") {
    const TemporaryDirectory directory;
    for (std::uint16_t run = 0; run < 4; ++run) {  // within a second or two
        RotatingExport exports(directory, {});
        exports.queue.put_many(10U + run);
        exports.run(milliseconds{0});
        const std::vector<std::string> said = said_of_former(exports);
        CHECK(said.size() == (run == 0 ? 0 : 1));
        exports.finish(milliseconds{10});
    }
    std::vector<std::size_t> records;
    for (const std::string& name : directory.names()) {
        CHECK(std::regex_match(name, std::regex(R"(flows(-\d{8}T\d{6}Z(_\d+)?)?\.ipfix)")));
        records.push_back(ports_in(directory / name).size());
    }
    std::ranges::sort(records);
    CHECK(records == std::vector<std::size_t>{10, 11, 12, 13});
    CHECK(ports_in(directory / "flows.ipfix").size() == 13);
}

TEST_CASE("File: files other than IPFIX are kept as well, and a link stays one", "[export][unit]") {
    const TemporaryDirectory directory;
    fs::create_directory(directory / "large");
    write_file(directory / "large/here.txt", "a letter");
    fs::create_symlink(directory / "large/here.txt", directory / "flows.ipfix");
    RotatingExport exports(directory, {});
    exports.queue.put_many(10);
    exports.finish(milliseconds{0});
    CHECK(fs::is_symlink(directory / "flows.ipfix"));
    CHECK(ports_in(directory / "large/here.txt").size() == 10);
    std::vector<std::string> kept;
    for (const auto& entry : fs::directory_iterator(directory / "large")) {
        kept.push_back(read_file(entry.path()));
    }
    CHECK(std::ranges::count(kept, "a letter") == 1);
}

TEST_CASE("File: an empty one, a FIFO and a device are written to", "[export][unit]") {
    const TemporaryDirectory directory;
    write_file(directory / "flows.ipfix", "");
    CHECK(move_former_file_aside((directory / "flows.ipfix").string()).empty());
    CHECK(move_former_file_aside((directory / "nothing").string()).empty());
    CHECK(move_former_file_aside("/dev/null").empty());
    REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
    CHECK(move_former_file_aside((directory / "fifo").string()).empty());
    CHECK(directory.names() == std::vector<std::string>{"fifo", "flows.ipfix"});
}

TEST_CASE("File: one that another process writes is left to it", "[export][unit]") {
    const TemporaryDirectory directory;
    for (const std::size_t before :
         {std::size_t{0}, std::size_t{10}}) {  // it has no record yet, or some
        RotatingExport first(directory, {});
        first.queue.put_many(before);
        first.run(milliseconds{0});
        first.run(milliseconds{2000});
        CHECK_THROWS_WITH(RotatingExport(directory, {}),
                          Catch::Contains("flows.ipfix: another process writes it"));
        first.queue.put_many(5);
        first.finish(milliseconds{2000});
        CHECK(ports_in(directory / "flows.ipfix").size() == before + 5);
    }
}

TEST_CASE("File: without a reader a FIFO is no output", "[export][unit]") {
    const TemporaryDirectory directory;
    REQUIRE(::mkfifo((directory / "flows.ipfix").c_str(), 0600) == 0);
    CHECK_THROWS_WITH(RotatingExport(directory, {}), Catch::Contains("start the reader first"));
}

TEST_CASE("File: a part of a rotation is finished also without rotation", "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string whole = file_of(3000);
    write_file(directory / kPart, whole.substr(0, whole.size() - 7));
    RotatingExport exports(directory, {});
    exports.queue.put_many(10);
    exports.finish(milliseconds{0});
    CHECK_FALSE(fs::exists(directory / kPart));
    const std::size_t kept = ports_in(directory / kName).size();
    CHECK(kept > 0);
    CHECK(kept < 3000);
    REQUIRE(said_of_former(exports).size() == 1);
    CHECK_THAT(said_of_former(exports)[0], Catch::Contains("is finished now, without the last"));
    CHECK(ports_in(directory / "flows.ipfix").size() == 10);
}

TEST_CASE("File: one that cannot be kept ends the start", "[export][unit]") {
    // Its name with a time would be too long.
    const TemporaryDirectory directory;
    const std::string name(250, 'x');
    write_file(directory / name, "records");
    CHECK_THROWS_WITH(move_former_file_aside((directory / name).string()),
                      Catch::Contains("holds records of a former run"));
    CHECK(read_file(directory / name) == "records");
}

TEST_CASE("File rotation: a part that a kill has left is finished at the next start",
          "[export][unit]") {
    const std::string whole = file_of(100);
    const NextRun next(whole);
    CHECK(ports_in(next.directory / kName).size() == 100);
    CHECK_FALSE(fs::exists(next.directory / kPart));
    CHECK_THAT(next.commands, Catch::Contains(kName));
    REQUIRE(next.said.size() == 1);
    CHECK_THAT(next.said[0], Catch::Contains("is finished now"));
    CHECK(next.exports->counters.collectors[0].errors.read() == 0);
}

TEST_CASE("File rotation: wherever a part is cut, its whole messages are kept", "[export][unit]") {
    const std::string whole = file_of(3);
    for (std::size_t length = 0; length < whole.size(); length += 7) {
        INFO("length " << length);
        const NextRun next(whole.substr(0, length));
        CHECK_FALSE(fs::exists(next.directory / kPart));
        REQUIRE(next.said.size() == 1);
        if (!fs::exists(next.directory / kName)) {
            CHECK_THAT(next.said[0], Catch::Contains("had no whole message"));
            continue;
        }
        const std::string kept = read_file(next.directory / kName);
        CHECK(kept == whole.substr(0, kept.size()));
        CHECK(kept.size() <= length);
        CHECK_NOTHROW(decode_file((next.directory / kName).string()));
    }
}

TEST_CASE("File rotation: zeros behind the messages go, other octets stay", "[export][unit]") {
    const std::string whole = file_of(5);
    const NextRun zeros(whole + std::string(200'000, '\0'));
    CHECK(read_file(zeros.directory / kName) == whole);
    const NextRun others(whole + std::string(200'000, 'x'));
    CHECK(read_file(others.directory / kName).size() == whole.size() + 200'000);
    CHECK_THAT(others.said.at(0), Catch::Contains("are no messages"));
    const NextRun strange(std::string(200'000, 'x'));
    CHECK(read_file(strange.directory / kPart).size() == 200'000);
    CHECK(strange.exports->counters.collectors[0].errors.read() == 1);
}

TEST_CASE("File rotation: other files are left alone", "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string whole = file_of(5);
    const std::vector<std::string> others{
        "flows-20261122T041500Z.ipfix.old", "flows-20261122.ipfix.part",
        "flows-20261122T041500Z_.ipfix.part", "flows-20261122T041500Z.json.part",
        "flow-20261122T041500Z.ipfix.part"};
    for (const std::string& name : others) {
        write_file(directory / name, whole);
    }
    RotatingExport exports(directory, each_hour());
    exports.queue.put_many(3);
    exports.finish(milliseconds{0});
    for (const std::string& name : others) {
        CHECK(read_file(directory / name) == whole);
    }
    CHECK(said_of_former(exports).empty());
}

TEST_CASE("File rotation: files that another process writes are left to it", "[export][unit]") {
    const TemporaryDirectory directory;
    FileRotation each_minute;
    each_minute.interval = std::chrono::seconds{60};
    RotatingExport first(directory, each_minute);
    first.queue.put_many(3);
    for (const int minute : {0, 1, 2}) {
        first.run(std::chrono::minutes{minute});
        first.run(std::chrono::minutes{minute} + std::chrono::seconds{2});
        CHECK_THROWS_WITH(
            RotatingExport(directory, each_hour()),
            Catch::Contains("export.collectors[].path " + (directory / "flows.ipfix").string() +
                            ": another process writes files of this rotation (PID " +
                            std::to_string(::getpid()) + "), now ") &&
                Catch::Contains(".ipfix.part"));
    }
    const RotatingExport without(directory, {});  // its name is another one
    CHECK_FALSE(directory.names().empty());
    first.finish(std::chrono::minutes{3});
    std::size_t records = 0;
    for (const std::string& name : directory.names()) {
        CHECK_FALSE(name.ends_with(".part"));
        records += ports_in(directory / name).size();
    }
    CHECK(records == 3);
    RotatingExport(directory, each_hour()).finish(milliseconds{0});
}

TEST_CASE("File rotation: of two that begin at once the one with the earlier name goes on",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string own = (directory / kPart).string();
    const std::string later = (directory / "flows-20261122T041500Z_002.ipfix.part").string();
    const FileDescriptor writer(::open(own.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(::flock(writer.get(), LOCK_EX | LOCK_NB) == 0);
    CHECK_NOTHROW(refuse_other_writer("flows.ipfix", {own, later}, own));
    CHECK_THROWS_WITH(refuse_other_writer("flows.ipfix", {own, later}, later),
                      Catch::Contains(", now " + own));
}

TEST_CASE("File: a part of a rotation that another process writes is left to it",
          "[export][unit]") {
    const TemporaryDirectory directory;
    write_file(directory / kPart, file_of(5));
    const FileDescriptor writer(::open((directory / kPart).c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::flock(writer.get(), LOCK_EX | LOCK_NB) == 0);
    RotatingExport exports(directory, {});
    exports.finish(milliseconds{0});
    CHECK(read_file(directory / kPart) == file_of(5));
    REQUIRE(said_of_former(exports).size() == 1);
    CHECK_THAT(said_of_former(exports)[0], Catch::Contains("is written by another process"));
}

TEST_CASE("File rotation: a new part is taken only where no other process has it",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string name = (directory / kPart).string();
    const auto create = [&] {
        return FileDescriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    };
    const FileDescriptor own = create();
    CHECK(claim_new_part(own.get(), name));
    const FileDescriptor other(::open(name.c_str(), O_WRONLY | O_CLOEXEC));
    CHECK_FALSE(claim_new_part(other.get(), name));  // it is locked
    fs::remove(name);
    CHECK_FALSE(claim_new_part(own.get(), name));  // it has no name any more
    const FileDescriptor next = create();
    CHECK_FALSE(claim_new_part(own.get(), name));  // another file has it
    CHECK(claim_new_part(next.get(), name));
}

TEST_CASE("File rotation: a part that is mended stays locked until it has its name",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string name = (directory / kPart).string();
    write_file(name, file_of(3));
    {
        const FormerPart first = mend_former_part(name);
        CHECK(first.is_whole);
        const FormerPart second = mend_former_part(name);
        CHECK_FALSE(second.is_whole);
        CHECK_THAT(second.note, Catch::Contains("is written by another process"));
    }
    CHECK(mend_former_part(name).is_whole);
}

TEST_CASE("File rotation: a part of lines is cut behind its last whole line", "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string name = (directory / kPart).string();
    const auto mended = [&name](const std::string& text) {
        std::ofstream(name, std::ios::binary) << text;
        return mend_former_part(name);
    };
    const std::string lines(70'000, 'x');
    CHECK(mended("{}\n{}\n").is_whole);
    CHECK(fs::file_size(name) == 6);
    FormerPart cut = mended(lines + "\n{\"a");
    CHECK(cut.is_whole);
    CHECK_THAT(cut.note, Catch::Contains("without the last 3 octets"));
    CHECK(fs::file_size(name) == lines.size() + 1);
    cut = {};
    cut = mended("{}\n" + std::string(200'000, '\0'));  // a power cut
    CHECK(cut.is_whole);
    CHECK(fs::file_size(name) == 3);
    cut = {};
    CHECK_FALSE(mended("{\"a").is_whole);
    CHECK_FALSE(fs::exists(name));
}
