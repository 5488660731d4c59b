// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/log_limit.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace tributary {
namespace {

using namespace std::chrono_literals;

class KeepLines final : public spdlog::sinks::sink {
public:
    void log(const spdlog::details::log_msg& line) override {
        lines.emplace_back(line.payload.data(), line.payload.size());
    }
    void flush() override {}
    void set_pattern(const std::string& /*pattern*/) override {}
    void set_formatter(std::unique_ptr<spdlog::formatter> /*formatter*/) override {}

    std::vector<std::string> lines;
};

struct Limited {
    void log(spdlog::log_clock::duration when, const std::string& text,
             spdlog::level::level_enum level = spdlog::level::info) {
        limit.log({spdlog::log_clock::time_point(1'000'000h + when), {}, "test", level, text});
    }

    std::shared_ptr<KeepLines> kept = std::make_shared<KeepLines>();
    LogLimit limit{kept};
};

TEST_CASE("LogLimit: a burst passes, the rest is counted and told", "[daemon][unit]") {
    Limited log;
    for (int line = 0; line < 1003; ++line) {
        log.log(0s, std::to_string(line));
    }
    REQUIRE(log.kept->lines.size() == 1000);
    CHECK(log.kept->lines.back() == "999");
    log.log(99ms, "too early");  // room for it, but not for the line that reports the others
    CHECK(log.kept->lines.size() == 1000);
    log.log(100ms, "in time");
    REQUIRE(log.kept->lines.size() == 1002);
    CHECK(log.kept->lines[1000] == "4 lines were left out, because they came too fast");
    CHECK(log.kept->lines[1001] == "in time");
}

TEST_CASE("LogLimit: errors always pass, and at the end it tells what it left out",
          "[daemon][unit]") {
    const auto kept = std::make_shared<KeepLines>();
    {
        Limited log{.kept = kept};
        for (int line = 0; line < 1002; ++line) {
            log.log(0s, "line");
        }
        log.log(0s, "error", spdlog::level::err);
        REQUIRE(kept->lines.size() == 1002);
        CHECK(kept->lines[1000] == "2 lines were left out, because they came too fast");
        CHECK(kept->lines[1001] == "error");
        log.log(0s, "the last one");
        CHECK(kept->lines.size() == 1002);
    }
    REQUIRE(kept->lines.size() == 1003);
    CHECK(kept->lines[1002] == "1 lines were left out, because they came too fast");
}

TEST_CASE("LogLimit: what was left out is told though no line follows", "[daemon][unit]") {
    Limited log;
    for (int line = 0; line < 1005; ++line) {
        log.log(0s, "line");
    }
    const auto look = [&log](spdlog::log_clock::duration when) {
        log.limit.look(spdlog::log_clock::time_point(1'000'000h + when));
    };
    look(0s);
    CHECK(log.kept->lines.size() == 1000);
    look(1s);
    look(2s);
    REQUIRE(log.kept->lines.size() == 1001);
    CHECK(log.kept->lines[1000] == "5 lines were left out, because they came too fast");
}

TEST_CASE("LogLimit: it is twenty a second, whatever the lines' rhythm", "[daemon][unit]") {
    Limited log;
    for (int line = 0; line < 1000; ++line) {
        log.log(0s, "burst");
    }
    for (int line = 1; line <= 1000; ++line) {  // forty a second, for 25 seconds
        log.log(line * 25ms, "line");
    }
    // The reporting lines count, too.
    CHECK(log.kept->lines.size() >= 1000 + 490);
    CHECK(log.kept->lines.size() <= 1000 + 500);
}

TEST_CASE("LogLimit: twenty lines a second pass for ever", "[daemon][unit]") {
    Limited log;
    for (int line = 0; line < 5000; ++line) {
        log.log(line * 50ms, "line");
    }
    CHECK(log.kept->lines.size() == 5000);
}

TEST_CASE("LogLimit: silence saves up no more than a burst, and a clock set back costs nothing",
          "[daemon][unit]") {
    Limited log;
    log.log(0s, "first");
    for (int line = 0; line < 2000; ++line) {
        log.log(1h, "many");
    }
    CHECK(log.kept->lines.size() == 1001);
    log.log(-1h, "still full");
    CHECK(log.kept->lines.size() == 1001);
    log.log(-1h + 100ms, "room again");
    CHECK(log.kept->lines.size() == 1003);
}

}  // namespace
}  // namespace tributary
