// SPDX-License-Identifier: Apache-2.0
// A batch of the group's spool that a collector got in part: what is on the disk then, as a process
// that is killed leaves it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "export/collector/message_collector.hpp"
#include "tests/support/scripted_items.hpp"
#include "tests/support/spooled_export.hpp"
#include "tests/support/spooled_group.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// A group of one collector, to which a batch of 30 records, three messages, has just left from the
/// spool, and another one.
struct ScriptedGroup : SpooledGroup {
    explicit ScriptedGroup(const TemporaryDirectory& directory) : SpooledGroup(directory, 1) {
        factory = [this](const CollectorParts& parts) {
            return std::make_unique<MessageCollector>(
                parts, std::make_unique<ItemFormat>(),
                [this](const CollectorOptions&, CollectorEvents&) {
                    return std::make_unique<ScriptedTransport>(script);
                });
        };
        script.is_away = true;
        start();
        run(milliseconds{4000});
        put(0, 30);
        run(milliseconds{2000});
        put(30, 60);
        run(milliseconds{2000});
        REQUIRE(account().spool_octets.read() > 60 * 80);
        script.is_away = false;
        run(milliseconds{100});
        REQUIRE(handed_over() == 60);
    }
    /// Ends the session: the records with these ports arrive, and no other one.
    template <class HasArrived>
    void settle(HasArrived has_arrived) {
        script.outcome = [has_arrived](const std::string& value) {
            return has_arrived(std::stoi(value)) ? ItemOutcome::delivered : ItemOutcome::not_sent;
        };
        script.ends = true;
        run(milliseconds{100});
        REQUIRE_FALSE(script.ends);
    }
    /// The files of the spool as a kill would leave them now.
    void copy_spool(const TemporaryDirectory& from, const TemporaryDirectory& to) const {
        for (const std::filesystem::path& file : spool_files_in(from)) {
            std::filesystem::copy(file, to / file.filename().string());
        }
    }

    Script script;
};

/// What the next process sends.
std::vector<std::uint64_t> sent_from(const TemporaryDirectory& directory) {
    SpooledGroup next(directory, 1);
    next.start();
    next.run(milliseconds{4000});
    next.end(0);
    CHECK(spool_files_in(directory).empty());
    return next.all_received();
}

void check_each_arrived_once(ScriptedGroup& group, std::uint64_t records) {
    std::vector<std::uint64_t> ports;
    for (const std::string& value : group.script.arrived) {
        if (!value.ends_with('\'')) {
            ports.push_back(std::stoul(value));
        }
    }
    std::ranges::sort(ports);
    CHECK(ports == numbers(0, records));
}

}  // namespace

TEST_CASE("GroupSpool: a batch that has arrived in part is on the disk until all of it has",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const TemporaryDirectory copy;
    ScriptedGroup group(directory);
    SECTION("of its last message nothing is left") {
        group.settle([](int port) { return port < 5 || (port >= 20 && port < 30); });
    }
    SECTION("of its last message something is left") {
        group.settle([](int port) { return port < 20 || (port >= 22 && port < 30); });
    }
    SECTION("of its first message alone nothing has arrived") {
        group.settle([](int port) { return port >= 10; });
    }
    group.copy_spool(directory, copy);
    group.put(60, 70);
    group.run(milliseconds{2000});

    group.settle([](int) { return true; });
    check_each_arrived_once(group, 70);
    CHECK(group.account().spool_octets.read() == 0);
    group.end(70);
    CHECK(group.exported() == 70);
    CHECK(spool_files_in(directory).empty());

    const std::vector<std::uint64_t> next = sent_from(copy);
    const std::vector<std::uint64_t> batch = numbers(0, 30);
    CHECK(std::ranges::includes(next, batch));
    CHECK(std::ranges::adjacent_find(next) == next.end());
}

TEST_CASE("GroupSpool: the rest of a batch that is copied is not on the disk a second time",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const TemporaryDirectory copy;
    ScriptedGroup group(directory);
    group.settle([](int port) { return port < 5 || (port >= 22 && port < 30); });
    group.script.is_away = true;
    group.run(milliseconds{5000});
    group.copy_spool(directory, copy);
    group.end(60);  // with the collector away
    CHECK(group.exported() == 13);
    CHECK(group.spooled() == 47);

    std::vector<std::uint64_t> expected = numbers(5, 22);
    const std::vector<std::uint64_t> second = numbers(30, 60);
    expected.insert(expected.end(), second.begin(), second.end());
    group.worker.reset();
    CHECK(sent_from(copy) == expected);
    CHECK(sent_from(directory) == expected);
}
