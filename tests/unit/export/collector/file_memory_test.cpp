// SPDX-License-Identifier: Apache-2.0
// Memory ends while files are rotated and names looked up: nothing is lost, and nothing ends.
#include <pthread.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "export/transport/file_transport.hpp"
#include "export/transport/socket.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/file_export.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr std::size_t kWrittenAtOnce = 100;  // octets, a message

/// Files of two messages each.
CollectorOptions rotating(const TemporaryDirectory& directory) {
    CollectorOptions collector;
    collector.transport = TransportKind::file;
    collector.path = (directory / "flows.ipfix").string();
    collector.rotation.octets = 2 * kWrittenAtOnce;
    collector.rotation.sync = false;
    return collector;
}

/// Octets of all files, none of which may still be a `.part`.
std::size_t octets_in(const TemporaryDirectory& directory) {
    std::size_t sum = 0;
    for (const std::string& name : directory.names()) {
        CHECK(name.ends_with(".ipfix"));
        sum += read_file(directory / name).size();
    }
    return sum;
}

/// Threads that begin meanwhile find no memory for their stacks.
class NoThreads {
public:
    NoThreads() {
        ::pthread_getattr_default_np(&before_);
        pthread_attr_t attributes;
        ::pthread_attr_init(&attributes);
        ::pthread_attr_setstacksize(&attributes, std::size_t{1} << 50U);
        REQUIRE(::pthread_setattr_default_np(&attributes) == 0);
        ::pthread_attr_destroy(&attributes);
    }
    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;
    ~NoThreads() {
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }

private:
    pthread_attr_t before_{};
};

}  // namespace

TEST_CASE("File rotation: without memory a file goes on, and ends later", "[export][unit]") {
    const std::size_t before = refused_allocations();
    for (std::int64_t calls = 0; calls < 24; ++calls) {
        CAPTURE(calls);
        const TemporaryDirectory directory;
        ExportCounters counters{1, 1};
        const CollectorOptions collector = rotating(directory);
        CollectorEvents events(collector, counters.collectors[0], [](const CollectorEvent&) {});
        auto transport = std::make_unique<FileTransport>(collector, events);
        const std::array<std::byte, kWrittenAtOnce> octets{};
        const std::array<MessageView, 1> message{octets};
        std::size_t sent = 0;
        {
            std::int64_t left = calls;
            const NoLargeMemory none(0, left);
            for (int call = 0; call < 10; ++call) {
                transport->advance(std::chrono::seconds{call});
                sent += transport->send(message, std::chrono::seconds{call}).taken;
            }
        }
        CHECK(sent >= 6);  // of a rotation, the message comes again
        const std::size_t files = directory.names().size();
        CHECK((calls > 0 || files == 1));
        while (sent < 20) {
            sent += transport->send(message, std::chrono::seconds{20}).taken;
        }
        CHECK(directory.names().size() > files);
        {
            std::int64_t none_left = 0;
            const NoLargeMemory none(0, none_left);
            transport.reset();
        }
        CHECK(octets_in(directory) == 20 * kWrittenAtOnce);
        CHECK(counters.collectors[0].failed.read() == 0);
    }
    CHECK(refused_allocations() > before);
}

TEST_CASE("Resolver: without memory the reason is short enough", "[export][unit]") {
    CollectorOptions collector;
    collector.host = "collector.invalid";
    Resolver resolver(collector, SOCK_STREAM);
    const auto words = [&resolver](std::int64_t calls) {
        {
            const NoThreads none;
            resolver.start();
        }
        std::optional<Resolver::Result> result;
        {
            const NoLargeMemory limit(15, calls);
            result = resolver.poll();
        }
        return result && !*result ? result->error() : std::string();
    };
    CHECK(words(1) == "Resource temporarily unavailable");
    CHECK(words(0) == "no memory");
}
