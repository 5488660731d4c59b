// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/whole_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using tributary::test::TemporaryDirectory;

namespace {

std::string content_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

void put(const std::string& path, const std::string& content) { std::ofstream(path) << content; }

unsigned mode_of(const std::string& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 0777U;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("WholeFile: it has its name when it is whole, for its owner alone", "[daemon][unit]") {
    const TemporaryDirectory directory;
    put(directory / "x", "former content");
    {
        WholeFile file(directory / "x");
        file.write("new");
        CHECK(content_of(directory / "x") == "former content");
        CHECK(mode_of(directory / "x.part") == 0600);
        CHECK(file.finish());
    }
    CHECK(content_of(directory / "x") == "new");
    CHECK(mode_of(directory / "x") == 0600);
    WholeFile(directory / "y").write("not whole");
    CHECK(directory.names() == Names{"x"});
}

TEST_CASE("WholeFile: a link to a file stays, and the file is replaced", "[daemon][unit]") {
    const TemporaryDirectory directory;
    std::filesystem::create_directory(directory / "far");
    std::filesystem::create_symlink("far/middle", directory / "link");
    std::filesystem::create_symlink("file", directory / "far/middle");
    for (const char* const content : {"the first, where no file was", "the second"}) {
        WholeFile file(directory / "link");
        CHECK(std::filesystem::exists(directory / "far/file.part"));
        file.write(content);
        CHECK(file.finish());
        CHECK(std::filesystem::is_symlink(directory / "link"));
        CHECK(std::filesystem::is_symlink(directory / "far/middle"));
        CHECK(content_of(directory / "far/file") == content);
    }
    CHECK(directory.names() == Names{"far", "link"});
}

TEST_CASE("WholeFile: descriptors and what is no file are written as they are", "[daemon][unit]") {
    const TemporaryDirectory directory;
    put(directory / "file", "");
    const FileDescriptor opened(::open((directory / "file").c_str(), O_WRONLY | O_CLOEXEC));
    const std::string number = std::to_string(opened.get());
    std::filesystem::create_symlink("/proc/self/fd/" + number, directory / "like-stdout");
    std::filesystem::create_symlink("/dev/null", directory / "nothing");
    for (const std::string& path :
         Names{directory / "like-stdout", "/dev/fd/" + number, directory / "nothing"}) {
        WholeFile file(path);
        CHECK(file.error() == 0);
        file.write("packets");
        CHECK(file.finish());
    }
    CHECK(content_of(directory / "file") == "packetspackets");  // as two programs of a shell
    CHECK(std::filesystem::is_symlink(directory / "like-stdout"));
    CHECK(std::filesystem::is_symlink(directory / "nothing"));
    CHECK(directory.names() == Names{"file", "like-stdout", "nothing"});
}

TEST_CASE("WholeFile: a descriptor that cannot be opened anew, and does not wait",
          "[daemon][unit]") {
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) == 0);
    const FileDescriptor written(pair[0]);
    const FileDescriptor read(pair[1]);
    const std::string octets(1'000'000, 'x');  // more than the socket has room for
    bool is_finished = false;
    std::thread writer([&] {
        WholeFile file("/dev/fd/" + std::to_string(written.get()));
        file.write(octets);
        is_finished = file.finish();
        ::shutdown(written.get(), SHUT_WR);
    });
    std::string got;
    std::array<char, 65'536> part{};
    for (pollfd waited{.fd = read.get(), .events = POLLIN, .revents = 0};
         ::poll(&waited, 1, 10'000) == 1;) {
        const ssize_t count = ::read(read.get(), part.data(), part.size());
        if (count <= 0) {
            break;
        }
        got.append(part.data(), static_cast<std::size_t>(count));
    }
    writer.join();
    CHECK(is_finished);
    CHECK(got == octets);
}

TEST_CASE("WholeFile: a loop of links, and a directory that is not there", "[daemon][unit]") {
    const TemporaryDirectory directory;
    std::filesystem::create_symlink("b", directory / "a");
    std::filesystem::create_symlink("a", directory / "b");
    CHECK(WholeFile(directory / "a").error() == ELOOP);
    CHECK(WholeFile(directory / "none/x").error() == ENOENT);
    CHECK(WholeFile(directory / "none/x").explain() ==
          (directory / "none/x").string() + ": No such file or directory");
}

TEST_CASE("WholeFile: a part that another one writes is refused", "[daemon][unit]") {
    const TemporaryDirectory directory;
    WholeFile first(directory / "x");
    first.write("the first");
    {
        WholeFile second(directory / "x");
        CHECK(second.error() == EBUSY);
        CHECK(
            second.explain().starts_with("another dump writes " + (directory / "x.part").string()));
        second.write("the second");
        CHECK_FALSE(second.finish());
    }
    CHECK(directory.names() == Names{"x.part"});
    CHECK(first.finish());
    CHECK(content_of(directory / "x") == "the first");
    WholeFile third(directory / "x");  // although the first one is still there
    CHECK(third.error() == 0);
}

TEST_CASE("WholeFile: a part that was left is replaced, whatever it is", "[daemon][unit]") {
    const TemporaryDirectory directory;
    put(directory / "other", "of another program");
    SECTION("a file that others may read") {
        put(directory / "x.part", "left, and longer than what comes");
        std::filesystem::permissions(directory / "x.part", std::filesystem::perms(0666));
    }
    SECTION("a link") { std::filesystem::create_symlink("other", directory / "x.part"); }
    SECTION("another name of a file") {
        std::filesystem::create_hard_link(directory / "other", directory / "x.part");
    }
    SECTION("a FIFO") { REQUIRE(::mkfifo((directory / "x.part").c_str(), 0600) == 0); }
    WholeFile file(directory / "x");
    CHECK(mode_of(directory / "x.part") == 0600);
    file.write("new");
    CHECK(file.finish());
    CHECK(content_of(directory / "x") == "new");
    CHECK(content_of(directory / "other") == "of another program");
}
