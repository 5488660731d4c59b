// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/record_ring.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>
#include <vector>

using namespace tributary;

namespace {

FlowRecord<112> numbered(std::uint64_t number) {
    FlowRecord<112> record{};
    record.core.packets = number;
    record.core.octets = ~number;
    record.groups.fill(static_cast<std::byte>(number));
    return record;
}

using Records = std::vector<FlowRecord<112>>;

Records numbered(std::uint64_t first, std::uint64_t end) {
    Records records;
    for (std::uint64_t number = first; number < end; ++number) {
        records.push_back(numbered(number));
    }
    return records;
}

/// Takes at most so many records.
Records drain(RecordSource& ring, std::size_t most) {
    Records out(most);
    out.resize(ring.drain(std::as_writable_bytes(std::span(out)), most));
    return out;
}

bool are_same(const Records& a, const Records& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}

}  // namespace

TEST_CASE("RecordRing: takes what it has room for, and keeps the order over its end",
          "[daemon][unit]") {
    RecordRing<112> ring({}, 8, {}, PageUse::offline);
    CHECK(ring.push(numbered(0, 5)) == 5);
    CHECK(ring.push(numbered(5, 10)) == 2);
    CHECK(ring.push(numbered(7, 8)) == 0);
    CHECK(ring.push({}) == 0);
    CHECK(are_same(drain(ring, 3), numbered(0, 3)));
    CHECK(ring.push(numbered(7, 10)) == 3);
    CHECK(are_same(drain(ring, 8), numbered(3, 10)));
    CHECK(drain(ring, 8).empty());
}

TEST_CASE("RingSink: hands over when it is told to or has a batch, and refuses when both are full",
          "[daemon][unit]") {
    RecordRing<112> ring({}, 8, {}, PageUse::offline);
    RingSink<112> sink(ring, WhenRingFull::refuse);
    CHECK(sink.hand_over());
    CHECK(sink.try_push(numbered(0)));
    CHECK(sink.has_waiting());
    CHECK(drain(ring, 8).empty());
    CHECK(sink.hand_over());
    CHECK_FALSE(sink.has_waiting());
    CHECK(are_same(drain(ring, 8), numbered(0, 1)));

    std::uint64_t next = 1;
    while (sink.try_push(numbered(next))) {
        ++next;
    }
    const std::size_t room = ring.fill().room;
    CHECK(ring.fill().records == room);
    CHECK(next == 1 + room + 32);
    CHECK_FALSE(sink.hand_over());
    CHECK(are_same(drain(ring, 3), numbered(1, 4)));
    CHECK(sink.try_push(numbered(next)));
    Records rest;
    while (!sink.hand_over() || ring.fill().records > 0) {
        const Records some = drain(ring, 5);
        rest.insert(rest.end(), some.begin(), some.end());
    }
    CHECK(are_same(rest, numbered(4, next + 1)));
}

TEST_CASE("RecordRing: two threads, every record arrives once, whole and in order",
          "[daemon][unit][threads]") {
    constexpr std::uint64_t kRecords = 200'000;
    RecordRing<112> ring({}, 256, {}, PageUse::offline);
    std::thread producer([&ring] {
        RingSink<112> sink(ring, WhenRingFull::wait);
        for (std::uint64_t number = 0; number < kRecords; ++number) {
            (void)sink.try_push(numbered(number));
        }
        sink.hand_over();
    });
    std::vector<FlowRecord<112>> out(64);
    std::uint64_t next = 0;
    std::uint64_t broken = 0;
    while (next < kRecords) {
        const std::size_t count = ring.drain(std::as_writable_bytes(std::span(out)), out.size());
        for (std::size_t index = 0; index < count; ++index, ++next) {
            const FlowRecord<112> expected = numbered(next);
            broken += std::memcmp(&out[index], &expected, sizeof expected) == 0 ? 0U : 1U;
        }
        if (count == 0) {
            std::this_thread::yield();
        }
    }
    producer.join();
    CHECK(broken == 0);
}
