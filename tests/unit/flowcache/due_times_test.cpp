// SPDX-License-Identifier: Apache-2.0
#include "flowcache/deadlines.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <span>
#include <vector>

#include "tests/support/cache_harness.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

/// Due times of entries that all run, the base at one million seconds.
struct Due {
    explicit Due(std::size_t entries) : memory(DueTimes::size_for(entries)), times(memory) {
        times.set_base(kBase);
        for (EntryIndex entry = 0; entry < entries; ++entry) {
            times.grow(entry + 1);
        }
    }
    std::vector<EntryIndex> walk(Timestamp until, std::size_t most, std::size_t room = 100) {
        std::vector<EntryIndex> found(room);
        found.resize(times.walk(cursor, most, times.tick_of(until), found));
        left = most;
        return found;
    }

    static constexpr Timestamp kBase{1'000'000s};
    std::vector<DueTimes::Tick> memory;
    DueTimes times;
    DueTimes::Cursor cursor;
    std::size_t left = 0;
};

}  // namespace

TEST_CASE("DueTimes: a walk finds what is due, wherever it lies", "[flowcache][unit]") {
    Due due(40);
    due.times.set(3, Due::kBase + 1s);
    due.times.set(17, Due::kBase + 2s);
    due.times.set(39, Due::kBase + 3s);
    CHECK(due.walk(Due::kBase, 48).empty());
    CHECK(due.walk(Due::kBase + 2s, 48) == std::vector<EntryIndex>{3, 17});
    CHECK(due.walk(Due::kBase + 9s, 48) == std::vector<EntryIndex>{3, 17, 39});
    due.times.clear(17);
    CHECK(due.walk(Due::kBase + 9s, 48) == std::vector<EntryIndex>{3, 39});
}

TEST_CASE("DueTimes: a walk finds each entry of a block, whatever the ticks", "[flowcache][unit]") {
    constexpr DueTimes::Tick kHalf =
        0x8000'0000;  // where a signed comparison would change its sign
    constexpr DueTimes::Tick kLast = DueTimes::kNever - 1;
    std::vector<DueTimes::Tick> memory(2 * DueTimes::kBlock + 1);
    const std::span<DueTimes::Tick> all(memory);
    DueTimes times(all.subspan(1));  // aligned to no more than a tick
    times.grow(1);
    times.grow(DueTimes::kBlock + 1);
    const DueTimes::Tick until = GENERATE_COPY(DueTimes::Tick{1}, kHalf - 1, kHalf, kLast - 1);
    for (const DueTimes::Tick due :
         {DueTimes::Tick{0}, until - 1, until, until + 1, kHalf - 1, kHalf, kLast}) {
        for (EntryIndex entry = 0; entry < 2 * DueTimes::kBlock; ++entry) {
            INFO("until " << until << ", due " << due << ", entry " << entry);
            times.set(entry, times.start_of(due));
            DueTimes::Cursor cursor;
            std::size_t most = 2 * DueTimes::kBlock;
            std::array<EntryIndex, 4> found{};
            const std::size_t count = times.walk(cursor, most, until, found);
            CHECK(count == (due <= until ? 1 : 0));
            CHECK((count == 0 || found[0] == entry));
            times.clear(entry);
        }
    }
}

TEST_CASE("DueTimes: a walk stops where it may not go on, and goes on there", "[flowcache][unit]") {
    Due due(64);
    for (EntryIndex entry = 0; entry < 64; ++entry) {
        due.times.set(entry, Due::kBase);
    }
    CHECK(due.walk(Due::kBase, 64, 3) == std::vector<EntryIndex>{0, 1, 2});
    CHECK(due.left == 61);
    CHECK(due.walk(Due::kBase, 2) == std::vector<EntryIndex>{3, 4});
    CHECK(due.walk(Due::kBase, 59).size() == 59);
    CHECK(due.walk(Due::kBase, 1) == std::vector<EntryIndex>{0});
}

TEST_CASE("DueTimes: times before the base are due, those beyond the last tick are its",
          "[flowcache][unit]") {
    const Due due(1);
    CHECK(due.times.tick_of(Due::kBase - 1h) == 0);
    CHECK(due.times.tick_of(Due::kBase) == 0);
    CHECK(due.times.tick_of(Due::kBase + std::chrono::nanoseconds(1 << 26)) == 1);
    CHECK(due.times.start_of(1) == Due::kBase + std::chrono::nanoseconds(1 << 26));
    CHECK(due.times.tick_of(Due::kBase + 24h * 365 * 60) == DueTimes::kNever - 1);
    CHECK_FALSE(due.times.needs_new_base(Due::kBase + 24h * 365 * 4));
    CHECK(due.times.needs_new_base(Due::kBase + 24h * 365 * 5));
}

TEST_CASE("WalkPace: a whole walk takes half a second of packet time, in small steps",
          "[flowcache][unit]") {
    constexpr std::size_t kEntries = 20'000'000;
    WalkPace pace;
    Timestamp now = at_ms(1'700'000'000'000);
    static_cast<void>(pace.entries_until(now, kEntries));
    pace.passed(kEntries, kEntries);
    std::size_t passed = 0;
    for (int step = 0; step < 50'000; ++step) {
        now += 10us;
        const std::size_t entries = pace.entries_until(now, kEntries);
        CHECK(entries <= 65'536);
        pace.passed(entries, kEntries);
        passed += entries;
    }
    CHECK(passed > kEntries * 99 / 100);
    CHECK(passed < kEntries * 101 / 100);
}

TEST_CASE("WalkPace: after a long silence no more than one walk is owed", "[flowcache][unit]") {
    constexpr std::size_t kEntries = 1'000'000;
    WalkPace pace;
    const Timestamp now = at_ms(1'700'000'000'000);
    std::size_t passed = 0;
    for (int step = 0; step < 100; ++step) {
        const std::size_t entries = pace.entries_until(now, kEntries);
        pace.passed(entries, kEntries);
        passed += entries;
    }
    CHECK(passed <= kEntries);
    CHECK(passed > kEntries * 9 / 10);
}
