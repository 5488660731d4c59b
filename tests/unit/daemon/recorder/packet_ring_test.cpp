// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/packet_ring.hpp"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "daemon/recorder/ring_reader.hpp"

using namespace tributary;
using namespace std::chrono_literals;

namespace {

constexpr Timestamp kRingStart{1'700'000'000s};
constexpr std::size_t kSmallest = PacketRing::rounded(0);

/// Octets that follow from a packet's number, of a length that does too.
std::vector<std::byte> octets_of(std::uint64_t number, std::size_t most = 200) {
    std::vector<std::byte> octets(number * 37 % (most + 1));
    for (std::size_t place = 0; place < octets.size(); ++place) {
        octets[place] = static_cast<std::byte>(number * 7 + place);
    }
    return octets;
}

void append(PacketRing& ring, std::uint64_t number, std::size_t most = 200) {
    const std::vector<std::byte> octets = octets_of(number, most);
    ring.append({.seen_at = kRingStart + std::chrono::microseconds(number),
                 .wire_bytes = static_cast<std::uint32_t>(octets.size() + number % 5),
                 .flow_hash = static_cast<std::uint32_t>(number * 3),
                 .rss_hash = static_cast<std::uint32_t>(number * 5),
                 .ingress_interface = {static_cast<std::uint32_t>(number % 11)},
                 .link_type = number % 2 == 0 ? LinkType::ethernet : LinkType::linux_sll2},
                octets);
}

/// The number of a packet, by its time.
std::uint64_t number_of(const RecordedPacket& packet) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(packet.metadata.seen_at - kRingStart)
            .count());
}

bool is_whole(const RecordedPacket& packet, std::size_t most = 200) {
    const std::uint64_t number = number_of(packet);
    const std::vector<std::byte> octets = octets_of(number, most);
    const KeptMetadata& metadata = packet.metadata;
    return std::ranges::equal(packet.octets, octets) && metadata.octets == octets.size() &&
           metadata.wire_bytes == octets.size() + number % 5 &&
           metadata.flow_hash == static_cast<std::uint32_t>(number * 3) &&
           metadata.rss_hash == static_cast<std::uint32_t>(number * 5) &&
           metadata.ingress_interface.value == number % 11 &&
           metadata.link_type == (number % 2 == 0 ? LinkType::ethernet : LinkType::linux_sll2);
}

}  // namespace

TEST_CASE("PacketRing: what was kept is read as it came, in its order", "[daemon][unit]") {
    PacketRing ring(kSmallest, {}, PageUse::offline);
    RingReader reader(ring, kRingStart);
    CHECK(reader.read().empty());
    std::uint64_t written = 0;
    std::uint64_t expected = 0;
    bool all_are_whole = true;
    for (int burst = 0; burst < 300; ++burst) {  // 2 MB: round the ring twice
        for (int packet = 0; packet < 64; ++packet) {
            append(ring, written++);
        }
        ring.publish(kRingStart + std::chrono::microseconds(written));
        for (auto read = reader.read(); !read.empty(); read = reader.read()) {
            for (const RecordedPacket& packet : read) {
                all_are_whole = all_are_whole && number_of(packet) == expected && is_whole(packet);
                ++expected;
            }
        }
    }
    CHECK(all_are_whole);
    CHECK(expected == written);
    CHECK(reader.packets() == written);
    CHECK(reader.overwritten() == 0);
    CHECK(ring.kept() == written);
    CHECK(ring.clock() == kRingStart + std::chrono::microseconds(written));
}

TEST_CASE("PacketRing: nothing is read before it is published", "[daemon][unit]") {
    PacketRing ring(kSmallest, {}, PageUse::offline);
    RingReader reader(ring, kRingStart);
    append(ring, 1);
    CHECK(reader.read().empty());
    ring.publish(kRingStart);
    CHECK(reader.read().size() == 1);
    CHECK(reader.read().empty());
}

TEST_CASE("PacketRing: a reader that is overtaken knows how many packets it has missed",
          "[daemon][unit]") {
    const std::uint64_t count = GENERATE(10'000U, 50'000U, 123'457U);
    PacketRing ring(kSmallest, {}, PageUse::offline);
    RingReader reader(ring, kRingStart);
    for (std::uint64_t number = 0; number < 100; ++number) {
        append(ring, number);
    }
    ring.publish(kRingStart);
    std::uint64_t next = reader.read().size();
    CHECK(next == 100);
    for (std::uint64_t number = 100; number < count; ++number) {
        append(ring, number);
        ring.publish(kRingStart);
    }
    std::optional<std::uint64_t> first;
    for (auto read = reader.read(); !read.empty(); read = reader.read()) {
        for (const RecordedPacket& packet : read) {
            if (!first) {
                first = number_of(packet);
                next = *first;
            }
            REQUIRE(number_of(packet) == next++);
            REQUIRE(is_whole(packet));
        }
    }
    CHECK(next == count);
    CHECK(reader.overwritten() == *first - 100);
    CHECK(reader.packets() + reader.overwritten() == count);
    CHECK(ring.look_at(ring.oldest_block())->first_number == *first);
}

TEST_CASE("PacketRing: packets of all lengths, also at the end of a block", "[daemon][unit]") {
    PacketRing ring(kSmallest, {}, PageUse::offline);
    RingReader reader(ring, kRingStart);
    const std::size_t most = GENERATE(0U, 1U, 8U, 64U, 16'000U, PacketRing::kMostOctets);
    std::uint64_t expected = 0;
    for (std::uint64_t number = 0; number < 3000; ++number) {
        append(ring, number, most);
        ring.publish(kRingStart);
        for (const RecordedPacket& packet : reader.read()) {
            REQUIRE(number_of(packet) == expected++);
            REQUIRE(is_whole(packet, most));
        }
        if (number % 2 == 0) {  // one may remain, where a block has ended
            for (const RecordedPacket& packet : reader.read()) {
                REQUIRE(number_of(packet) == expected++);
                REQUIRE(is_whole(packet, most));
            }
        }
    }
    CHECK(expected == 3000);
    CHECK(reader.overwritten() == 0);
}

TEST_CASE("PacketRing: a reader passes over blocks that are older than it asks for",
          "[daemon][unit]") {
    PacketRing ring(16 * kSmallest, {}, PageUse::offline);
    for (std::uint64_t number = 0; number < 60'000; ++number) {
        append(ring, number);
    }
    ring.publish(kRingStart);
    const std::uint64_t since = GENERATE(0U, 1U, 30'000U, 59'999U);
    RingReader reader(ring, kRingStart + std::chrono::microseconds(since));
    std::optional<std::uint64_t> first;
    std::uint64_t last = 0;
    for (auto read = reader.read(); !read.empty(); read = reader.read()) {
        first = first.value_or(number_of(read.front()));
        last = number_of(read.back());
    }
    CHECK(first.value() <= since);
    CHECK(since - first.value() < 3000);  // packets of a block
    CHECK(last == 59'999);
    CHECK(reader.overwritten() == 0);
    CHECK(RingReader(ring, kRingStart + 1h).read().size() < 3000);
}

TEST_CASE("PacketRing: a reader that looks for a flow passes over blocks without it",
          "[daemon][unit]") {
    PacketRing ring(64 * kSmallest, {}, PageUse::offline);
    const std::uint32_t wanted = 70'001;
    std::uint64_t of_flow = 0;
    std::uint64_t number = 0;
    for (; number < 200'000; ++number) {
        const bool is_wanted = number % 40'000 == 7;
        of_flow += is_wanted ? 1 : 0;
        ring.append({.seen_at = kRingStart + std::chrono::microseconds(number),
                     .flow_hash = is_wanted ? wanted : 1 + static_cast<std::uint32_t>(number % 900),
                     .is_unknown = number == 150'000},
                    octets_of(number));
    }
    ring.publish(kRingStart);
    RingReader reader(ring, kRingStart);
    reader.look_for({5'000'000, wanted});
    reader.stop_at(ring.published());
    std::uint64_t found = 0;
    std::uint64_t read = 0;
    bool has_unknown = false;
    while (!reader.has_ended()) {
        for (const RecordedPacket& packet : reader.read()) {
            found += packet.metadata.flow_hash == wanted ? 1 : 0;
            has_unknown = has_unknown || number_of(packet) == 150'000;
            ++read;
        }
    }
    CHECK(found == of_flow);
    CHECK(has_unknown);
    CHECK(read < number / 4);
    CHECK(reader.packets() == number);  // those that were passed over, too
    CHECK(reader.overwritten() == 0);
}

TEST_CASE("PacketRing: a reader stops where it is told to", "[daemon][unit]") {
    PacketRing ring(kSmallest, {}, PageUse::offline);
    RingReader empty(ring, kRingStart);
    empty.stop_at(ring.published());
    CHECK(empty.has_ended());
    std::uint64_t number = 0;
    for (const std::uint64_t until : {1U, 900U, 2500U, 5000U}) {
        for (; number < until; ++number) {
            append(ring, number);
        }
        ring.publish(kRingStart);
        RingReader reader(ring, kRingStart);
        reader.stop_at(ring.published());
        append(ring, number++);
        ring.publish(kRingStart);
        std::uint64_t read = 0;
        while (!reader.has_ended()) {
            read += reader.read().size();
        }
        CHECK(read == until);
    }
}

TEST_CASE("PacketRing: what is overwritten behind its stop does not count", "[daemon][unit]") {
    const std::uint64_t until = GENERATE(1U, 900U, 2500U, 5000U);
    const bool reads_some = GENERATE(false, true);
    PacketRing ring(kSmallest, {}, PageUse::offline);
    std::uint64_t number = 0;
    for (; number < until; ++number) {
        append(ring, number);
    }
    ring.publish(kRingStart);
    RingReader reader(ring, kRingStart);
    reader.stop_at(ring.published());
    const std::uint64_t read = reads_some ? reader.read().size() : 0;
    for (; number < until + 50'000; ++number) {
        append(ring, number);
        ring.publish(kRingStart);
    }
    while (!reader.has_ended()) {
        CHECK(reader.read().empty());
    }
    CHECK(reader.packets() == read);
    CHECK(reader.overwritten() == until - read);
}

TEST_CASE("PacketRing: times of a block also where the clock goes back", "[daemon][unit]") {
    PacketRing ring(kSmallest, {}, PageUse::offline);
    CHECK(ring.look_at(0)->earliest > ring.look_at(0)->latest);
    for (const auto time : {5s, 9s, 2s, 7s}) {
        ring.append({.seen_at = kRingStart + time}, {});
    }
    ring.publish(kRingStart);
    CHECK(ring.look_at(0)->earliest == kRingStart + 2s);
    CHECK(ring.look_at(0)->latest == kRingStart + 9s);
    CHECK(RingReader(ring, kRingStart + 8s).read().size() == 4);
}

TEST_CASE("PacketRing: readers beside a writer get whole packets, and count the others",
          "[daemon][unit]") {
    constexpr std::uint64_t kCount = 400'000;
    PacketRing ring(kSmallest, {}, PageUse::offline);
    std::atomic<bool> has_ended{false};
    struct Outcome {
        std::uint64_t packets = 0;
        std::uint64_t overwritten = 0;
        bool is_good = true;
    };
    std::vector<Outcome> outcomes(2);
    std::array readers{RingReader(ring, kRingStart),
                       RingReader(ring, kRingStart)};  // before the first one
    const auto follow = [&](std::size_t number, std::chrono::microseconds pause) {
        RingReader& reader = readers.at(number);
        Outcome& outcome = outcomes.at(number);
        std::uint64_t next = 0;
        for (bool is_last = false; !is_last;) {
            is_last = has_ended.load();
            for (auto read = reader.read(); !read.empty(); read = reader.read()) {
                for (const RecordedPacket& packet : read) {
                    outcome.is_good =
                        outcome.is_good && number_of(packet) >= next && is_whole(packet);
                    next = number_of(packet) + 1;
                }
                std::this_thread::sleep_for(pause);
            }
        }
        outcome.packets = reader.packets();
        outcome.overwritten = reader.overwritten();
    };
    std::thread quick([&] { follow(0, 0us); });
    std::thread slow([&] { follow(1, 300us); });
    for (std::uint64_t number = 0; number < kCount; ++number) {
        append(ring, number);
        if (number % 64 == 63) {
            ring.publish(kRingStart);
        }
    }
    ring.publish(kRingStart);
    has_ended.store(true);
    quick.join();
    slow.join();
    for (const Outcome& outcome : outcomes) {
        CHECK(outcome.is_good);
        CHECK(outcome.packets > 0);
        CHECK(outcome.packets + outcome.overwritten == kCount);
    }
}
