// SPDX-License-Identifier: Apache-2.0
#include "export/transport/open_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;
namespace fs = std::filesystem;

namespace {

FileDescriptor opened(const std::string& path) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    REQUIRE(file);
    return file;
}

/// Standard output leads to a file as long as it is there.
class RedirectedOutput {
public:
    RedirectedOutput(const std::string& path, int how)
        : before_(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)) {
        const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | how));
        REQUIRE(::dup2(file.get(), STDOUT_FILENO) == STDOUT_FILENO);
    }
    RedirectedOutput(const RedirectedOutput&) = delete;
    RedirectedOutput& operator=(const RedirectedOutput&) = delete;
    ~RedirectedOutput() { ::dup2(before_.get(), STDOUT_FILENO); }

private:
    FileDescriptor before_;
};

}  // namespace

TEST_CASE("open_output: creates a file, and tells why it cannot", "[export][unit]") {
    const TemporaryDirectory directory;
    const OpenedOutput made = open_output((directory / "flows").string(), O_TRUNC);
    REQUIRE(made.file);
    CHECK(made.at == 0);
    CHECK(::write(made.file.get(), "abc", 3) == 3);
    CHECK(fs::file_size(directory / "flows") == 3);
    CHECK_FALSE(open_output((directory / "flows").string(), O_EXCL).file);
    CHECK(errno == EEXIST);
    CHECK_FALSE(open_output((directory / "absent" / "flows").string(), 0).file);
    CHECK(errno == ENOENT);
    REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
    CHECK_FALSE(open_output((directory / "fifo").string(), O_NONBLOCK).file);
    CHECK(errno == ENXIO);  // kFifoWithoutReader
}

TEST_CASE("open_output: standard output goes on where the file stands", "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "out").string();
    std::ofstream(path) << "12345";
    OpenedOutput output;
    {
        const RedirectedOutput redirected(path, 0);
        REQUIRE(::lseek(STDOUT_FILENO, 3, SEEK_SET) == 3);
        output = open_output("/dev/stdout", O_TRUNC);
    }
    REQUIRE(output.file);
    CHECK(output.at == 3);
    CHECK(fs::file_size(path) == 5);  // not cut
    {
        const RedirectedOutput redirected(path, O_APPEND);
        output = open_output("/dev/stdout", O_TRUNC);
    }
    CHECK(output.at == 5);
}

TEST_CASE("may_be_had_later: descriptors and memory, not room or rights", "[export][unit]") {
    for (const int error : {EMFILE, ENFILE, ENOMEM}) {
        CHECK(may_be_had_later(error));
    }
    for (const int error : {ENOSPC, EACCES, ENOENT, 0}) {
        CHECK_FALSE(may_be_had_later(error));
    }
}

TEST_CASE("open_patiently: a file that is not there is not waited for", "[export][unit]") {
    const TemporaryDirectory directory;
    CHECK_FALSE(open_patiently((directory / "absent").c_str(), O_RDONLY));
    CHECK(errno == ENOENT);
    std::ofstream(directory / "there") << "x";
    CHECK(open_patiently((directory / "there").c_str(), O_RDONLY));
}

TEST_CASE("lock_file: one has the lock, the others see it and its process", "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string path = (directory / "flows").string();
    FileDescriptor writer = opened(path);
    REQUIRE(lock_file(writer.get()));
    CHECK(lock_file(writer.get()));  // it has it
    const FileDescriptor other = opened(path);
    CHECK_FALSE(lock_file(other.get()));
    CHECK(is_locked_elsewhere(other.get()));
    CHECK(locking_process(other.get()) == " (PID " + std::to_string(::getpid()) + ")");
    writer = FileDescriptor();
    CHECK(locking_process(other.get()).empty());
    CHECK(lock_file(other.get()));
}

TEST_CASE("is_locked_elsewhere: nobody writes the file", "[export][unit]") {
    const TemporaryDirectory directory;
    const FileDescriptor file = opened((directory / "flows").string());
    CHECK_FALSE(is_locked_elsewhere(file.get()));
}

TEST_CASE("lock_file: a pipe needs no lock", "[export][unit]") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const FileDescriptor in(ends[0]);
    const FileDescriptor out(ends[1]);
    CHECK(lock_file(out.get()));
    CHECK(lock_file(out.get()));
    CHECK_FALSE(is_locked_elsewhere(out.get()));
}

TEST_CASE("errno_of_room: a file with room keeps what it holds", "[export][unit]") {
    const TemporaryDirectory directory;
    const FileDescriptor file = opened((directory / "flows").string());
    REQUIRE(::write(file.get(), "abc", 3) == 3);
    CHECK(errno_of_room(file.get()) == 0);
    CHECK(fs::file_size(directory / "flows") == 3);
    const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    CHECK(errno_of_room(full.get()) == 0);  // no regular file: it does not tell
}
