// SPDX-License-Identifier: Apache-2.0
// Descriptors run out for a moment while files are rotated and finished: nothing is lost, and
// nothing ends.
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "export/file_descriptor.hpp"
#include "export/transport/file_finisher.hpp"
#include "export/transport/file_transport.hpp"
#include "tests/support/file_export.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

/// This process gets no further descriptor.
class NoDescriptors {
public:
    NoDescriptors() {
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
        const FileDescriptor next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        rlimit limit = before_;
        limit.rlim_cur = static_cast<rlim_t>(next.get());
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;
    ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

constexpr std::size_t kMessageOctets = 100;  // of a message
constexpr std::array<std::byte, kMessageOctets> kMessage{};

/// Sends one message a second into rotated files.
struct Sender {
    Sender(const TemporaryDirectory& directory, const FileRotation& rotation) {
        collector.transport = TransportKind::file;
        collector.path = (directory / "flows.ipfix").string();
        collector.rotation = rotation;
        transport.emplace(collector, events);
    }
    void send(int from, int to) {
        const std::array<MessageView, 1> message{kMessage};
        for (int second = from; second < to; ++second) {
            transport->advance(std::chrono::seconds{second});
            while (transport->send(message, std::chrono::seconds{second}).taken == 0) {
                REQUIRE_FALSE(transport->failed());  // at a rotation the message comes again
            }
        }
    }

    CollectorOptions collector;
    ExportCounters counters{1, 1};
    std::vector<CollectorEvent> told;
    CollectorEvents events{collector, counters.collectors[0],
                           [this](const CollectorEvent& event) { told.push_back(event); }};
    std::optional<FileTransport> transport;
};

void check_delayed_rotation(const FileRotation& rotation) {
    const TemporaryDirectory directory;
    Sender sender(directory, rotation);
    sender.send(0, 2);
    {
        const NoDescriptors none;
        sender.send(2, 12);
    }
    CHECK(directory.names().size() == 1);
    const std::uint64_t tries = sender.counters.collectors[0].errors.read();
    CHECK(tries >= 8);  // one a second, not one a message
    CHECK(tries <= 10);
    sender.send(12, 16);
    sender.transport.reset();
    std::vector<std::uintmax_t> sizes;
    for (const std::string& name : directory.names()) {
        CHECK(name.ends_with(".ipfix"));
        sizes.push_back(std::filesystem::file_size(directory / name));
    }
    std::ranges::sort(sizes);
    CHECK(sizes ==
          std::vector<std::uintmax_t>{2 * kMessageOctets, 2 * kMessageOctets, 12 * kMessageOctets});
    CHECK(sender.counters.collectors[0].failed.read() == 0);
    const auto delays = std::ranges::count(sender.told, CollectorEventKind::rotation_delayed,
                                           &CollectorEvent::kind);
    CHECK(delays == 1);  // the further ones are counted for the next line
}

}  // namespace

TEST_CASE("File rotation: without descriptors a file goes on beyond its size", "[export][unit]") {
    FileRotation rotation;
    rotation.octets = 2 * kMessageOctets;
    check_delayed_rotation(rotation);
}

TEST_CASE("File rotation: without descriptors a file goes on beyond its time", "[export][unit]") {
    FileRotation rotation;
    rotation.interval = 2s;
    check_delayed_rotation(rotation);
}

TEST_CASE("File rotation: any other refusal of the next file is final", "[export][unit]") {
    const TemporaryDirectory directory;
    FileRotation rotation;
    rotation.octets = 2 * kMessageOctets;
    Sender sender(directory, rotation);
    sender.send(0, 2);
    std::filesystem::remove_all(directory.path());
    const std::array<MessageView, 1> message{kMessage};
    static_cast<void>(sender.transport->send(message, 3s));
    CHECK(sender.transport->failed());
    std::filesystem::create_directory(directory.path());
}

TEST_CASE("File rotation: a file that ends without descriptors is finished when there are some",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string part = (directory / "flows.ipfix.part").string();
    { const std::ofstream file(part); }
    FileFinisher finisher;
    std::list<FinishedFile> files;
    files.push_back({.written_as = part,
                     .name = (directory / "flows.ipfix").string(),
                     .sync = true,
                     .command = "echo >'" + (directory / "done").string() + "';:"});
    {
        const NoDescriptors none;
        finisher.add(files);
        std::this_thread::sleep_for(300ms);
        CHECK(std::filesystem::exists(part));
    }
    finisher.end();
    CHECK(finisher.take_failure().text.empty());
    CHECK(std::filesystem::exists(directory / "flows.ipfix"));
    CHECK(std::filesystem::exists(directory / "done"));
}
