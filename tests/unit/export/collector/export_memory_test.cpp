// SPDX-License-Identifier: Apache-2.0
// Memory ends while records are exported: every record is exported, waits, or is lost by name.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>

#include "export/collector/export_worker.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/collector_group_harness.hpp"
#include "tests/support/spooled_export.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr std::size_t kRecords = 3000;

/// A queue that takes no memory.
class CountedQueue final : public RecordSource {
public:
    void put_many(std::size_t count) noexcept { left_ += count; }
    [[nodiscard]] std::size_t left() const noexcept { return left_; }
    [[nodiscard]] std::size_t drain(std::span<std::byte> out,
                                    std::size_t max_records) noexcept override {
        const std::size_t count = std::min(max_records, left_);
        for (std::size_t i = 0; i < count; ++i) {
            const Record record = record_of(next_++);
            std::memcpy(out.data() + i * record_bytes(), &record, record_bytes());
        }
        left_ -= count;
        return count;
    }
    [[nodiscard]] const RecordLayout& layout() const noexcept override { return layout_; }

private:
    std::size_t left_ = 0;
    std::uint16_t next_ = 0;
    RecordLayout layout_;
};

/// An export whose steps find only some memory; collectors in the test have all they need.
template <class Limit>
class ShortExport {
public:
    ShortExport(GroupExport& group, std::int64_t limit, std::size_t large = 0)
        : group_(group), limit_(limit), large_(large) {}

    void run(milliseconds lasting) {
        for (const milliseconds end = group_.uptime + lasting; group_.uptime < end;
             group_.uptime += milliseconds{50}) {
            for (int steps = 0; step() && steps < 200; ++steps) {
                group_.hear();
            }
            group_.hear();
        }
    }
    void finish() {
        for (int calls = 0; !end(); ++calls) {
            REQUIRE(calls < 20'000);
            group_.uptime += milliseconds{20};
            group_.hear();
        }
    }

private:
    [[nodiscard]] Limit begin() {
        if constexpr (std::is_same_v<Limit, MemoryLimit>) {
            return Limit(limit_);
        } else {
            return Limit(large_, limit_);
        }
    }
    bool step() {
        const Limit limit = begin();
        return group_.worker->step(at(group_.uptime));
    }
    bool end() {
        const Limit limit = begin();
        return group_.worker->finish(at(group_.uptime));
    }

    GroupExport& group_;
    std::int64_t limit_;
    std::size_t large_;
};

std::uint64_t lost(const GroupExport& group) {
    std::uint64_t sum = 0;
    for (std::size_t cause = 0; cause < kExportLossCount; ++cause) {
        sum += group.lost(static_cast<ExportLoss>(cause));
    }
    return sum;
}

std::uint64_t lost_to(const GroupExport& group, std::size_t collector) {
    std::uint64_t sum = 0;
    for (std::size_t cause = 0; cause < kExportLossCount; ++cause) {
        sum += group.lost_to(collector, static_cast<ExportLoss>(cause));
    }
    return sum;
}

void check_account(const GroupExport& group, ExportMode mode) {
    const QueueExportCounters& queue = group.counters.queues[0];
    CHECK(group.exported() + lost(group) + queue.spooled.read().records == kRecords);
    for (std::size_t i = 0; i < group.collectors.size() && mode == ExportMode::copy; ++i) {
        const std::uint64_t spooled = group.counters.collectors[i].spooled.read().records;
        CHECK(group.has(i) + lost_to(group, i) + spooled == kRecords);
    }
}

/// Exports with ever less memory. `prepare` is called before the start.
template <class Limit, class Prepare>
void check_all_limits(ExportMode mode, std::size_t large, Prepare prepare) {
    const std::size_t before = refused_allocations();
    constexpr std::int64_t kOctets[] = {0, 100, 1000, 4000, 10'000, 30'000, 100'000, 300'000};
    constexpr std::int64_t kCalls[] = {0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    const std::span<const std::int64_t> limits = std::is_same_v<Limit, MemoryLimit>
                                                     ? std::span<const std::int64_t>(kOctets)
                                                     : std::span<const std::int64_t>(kCalls);
    for (const std::int64_t limit : limits) {
        CAPTURE(limit);
        GroupExport group(mode);
        group.options.options_interval = std::chrono::seconds{1};
        group.options.flush_interval = milliseconds{100};
        group.options.drain_timeout = milliseconds{1000};
        prepare(group);
        CountedQueue queue;
        group.start(queue);
        static_cast<void>(group.worker->step(at(group.uptime)));  // the thread has its reserve
        ShortExport<Limit> shorted(group, limit, large);
        queue.put_many(kRecords / 3);
        shorted.run(milliseconds{500});
        queue.put_many(kRecords / 3);
        shorted.run(milliseconds{2000});
        queue.put_many(kRecords / 3);
        shorted.finish();
        CHECK(queue.left() == 0);
        check_account(group, mode);
    }
    CHECK(refused_allocations() > before);
}

template <class Prepare>
void check_all_limits(ExportMode mode, Prepare prepare) {
    SECTION("no more than so many octets") { check_all_limits<MemoryLimit>(mode, 0, prepare); }
    SECTION("nothing large") { check_all_limits<NoLargeMemory>(mode, 520, prepare); }
}

}  // namespace

TEST_CASE("Export without memory: one collector that listens", "[export][unit]") {
    check_all_limits(ExportMode::balance,
                     [](GroupExport& group) { group.options.collectors.resize(1); });
}

TEST_CASE("Export without memory: collectors that are away", "[export][unit]") {
    check_all_limits(ExportMode::copy, [](GroupExport& group) {
        group.collectors[0].go_away();
        group.collectors[1].go_away();
    });
}

TEST_CASE("Export without memory: one of two collectors is away", "[export][unit]") {
    check_all_limits(ExportMode::copy, [](GroupExport& group) { group.collectors[1].go_away(); });
}

TEST_CASE("Export without memory: failover", "[export][unit]") {
    check_all_limits(ExportMode::failover,
                     [](GroupExport& group) { group.collectors[0].go_away(); });
}

TEST_CASE("Export without memory: a file and UDP", "[export][unit]") {
    const TemporaryDirectory directory;
    check_all_limits(ExportMode::copy, [&](GroupExport& group) {
        group.options.collectors[0].transport = TransportKind::udp;
        group.options.collectors[1].transport = TransportKind::file;
        group.options.collectors[1].path = (directory / "flows.ipfix").string();
    });
}

TEST_CASE("Export without memory: a spool", "[export][unit]") {
    const TemporaryDirectory directory;
    check_all_limits(ExportMode::balance, [&](GroupExport& group) {
        std::filesystem::remove_all(directory / "spool");
        group.options.collectors.resize(1);
        group.options.collectors[0].buffer = 65'536;
        group.options.collectors[0].spool.directory = (directory / "spool").string();
        group.collectors[0].go_away();
    });
}

TEST_CASE("Export without memory: two spools", "[export][unit]") {
    const TemporaryDirectory directory;
    check_all_limits(ExportMode::copy, [&](GroupExport& group) {
        for (std::size_t i = 0; i < 2; ++i) {
            const std::string name = "spool" + std::to_string(i);
            std::filesystem::remove_all(directory / name);
            group.options.collectors[i].buffer = 65'536;
            group.options.collectors[i].spool.directory = (directory / name).string();
            group.collectors[i].go_away();
        }
    });
}

namespace {

/// A step as the export thread makes it: without memory it goes on, and tries again.
void step_with(GroupExport& group, std::int64_t calls) {
    try {
        const NoLargeMemory limit(0, calls);
        static_cast<void>(group.worker->step(at(group.uptime)));
    } catch (const std::bad_alloc&) {
        // What it had begun must be whole.
    }
}

/// Lets a collector come back whose records are in a spool with damage, and take some of them while
/// only so many calls for memory succeed in each step.
void check_return_without_memory(std::size_t collectors, std::int64_t calls) {
    constexpr std::uint16_t kSpooled = 8000;
    const TemporaryDirectory directory;
    SpooledExport exports(directory, std::uint64_t{1} << 23U, collectors);
    exports.collectors[0].go_away();
    exports.start();
    exports.put(0, kSpooled);
    exports.run(milliseconds{500});
    REQUIRE(spool_files_in(directory).size() > 2);
    flip_octet(spool_files_in(directory)[0], 110'000);  // of a message
    flip_octet(spool_files_in(directory)[1], 24);       // of a header
    exports.collectors[0].come_back();
    for (int steps = 0; exports.counters.collectors[0].messages.read() == 0; ++steps) {
        REQUIRE(steps < 10'000);
        static_cast<void>(exports.worker->step(at(exports.uptime += milliseconds{10})));
        exports.hear();
    }
    for (int steps = 0; steps < 100; ++steps) {
        step_with(exports, calls);
        exports.uptime += milliseconds{1};
        exports.hear();
    }
    exports.run(milliseconds{2000});
    exports.finish();
    const std::uint64_t damaged = exports.lost_to(0, ExportLoss::spool_damaged);
    CHECK(damaged > 0);
    CHECK(damaged < 400);  // of two messages
    CHECK(exports.has(0) + damaged == kSpooled);
    CHECK(lost_to(exports, 0) == damaged);
    CHECK(exports.exported() + lost(exports) == kSpooled);
    CHECK(spool_files_in(directory).empty());
}

}  // namespace

TEST_CASE("Export without memory: a collector comes back to its spool", "[export][unit]") {
    const std::size_t before = refused_allocations();
    for (const std::int64_t calls : {0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17}) {
        CAPTURE(calls);
        check_return_without_memory(1, calls);
        check_return_without_memory(2, calls);
    }
    CHECK(refused_allocations() > before);
}
