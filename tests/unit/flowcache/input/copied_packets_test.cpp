// SPDX-License-Identifier: Apache-2.0
#include "flowcache/input/copied_packets.hpp"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

using namespace tributary;

namespace {

/// Octets 0, 1, 2 and so on, from `first` on.
std::vector<std::byte> octets(std::size_t count, unsigned first = 0) {
    std::vector<std::byte> bytes(count);
    for (std::size_t i = 0; i < count; ++i) {
        bytes[i] = static_cast<std::byte>(first + i * 7);
    }
    return bytes;
}

std::vector<std::byte> octets_of(const KeptPacket& packet) {
    std::vector<std::byte> bytes;
    for (std::size_t number = 0; number < packet.segments(); ++number) {
        const std::span<const std::byte> segment = packet.segment(number);
        bytes.insert(bytes.end(), segment.begin(), segment.end());
    }
    return bytes;
}

struct CopyFixture {
    explicit CopyFixture(std::uint32_t most) : copies(most) { burst.owner = &copies; }
    [[nodiscard]] KeptPacket keep(const std::vector<std::byte>& bytes) {
        view.captured = bytes;
        view.wire_bytes = 9999;
        view.seen_at = Timestamp{std::chrono::seconds{5}};
        burst.frames = {&view, 1};
        return burst.keep(0);
    }
    CopiedPackets copies;
    PacketView view;
    FrameBurst burst;
};

}  // namespace

TEST_CASE("CopiedPackets: a kept packet has the octets and metadata that came",
          "[flowcache][unit]") {
    CopyFixture fixture(4);
    for (const std::size_t count : {0U, 1U, 60U, 2048U, 2049U, 8192U}) {
        INFO(count);
        std::vector<std::byte> bytes = octets(count);
        const KeptPacket packet = fixture.keep(bytes);
        REQUIRE(packet);
        CHECK(fixture.burst.kept == 1);
        CHECK(fixture.burst.details(0).segments == 1);
        const std::vector<std::byte> wanted = std::exchange(bytes, {});
        CHECK(octets_of(packet) == wanted);
        CHECK(packet.view().wire_bytes == 9999);
        CHECK(packet.view().seen_at == Timestamp{std::chrono::seconds{5}});
        CHECK(packet.details() ==
              FrameDetails{.segments = static_cast<std::uint16_t>(packet.segments())});
        CHECK(packet.segments() == std::max<std::size_t>(1, (count + 2047) / 2048));
    }
    CHECK(fixture.copies.kept().kept() == 6);
    CHECK(fixture.copies.kept().held() == 0);
    CHECK(fixture.copies.kept().refused() == 0);
}

TEST_CASE("CopiedPackets: what exceeds the stated number is refused, and counted",
          "[flowcache][unit]") {
    CopyFixture fixture(3);
    const KeptBuffers& counts = fixture.copies.kept();
    std::vector<KeptPacket> packets;
    packets.push_back(fixture.keep(octets(10, 1)));
    packets.push_back(fixture.keep(octets(3000, 2)));
    CHECK(counts.held() == 2);
    fixture.burst.kept = 0;
    CHECK_FALSE(fixture.keep(octets(10)));
    CHECK(fixture.burst.kept == 0);
    CHECK(counts.refused() == 1);

    packets[0] = {};  // one buffer is free
    CHECK_FALSE(fixture.keep(octets(2049)));
    KeptPacket third = fixture.keep(octets(2048, 3));
    REQUIRE(third);
    KeptPacket moved = std::move(third);
    CHECK_FALSE(third);  // NOLINT(bugprone-use-after-move)
    CHECK(octets_of(moved) == octets(2048, 3));
    CHECK(octets_of(packets[1]) == octets(3000, 2));
    CHECK(counts.kept() == 3);
    CHECK(counts.refused() == 2);
    CHECK(counts.held() == 2);
    moved = std::move(packets[1]);
    CHECK(octets_of(moved) == octets(3000, 2));
    CHECK(counts.held() == 1);
    moved = {};
    CHECK(counts.held() == 0);
    CHECK(fixture.keep(octets(6144)));

    CopyFixture none(0);
    CHECK_FALSE(none.keep(octets(1)));
    CHECK(none.copies.kept().refused() == 1);
}

TEST_CASE("CopiedPackets: a packet outlives its source, and another thread gives it back",
          "[flowcache][unit][threads]") {
    KeptPacket packet;
    {
        CopyFixture fixture(2);
        packet = fixture.keep(octets(100, 9));
    }
    std::thread([last = std::move(packet)]() mutable {
        CHECK(octets_of(last) == octets(100, 9));
        last = {};
    }).join();
}

TEST_CASE("CopiedPackets: buffers come back from several threads at once, none twice",
          "[flowcache][unit][threads]") {
    constexpr std::uint32_t kBuffers = 64;
    constexpr std::size_t kThreads = 3;
    constexpr unsigned kPackets = 20'000;
    CopyFixture fixture(kBuffers);
    std::array<std::atomic<KeptPacket*>, kThreads> handed{};
    std::atomic<bool> is_over{false};
    std::atomic<std::uint64_t> given_back{0};
    std::atomic<std::uint64_t> wrong{0};
    std::vector<std::jthread> threads;
    for (std::atomic<KeptPacket*>& place : handed) {
        threads.emplace_back([&] {
            while (!is_over) {
                const std::unique_ptr<KeptPacket> packet(place.exchange(nullptr));
                if (packet == nullptr) {
                    std::this_thread::yield();
                    continue;
                }
                std::uint32_t first = 0;
                std::memcpy(&first, packet->view().captured.data(), sizeof first);
                std::vector<std::byte> wanted = octets(100 + first % 6000, first);
                std::memcpy(wanted.data(), &first, sizeof first);
                wrong += octets_of(*packet) == wanted ? 0 : 1;
                ++given_back;
            }
        });
    }
    std::uint64_t kept = 0;
    std::uint64_t refused = 0;
    std::vector<std::unique_ptr<KeptPacket>> waiting;
    for (unsigned number = 0; number < kPackets; ++number) {
        std::vector<std::byte> bytes = octets(100 + number % 6000, number);
        std::memcpy(bytes.data(), &number, sizeof number);
        if (KeptPacket packet = fixture.keep(bytes)) {
            ++kept;
            waiting.push_back(std::make_unique<KeptPacket>(std::move(packet)));
        } else {
            ++refused;
        }
        std::atomic<KeptPacket*>& place = handed[number % kThreads];
        KeptPacket* free_place = nullptr;
        if (!waiting.empty() && place.compare_exchange_strong(free_place, waiting.back().get())) {
            static_cast<void>(waiting.back().release());
            waiting.pop_back();
        }
    }
    for (std::unique_ptr<KeptPacket>& packet : waiting) {
        KeptPacket* free_place = nullptr;
        while (!handed[0].compare_exchange_weak(free_place, packet.get())) {
            free_place = nullptr;
            std::this_thread::yield();
        }
        static_cast<void>(packet.release());
    }
    while (given_back < kept) {
        std::this_thread::yield();
    }
    is_over = true;
    threads.clear();
    CHECK(wrong == 0);
    CHECK(given_back == kept);
    CHECK(kept + refused == kPackets);
    const KeptBuffers& counts = fixture.copies.kept();
    CHECK(counts.kept() == kept);
    CHECK(counts.refused() == refused);
    CHECK(counts.held() == 0);
    std::vector<KeptPacket> all;  // each of the buffers is there again, once
    for (std::uint32_t number = 0; number < kBuffers; ++number) {
        all.push_back(fixture.keep(octets(2048, number)));
        REQUIRE(all.back());
    }
    for (std::uint32_t number = 0; number < kBuffers; ++number) {
        CHECK(octets_of(all[number]) == octets(2048, number));
    }
    CHECK_FALSE(fixture.keep(octets(1)));
}
