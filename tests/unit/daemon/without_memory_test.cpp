// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/client_places.hpp"
#include "daemon/capture/capture_source.hpp"
#include "daemon/filter/filter_compilation.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/unit/daemon/capture/capture_builder.hpp"
#include "tests/unit/daemon/capture/compressed.hpp"
#include "tests/unit/daemon/capture/nameless_file.hpp"

// Parts of the daemon without memory. operator new is replaced here, which ThreadSanitizer does not
// support: hence a program of its own.

namespace tributary {
namespace {

using namespace tributary::test;
using namespace std::chrono_literals;

constexpr ClientPlaces::Time kBegin{1h};

TEST_CASE("ClientPlaces: without memory no loser is forgotten", "[daemon][unit]") {
    using Sockets = std::vector<int>;
    ClientPlaces places({.places = 1, .total = 5s});
    places.enter(1, {.user = 1, .process = 0}, kBegin - 5s);
    places.enter(2, {.user = 2, .process = 0}, kBegin);
    places.enter(3, {.user = 3, .process = 0}, kBegin);
    const auto losers_with = [&places](std::int64_t allocations) {
        const NoLargeMemory limit(0, allocations);
        return places.take_losers(kBegin);
    };
    CHECK_THROWS_AS(losers_with(0), std::bad_alloc);
    CHECK(losers_with(1) == Sockets{1, 2});
    std::int64_t none = 0;
    const NoLargeMemory limit(0, none);
    const std::optional<int> displaced = places.displace();
    CHECK(displaced == 3);
}

TEST_CASE("FilterCompilation: without memory the outcome is that, wherever it ran out",
          "[daemon][unit]") {
    const std::string expression = "udp port 53 or udp port 5353 or udp port 4739";
    bool is_refused = true;
    for (std::int64_t allocations = 0; is_refused; ++allocations) {
        const std::size_t before = refused_allocations();
        std::optional<FilterCompilation> compilation;
        {
            std::int64_t left = allocations;
            const NoLargeMemory limit(0, left);
            compilation.emplace(expression, FilterLinks::ethernet);
        }
        std::optional<FilterCompilation::Outcome> outcome = compilation->poll();
        for (; !outcome; outcome = compilation->poll()) {
            std::this_thread::yield();
        }
        is_refused = refused_allocations() != before;
        CHECK((outcome->filter == nullptr) == is_refused);
        CHECK(outcome->may_heal == is_refused);
        CHECK(outcome->fault == (is_refused ? "no memory" : ""));
        CHECK_FALSE(compilation->poll());
    }
}

/// A pcapng with frames of several interfaces, then a damaged block.
Bytes damaged_capture() {
    CaptureBytes file{std::endian::little};
    add_section(file);
    for (std::uint32_t number = 0; number < 20; ++number) {
        add_interface(file, 1);
        add_enhanced(file, {.interface = number, .ticks = number, .data = "a frame"});
    }
    return file.u32(6).u32(4).u32(0).u32(0).bytes();
}

/// The outcome of reading a capture with so many allocations.
struct ReadWith {
    std::size_t frames{};
    bool is_refused{};  ///< an allocation was refused
    bool is_told{};     ///< a fault of the capture is reported
};

ReadWith read_with(std::int64_t allocations, const std::string& path) {
    ReadWith result;
    CaptureFiles files{{path}, 1, {.piece = 64, .longest_item = 4096}};
    CaptureCounters counters;
    CaptureSource source{files, counters, 0};
    const std::size_t before = refused_allocations();
    {
        const NoLargeMemory limit(0, allocations);
        while (!source.exhausted()) {
            result.frames += source.receive().frames.size();
        }
    }
    result.is_refused = refused_allocations() != before;
    result.is_told = files.cut_count() != 0 || files.failure() != std::nullopt;
    return result;
}

TEST_CASE("CaptureSource: without memory the capture's end is told, wherever it ran out",
          "[daemon][unit]") {
    const Bytes capture = damaged_capture();
    Bytes cut = by_gzip(capture);
    cut.resize(cut.size() - 4);
    for (const Bytes& content : {capture, cut, by_xz(capture), by_zstd(capture)}) {
        for (const auto kind : {NamelessFile::Kind::regular, NamelessFile::Kind::pipe}) {
            bool is_refused = true;
            for (std::int64_t allocations = 0; is_refused; ++allocations) {
                const NamelessFile file{content, kind};
                const ReadWith read = read_with(allocations, file.path());
                CAPTURE(allocations);
                CHECK(read.is_told);
                CHECK((read.frames == 20 || read.is_refused));
                is_refused = read.is_refused;
            }
        }
    }
    for (std::int64_t allocations = 0; allocations < 10; ++allocations) {
        CHECK(read_with(allocations, "/nowhere/a capture that is not there").is_told);
    }
}

}  // namespace
}  // namespace tributary
