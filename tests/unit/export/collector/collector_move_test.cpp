// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/support/collector_group_harness.hpp"
#include "tests/support/spooled_export.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// Two collectors; the first has a spool. A reload may use the second address, too.
struct MovingExport : SpooledExport {
    explicit MovingExport(const TemporaryDirectory& directory)
        : SpooledExport(directory, std::uint64_t{1} << 26U, 2) {
        other = options.collectors[1];
        options.collectors.resize(1);
    }
    void change(const std::vector<CollectorOptions>& wanted) {
        options.collectors = wanted;
        const std::vector<std::size_t> accounts{0, 1};
        worker->change(options, std::span(accounts).first(wanted.size()));
    }
    /// The answer to the reload.
    template <class Change>
    [[nodiscard]] std::string refusal(Change change_options) {
        ExportOptions wanted = options;
        change_options(wanted);
        const std::vector<std::size_t> accounts{0, 1};
        try {
            worker->change(wanted, std::span(accounts).first(wanted.collectors.size()));
        } catch (const ExportError& error) {
            const std::string text = error.what();
            return text.substr(text.find(": ") + 2);
        }
        options = wanted;
        return "accepted";
    }

    CollectorOptions other;
};

}  // namespace

TEST_CASE("change: records in a spool go to the collector's new address, each once",
          "[export][unit]") {
    const TemporaryDirectory directory;
    MovingExport group(directory);
    group.start();
    group.run(milliseconds{500});
    group.put(0, 1000);
    group.run(milliseconds{2000});
    group.collectors[0].go_away();
    group.run(milliseconds{200});
    group.put(1000, 9000);
    group.run(milliseconds{1000});
    CHECK(group.told(CollectorEventKind::spool_used));
    CollectorOptions moved = group.options.collectors[0];
    moved.port = group.other.port;
    moved.spool.max_octets = 1U << 25U;
    moved.buffer = 2 * kSmallBuffer;
    group.change({moved});
    CHECK_FALSE(group.worker->is_retiring());
    group.put(9000, 10'000);
    group.run(milliseconds{15'000});
    CHECK(group.collectors[0].ports == numbers(0, 1000));
    CHECK(group.collectors[1].ports == numbers(1000, 10'000));
    CHECK(group.counters.collectors[0].spool_max_octets.read() == 1U << 25U);
    group.finish();
    CHECK(group.has(0) == 10'000);  // its account went on
    CHECK(group.exported() == 10'000);
    CHECK(group.spooled() == 0);
    CHECK(spool_files_in(directory).empty());
}

TEST_CASE("change: records that a spool's collector got at its former address do not come again",
          "[export][unit]") {
    const TemporaryDirectory directory;
    MovingExport group(directory);
    group.start();
    group.run(milliseconds{500});
    group.put(0, 3000);
    static_cast<void>(group.worker->step(at(group.uptime)));  // some of it is on its way
    CollectorOptions moved = group.options.collectors[0];
    moved.port = group.other.port;
    group.change({moved});
    group.run(milliseconds{3000});
    group.put(3000, 4000);
    group.run(milliseconds{2000});
    group.finish();
    std::vector<std::uint64_t> all = group.collectors[0].ports;
    CHECK(all.size() < 3000);
    all.insert(all.end(), group.collectors[1].ports.begin(), group.collectors[1].ports.end());
    CHECK(all == numbers(0, 4000));
    CHECK(group.exported() == 4000);
}

TEST_CASE("change: options that cannot change for a collector with a spool are named",
          "[export][unit]") {
    const TemporaryDirectory directory;
    MovingExport group(directory);
    group.start();
    group.run(milliseconds{500});
    const std::string why = " would change, and it has a spool; that needs a restart";
    CHECK(group.refusal([](ExportOptions& wanted) {
        wanted.collectors[0].timestamps = TimestampUnit::nanoseconds;
        wanted.collectors[0].observation_domain = 7;
        wanted.collectors[0].port = 1;
    }) == "observation-domain and timestamps" + why);
    CHECK(group.refusal([](ExportOptions& wanted) {
        wanted.collectors[0].spool.directory += "2";
    }) == "spool.directory" + why);
    CHECK(group.refusal([](ExportOptions& wanted) {
        wanted.template_refresh += std::chrono::seconds{1};
        wanted.timestamps = TimestampUnit::nanoseconds;
    }) == "export.template-refresh and export.timestamps" + why);
    CHECK(group.refusal([&](ExportOptions& wanted) { wanted.collectors = {group.other}; }) ==
          "would be removed, and it has a spool; that needs a restart");
    CHECK(group.refusal([](ExportOptions& wanted) {
        wanted.collectors[0].transport = TransportKind::udp;
    }) == "transport" + why);
    group.put(0, 100);
    group.run(milliseconds{1500});
    CHECK(group.collectors[0].ports == numbers(0, 100));
    group.finish();
}

TEST_CASE("change: the limits of rotated files change while they are written", "[export][unit]") {
    const TemporaryDirectory directory;
    MovingExport group(directory);
    CollectorOptions& file = group.options.collectors[0];
    file = CollectorOptions{};
    file.transport = TransportKind::file;
    file.path = directory / "flows.ipfix";
    file.rotation.octets = 1U << 30U;
    group.start();
    group.put(0, 20'000);
    group.run(milliseconds{2000});
    CHECK(directory.names().size() == 1);
    CHECK(group.refusal([](ExportOptions& wanted) { wanted.collectors[0].rotation = {}; }) ==
          "rotation would change, and its files are rotated; that needs a restart");
    CHECK(group.refusal([&](ExportOptions& wanted) {
        wanted.collectors[0].path = directory / "other.ipfix";
    }) == "would be removed, and its files are rotated; that needs a restart");
    CHECK(group.refusal([](ExportOptions& wanted) {
        wanted.collectors[0].rotation.octets = 1U << 20U;
        wanted.collectors[0].buffer *= 2;
    }) == "accepted");
    group.put(20'000, 40'000);
    group.run(milliseconds{2000});
    group.finish();
    group.worker->close();
    CHECK(directory.names().size() >= 2);
    CHECK(group.exported() == 40'000);
}
