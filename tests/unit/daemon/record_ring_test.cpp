// SPDX-License-Identifier: Apache-2.0
#include "daemon/record_ring.hpp"

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

}  // namespace

TEST_CASE("RecordRing: a full ring refuses and keeps what it has", "[daemon][unit]") {
    RecordRing<112> ring(8, {}, PageUse::offline);
    for (std::uint64_t number = 0; number < 7; ++number) {
        CHECK(ring.try_push(numbered(number)));
    }
    CHECK_FALSE(ring.try_push(numbered(7)));
    std::vector<FlowRecord<112>> out(8);
    CHECK(ring.drain(std::as_writable_bytes(std::span(out)), 3) == 3);
    CHECK(out[2].core.packets == 2);
    CHECK(ring.try_push(numbered(7)));
    CHECK(ring.drain(std::as_writable_bytes(std::span(out)), 8) == 5);
    CHECK(out[4].core.packets == 7);
    CHECK(ring.drain(std::as_writable_bytes(std::span(out)), 8) == 0);
}

TEST_CASE("RecordRing: two threads, every record arrives once, whole and in order",
          "[daemon][unit][threads]") {
    constexpr std::uint64_t kRecords = 200'000;
    RecordRing<112> ring(256, {}, PageUse::offline);
    std::thread producer([&ring] {
        RingSink<112> sink(ring, WhenRingFull::wait);
        for (std::uint64_t number = 0; number < kRecords; ++number) {
            (void)sink.try_push(numbered(number));
        }
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
