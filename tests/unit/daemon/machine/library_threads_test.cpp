// SPDX-License-Identifier: Apache-2.0
#include <librdkafka/rdkafka.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "daemon/machine/pinned_thread.hpp"
#include "daemon/machine/topology.hpp"
#include "export/threads/helper_cores.hpp"
#include "export/threads/process_threads.hpp"
#include "tests/support/wait_until.hpp"

namespace tributary {
namespace {

using Ids = std::vector<std::uint32_t>;

std::vector<ProcessThread> all_threads() {
    return read_process_threads(std::chrono::steady_clock::now().time_since_epoch());
}

std::vector<ProcessThread> librdkafkas() {
    std::vector<ProcessThread> threads = all_threads();
    std::erase_if(threads, [](const ProcessThread& thread) {
        return thread.role != ThreadRole::library || !thread.name.starts_with("rdk:");
    });
    return threads;
}

Ids cpus_of(const std::string& name) {
    const std::vector<ProcessThread> threads = all_threads();
    const auto found = std::ranges::find(threads, name, &ProcessThread::name);
    REQUIRE(found != threads.end());
    return found->cpus;
}

/// A producer, whose broker refuses connections: librdkafka's threads try again and again.
class Producer {
public:
    Producer() {
        std::array<char, 512> error{};
        rd_kafka_conf_t* const conf = rd_kafka_conf_new();
        rd_kafka_conf_set(conf, "bootstrap.servers", "127.0.0.1:1", error.data(), error.size());
        rd_kafka_conf_set(conf, "log_level", "0", error.data(), error.size());
        producer_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, error.data(), error.size());
    }
    ~Producer() {
        rd_kafka_destroy(producer_);
        // They are joined, and leave /proc a moment later: the next test must not find them.
        CHECK(test::wait_until([] { return librdkafkas().empty(); }));
    }
    Producer(const Producer&) = delete;
    Producer& operator=(const Producer&) = delete;

    [[nodiscard]] bool is_good() const { return producer_ != nullptr; }

private:
    rd_kafka_t* producer_;
};

/// Threads on two cores: the first is that of a pinned thread, the last that of the helpers.
class Cores {
public:
    Cores() : all(read_topology().allowed()) { REQUIRE(take_helper_cores({all.back()}) == 0); }
    ~Cores() { static_cast<void>(take_helper_cores(all) == 0); }
    Cores(const Cores&) = delete;
    Cores& operator=(const Cores&) = delete;

    const Ids all;
};

/// Waits until all of librdkafka's threads have the names that it gives them. @return  their CPUs
std::vector<Ids> cpus_of_librdkafka() {
    constexpr std::size_t kLeast = 3;  // main, an internal broker, the bootstrap broker
    REQUIRE(test::wait_until([] { return librdkafkas().size() >= kLeast; }));
    std::vector<Ids> cpus;
    for (const ProcessThread& thread : librdkafkas()) {
        cpus.push_back(thread.cpus);
    }
    return cpus;
}

TEST_CASE("librdkafka: its threads run on the helper cores, a pinned thread stays alone on its own",
          "[daemon][unit]") {
    if (read_topology().allowed().size() < 2) {
        WARN("skipped: this needs two CPUs");
        return;
    }
    const Cores cores;
    const Ids helper{cores.all.back()};
    const Ids own{cores.all.front()};
    std::promise<void> end;
    const PinnedThread input({.name = "input", .cpu = own.front()},
                             [ending = end.get_future().share()] { ending.wait(); });

    SECTION("made by the main thread") {
        const Producer producer;
        REQUIRE(producer.is_good());
        for (const Ids& cpus : cpus_of_librdkafka()) {
            CHECK(cpus == helper);
        }
        CHECK(cpus_of("input") == own);
    }
    SECTION("made by a pinned thread in a helper scope") {
        std::promise<void> made;
        std::promise<void> over;
        const PinnedThread exporting({.name = "export", .cpu = own.front()},
                                     [&made, ending = over.get_future().share()] {
                                         std::optional<Producer> producer;
                                         {
                                             const HelperScope scope;
                                             producer.emplace();
                                         }
                                         made.set_value();
                                         ending.wait();
                                     });
        made.get_future().wait();
        for (const Ids& cpus : cpus_of_librdkafka()) {
            CHECK(cpus == helper);
        }
        CHECK(cpus_of("export") == own);
        CHECK(cpus_of("input") == own);
        over.set_value();
    }
    SECTION("made by a pinned thread without one: they are on its core") {
        std::promise<void> made;
        std::promise<void> over;
        const PinnedThread exporting({.name = "export", .cpu = own.front()},
                                     [&made, ending = over.get_future().share()] {
                                         const Producer producer;
                                         made.set_value();
                                         ending.wait();
                                     });
        made.get_future().wait();
        for (const Ids& cpus : cpus_of_librdkafka()) {
            CHECK(cpus == own);
        }
        over.set_value();
    }
    end.set_value();
}

}  // namespace
}  // namespace tributary
