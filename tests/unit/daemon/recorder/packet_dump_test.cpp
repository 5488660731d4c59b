// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/packet_dump.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "daemon/capture/capture_reader.hpp"
#include "daemon/recorder/packet_ring.hpp"

using namespace tributary;
using namespace std::chrono_literals;

namespace {

constexpr Timestamp kStart{1'700'000'000s};

/// Rings, and a dump of them into memory.
class Dumping {
public:
    explicit Dumping(std::size_t rings) {
        for (std::size_t ring = 0; ring < rings; ++ring) {
            rings_.emplace_back(PacketRing::rounded(0), std::nullopt, PageUse::offline);
        }
    }
    [[nodiscard]] PacketRing& ring(std::size_t number) { return rings_[number]; }
    /// Keeps a packet whose first octet is `mark`.
    void keep(std::size_t ring, std::chrono::milliseconds time, std::uint8_t mark) {
        const std::vector<std::byte> octets(60, std::byte{mark});
        rings_[ring].append(
            {.seen_at = kStart + time, .wire_bytes = 64, .flow_hash = 5, .rss_hash = 0x1234},
            octets);
        rings_[ring].publish(kStart + time);
    }
    /// @return  the marks of the packets that were dumped
    std::vector<std::uint8_t> dump(DumpRequest request) {
        std::vector<DumpQueue> queues;
        for (std::size_t ring = 0; ring < rings_.size(); ++ring) {
            queues.push_back({.ring = &rings_[ring],
                              .name = "uplink/" + std::to_string(ring),
                              .interface = "eth0",
                              .number = static_cast<std::uint32_t>(ring)});
        }
        file.clear();
        PacketDump dump(std::move(queues), std::move(request),
                        {.write =
                             [this](std::span<const std::byte> octets) {
                                 file.insert(file.end(), octets.begin(), octets.end());
                                 return takes_octets;
                             },
                         .clock = [this] { return now; },
                         .pause =
                             [this](std::chrono::milliseconds time) {
                                 now += time;
                                 on_pause();
                             },
                         .goes_on = [this] { return goes_on; },
                         .have_queues_ended = [this] { return have_queues_ended; }});
        is_whole = dump.run();
        accounts = dump.accounts();
        return marks();
    }
    [[nodiscard]] std::vector<std::uint8_t> marks() {
        std::vector<std::uint8_t> marks;
        CaptureReader reader(file);
        CHECK(reader.error() == CaptureError::none);
        CaptureFrame frame;
        for (auto item = reader.next(frame); item != CaptureItem::end; item = reader.next(frame)) {
            REQUIRE(item != CaptureItem::cut);
            if (item == CaptureItem::frame) {
                marks.push_back(std::to_integer<std::uint8_t>(frame.captured[0]));
                CHECK(frame.captured.size() == 60);
                CHECK(frame.wire_bytes == 64);
            }
        }
        return marks;
    }

    std::vector<std::byte> file;
    std::vector<DumpAccount> accounts;
    Timestamp now = kStart;
    std::function<void()> on_pause = [] {};
    bool goes_on = true;
    bool have_queues_ended = false;
    bool takes_octets = true;
    bool is_whole = false;

private:
    std::deque<PacketRing> rings_;
};

using Marks = std::vector<std::uint8_t>;

/// Packets pass whose first octet is even.
class Even final : public PacketSelector {
public:
    [[nodiscard]] PacketMask select(std::span<const PacketView> packets) noexcept override {
        PacketMask passed = 0;
        for (std::size_t place = 0; place < packets.size(); ++place) {
            const auto mark = std::to_integer<unsigned>(packets[place].captured[0]);
            passed |= PacketMask{mark % 2 == 0} << place;
        }
        return passed;
    }
};

/// Even, and calls a function with the first mark of each group before it looks at the group.
class EvenAndHook final : public PacketSelector {
public:
    explicit EvenAndHook(std::function<void(std::uint8_t)> hook) : hook_(std::move(hook)) {}
    [[nodiscard]] PacketMask select(std::span<const PacketView> packets) noexcept override {
        hook_(std::to_integer<std::uint8_t>(packets[0].captured[0]));
        return even_.select(packets);
    }

private:
    std::function<void(std::uint8_t)> hook_;
    Even even_;
};

}  // namespace

TEST_CASE("PacketDump: packets of several queues in the order of their times", "[daemon][unit]") {
    Dumping dumping(3);
    dumping.keep(0, 1ms, 1);
    dumping.keep(1, 2ms, 2);
    dumping.keep(0, 3ms, 3);
    dumping.keep(2, 4ms, 4);
    dumping.keep(2, 5ms, 5);
    dumping.keep(1, 6ms, 6);
    CHECK(dumping.dump({.since = kStart}) == Marks{1, 2, 3, 4, 5, 6});
    CHECK(dumping.is_whole);
    CHECK(dumping.dump({.since = kStart + 3ms}) == Marks{3, 4, 5, 6});
    CHECK(dumping.accounts[0].matched == 1);
    CHECK(dumping.accounts[0].octets == 60);
    CHECK(dumping.accounts[0].read == 2);
    CHECK(dumping.accounts[0].overwritten == 0);
    CHECK(dumping.accounts[0].oldest == kStart + 1ms);
}

TEST_CASE("PacketDump: a queue's packets stay in their order where its clock goes back",
          "[daemon][unit]") {
    Dumping dumping(2);
    dumping.keep(0, 10ms, 1);
    dumping.keep(0, 4ms, 2);
    dumping.keep(0, 5ms, 3);
    dumping.keep(1, 7ms, 4);
    CHECK(dumping.dump({.since = kStart}) == Marks{4, 1, 2, 3});
}

TEST_CASE("PacketDump: no packet, and none that matches, make a whole file", "[daemon][unit]") {
    Dumping dumping(2);
    CHECK(dumping.dump({.since = kStart}).empty());
    CHECK(dumping.is_whole);
    dumping.keep(0, 1ms, 1);
    Even even;
    CHECK(dumping.dump({.since = kStart, .filter = &even}).empty());
    CHECK(dumping.is_whole);
    CHECK(dumping.accounts[0].read == 1);
    CHECK(dumping.accounts[0].matched == 0);
}

TEST_CASE("PacketDump: a filter over more packets than a group", "[daemon][unit]") {
    Dumping dumping(2);
    Marks expected;
    for (int packet = 0; packet < 500; ++packet) {
        const auto mark = static_cast<std::uint8_t>(packet * 7);
        dumping.keep(packet % 3 == 0 ? 1 : 0, std::chrono::milliseconds(packet), mark);
        if (mark % 2 == 0) {
            expected.push_back(mark);
        }
    }
    Even even;
    CHECK(dumping.dump({.since = kStart, .filter = &even}) == expected);
}

TEST_CASE("PacketDump: it follows the rings to the end of its span", "[daemon][unit]") {
    Dumping dumping(2);
    dumping.keep(0, 1ms, 1);
    int pauses = 0;
    dumping.on_pause = [&] {
        // Packets of queue 1 come late, but its clock says that they may.
        switch (++pauses) {
            case 1:
                dumping.keep(0, 5ms, 3);
                break;
            case 2:
                dumping.keep(1, 3ms, 2);
                break;
            case 3:
                dumping.keep(1, 7ms, 4);
                dumping.keep(0, 30ms, 5);
                dumping.ring(1).publish(kStart + 40ms);
                break;
            case 4:
                dumping.keep(0, 60ms, 6);  // behind the span
                dumping.ring(1).publish(kStart + 60ms);
                break;
            default:
                break;
        }
    };
    CHECK(dumping.dump({.since = kStart, .until = kStart + 50ms}) == Marks{1, 2, 3, 4, 5});
    CHECK(dumping.is_whole);
    CHECK(pauses < 20);
}

TEST_CASE("PacketDump: a silent queue delays the others for kPatience", "[daemon][unit]") {
    Dumping dumping(2);
    int pauses = 0;
    dumping.on_pause = [&] {
        if (++pauses == 1) {
            dumping.keep(0, 10ms, 1);  // queue 1 is asleep, or hangs
        }
    };
    CHECK(dumping.dump({.since = kStart, .until = kStart + 500ms}) == Marks{1});
    CHECK(dumping.now >= kStart + 500ms + PacketDump::kPatience);
    CHECK(dumping.now < kStart + 1s);
}

TEST_CASE("PacketDump: a silent queue delays many packets once", "[daemon][unit]") {
    Dumping dumping(2);
    Marks expected;
    for (std::uint8_t mark = 1; mark <= 100; ++mark) {
        dumping.keep(0, std::chrono::milliseconds(mark), mark);
        expected.push_back(mark);
    }
    const Timestamp begin = kStart + 1h;  // the span is over: no pause is for packets to come
    dumping.now = begin;
    CHECK(dumping.dump({.since = kStart, .until = kStart + 1s}) == expected);
    CHECK(dumping.now - begin < 2 * PacketDump::kPatience);
}

TEST_CASE("PacketDump: a queue whose clock runs behind those of others", "[daemon][unit]") {
    Dumping dumping(2);
    dumping.keep(0, 10ms, 1);
    dumping.keep(0, 20ms, 2);
    int pauses = 0;
    dumping.on_pause = [&] {  // it counts on, without a packet, and never gets there
        dumping.ring(1).publish(kStart - 24h + ++pauses * 5ms);
        dumping.goes_on = pauses < 1000;
    };
    CHECK(dumping.dump({.since = kStart, .until = kStart + 1s}) == Marks{1, 2});
    CHECK(dumping.is_whole);
    CHECK(dumping.goes_on);
    CHECK(dumping.now < kStart + 1s + 2 * PacketDump::kPatience);
}

TEST_CASE("PacketDump: queues that have ended at different times bring all they have",
          "[daemon][unit]") {
    Dumping dumping(3);
    Marks expected;
    for (std::uint8_t mark = 1; mark <= 90; ++mark) {
        // Queue 0 ends after 30 ms, queue 1 after 60 ms, and queue 2 has the rest.
        const std::size_t last = mark <= 30 ? 0 : mark <= 60 ? 1 : 2;
        dumping.keep(std::max<std::size_t>(last, mark % 3), std::chrono::milliseconds(mark), mark);
        expected.push_back(mark);
    }
    dumping.have_queues_ended = true;
    CHECK(dumping.dump({.since = kStart, .until = kStart + 1h}) == expected);
    CHECK(dumping.is_whole);
    CHECK(dumping.now - kStart < 2 * PacketDump::kPatience);
}

TEST_CASE("PacketDump: a scan without a match ends when it has to", "[daemon][unit]") {
    Dumping dumping(1);
    dumping.keep(0, 1ms, 1);
    int looks = 0;
    EvenAndHook filter([&](std::uint8_t /*mark*/) {
        dumping.goes_on = ++looks < 10;
        if (looks < 1000) {  // the queue is always ahead of the dump
            dumping.keep(0, std::chrono::milliseconds(looks), 1);
        }
    });
    CHECK(dumping.dump({.since = kStart, .until = kStart + 1h, .filter = &filter}).empty());
    CHECK(dumping.is_whole);
    CHECK(looks == 10);
    CHECK(dumping.accounts[0].read == 10);
}

TEST_CASE("PacketDump: a packet that comes while another queue is looked at", "[daemon][unit]") {
    Dumping dumping(2);
    // While the packet `looked_at` is looked at, queue 0 gets an earlier one, and its clock goes
    // on.
    const auto brings_earlier = [&dumping](std::uint8_t looked_at,
                                           std::chrono::milliseconds clock) {
        return [&dumping, looked_at, clock](std::uint8_t mark) {
            if (mark == looked_at) {
                dumping.keep(0, 5ms, 2);
                dumping.ring(0).publish(kStart + clock);
            }
        };
    };
    SECTION("is written before later ones") {
        dumping.keep(1, 10ms, 4);
        EvenAndHook filter(brings_earlier(4, 20ms));
        dumping.on_pause = [&] { dumping.goes_on = false; };
        CHECK(dumping.dump({.since = kStart, .until = kStart + 1h, .filter = &filter}) ==
              Marks{2, 4});
    }
    SECTION("is written at the end of the span") {
        dumping.keep(1, 60ms, 3);
        EvenAndHook filter(brings_earlier(3, 70ms));
        dumping.ring(1).publish(kStart + 70ms);
        CHECK(dumping.dump({.since = kStart, .until = kStart + 65ms, .filter = &filter}) ==
              Marks{2});
        CHECK(dumping.accounts[0].read == 1);
    }
}

TEST_CASE("PacketDump: it ends with a whole file when it has to", "[daemon][unit]") {
    Dumping dumping(1);
    dumping.keep(0, 1ms, 1);
    dumping.on_pause = [&] { dumping.goes_on = false; };
    CHECK(dumping.dump({.since = kStart, .until = kStart + 1h}) == Marks{1});
    CHECK(dumping.is_whole);
}

TEST_CASE("PacketDump: a reader that leaves ends it, and it is not whole", "[daemon][unit]") {
    Dumping dumping(1);
    dumping.keep(0, 1ms, 1);
    dumping.takes_octets = false;
    static_cast<void>(dumping.dump({.since = kStart, .until = kStart + 1h}));
    CHECK_FALSE(dumping.is_whole);
}

TEST_CASE("PacketDump: what is overwritten while it writes is counted exactly", "[daemon][unit]") {
    Dumping dumping(1);
    std::uint64_t kept = 0;
    const auto keep = [&](int packets) {
        for (int packet = 0; packet < packets; ++packet) {
            dumping.keep(0, std::chrono::milliseconds(kept++), 1);
        }
    };
    keep(1000);
    bool has_grown = false;
    dumping.on_pause = [&] {
        if (!has_grown) {
            keep(50'000);  // more than the ring holds
            has_grown = true;
        }
        dumping.ring(0).publish(kStart + 2h);
    };
    const std::size_t written = dumping.dump({.since = kStart, .until = kStart + 1h}).size();
    CHECK(dumping.accounts[0].overwritten > 30'000);
    CHECK(written + dumping.accounts[0].overwritten == kept);
}
