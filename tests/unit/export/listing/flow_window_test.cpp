// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_window.hpp"

#include <catch2/catch.hpp>
#include <chrono>

using tributary::FlowView;
using tributary::FlowWindow;
using tributary::parse_time;
using tributary::Timestamp;

namespace {

constexpr Timestamp at(std::int64_t seconds, std::int64_t nanoseconds = 0) {
    return Timestamp{std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanoseconds)};
}

constexpr Timestamp kNow = at(1'700'000'000);

}  // namespace

TEST_CASE("parse_time: a date or a time of it, in UTC", "[export][unit]") {
    CHECK(parse_time("2023-11-14", kNow) == at(1'699'920'000));
    CHECK(parse_time("2023-11-14T22:13", kNow) == at(1'699'999'980));
    CHECK(parse_time("2023-11-14T22:13:20", kNow) == kNow);
    CHECK(parse_time("2023-11-14 22:13:20Z", kNow) == kNow);
    CHECK(parse_time("2023-11-14T22:13:20.123Z", kNow) == at(1'700'000'000, 123'000'000));
    CHECK(parse_time("2023-11-14T22:13:20.123456789", kNow) == at(1'700'000'000, 123'456'789));
    CHECK(parse_time("2024-02-29", kNow) == at(1'709'164'800));
    CHECK(parse_time("1970-01-01T00:00:01", kNow) == at(1));
    CHECK(parse_time("2106-02-07T06:28:14", kNow) == at(4'294'967'294));
}

TEST_CASE("parse_time: how long ago", "[export][unit]") {
    CHECK(parse_time("30s", kNow) == at(1'699'999'970));
    CHECK(parse_time("15m", kNow) == at(1'699'999'100));
    CHECK(parse_time("2d", kNow) == at(1'699'827'200));
    CHECK(parse_time("5min", kNow) == at(1'699'999'700));
    CHECK(parse_time("1h30m", kNow) == at(1'699'994'600));
    CHECK(parse_time("1w", kNow) == at(1'699'395'200));
    CHECK(parse_time("1w1d1s", kNow) == at(1'699'308'799));
}

TEST_CASE("parse_time: any other text, is no time", "[export][unit]") {
    for (const char* text : {"",
                             "now",
                             "2023",
                             "2023-11",
                             "2023-13-01",
                             "2023-02-29",
                             "2023-11-14T",
                             "2023-11-14T25:00",
                             "2023-11-14T22:60",
                             "2023-11-14T22:13:20.",
                             "2023-11-14T22:13:20.1234567890",
                             "2023-11-14x",
                             "2023-11-14T22:13:20+01:00",
                             "15",
                             "15x",
                             "99999999d",
                             "1h30",
                             "30m1h",
                             "5m5m",
                             "1h-5m",
                             "1h 5m",
                             "5Min",
                             "0000-01-01",
                             "1439-06-20",
                             "1969-12-31",
                             "1970-01-01",
                             "2106-02-08",
                             "2107-01-01",
                             "2608-06-04",
                             "9999-12-31"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_time(text, kNow).has_value());
    }
}

TEST_CASE("FlowWindow: has the flows that ran in it or across it", "[export][unit]") {
    FlowView flow;
    flow.core.start = at(100);
    flow.core.end = at(200);
    CHECK(FlowWindow{}.has(flow));
    CHECK(FlowWindow{}.has(FlowView{}));
    CHECK(FlowWindow{.since = at(200)}.has(flow));
    CHECK_FALSE(FlowWindow{.since = at(200, 1)}.has(flow));
    CHECK(FlowWindow{.until = at(100, 1)}.has(flow));
    CHECK_FALSE(FlowWindow{.until = at(100)}.has(flow));
    CHECK(FlowWindow{.since = at(120), .until = at(130)}.has(flow));
    CHECK_FALSE(FlowWindow{.since = at(1)}.has(FlowView{}));
    CHECK(FlowWindow{}.is_possible());
    CHECK(FlowWindow{.since = at(100), .until = at(101)}.is_possible());
    CHECK_FALSE(FlowWindow{.since = at(100), .until = at(100)}.is_possible());
}
