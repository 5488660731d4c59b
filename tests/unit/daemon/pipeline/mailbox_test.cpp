// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <variant>

#include "daemon/pipeline/mailbox.hpp"

using namespace tributary;

TEST_CASE("Mailbox: one command at a time, until the input thread has finished it",
          "[daemon][unit]") {
    InputMailbox box;
    CHECK(box.current() == nullptr);
    REQUIRE(box.post(EndFlows{}));
    CHECK_FALSE(box.is_done());
    CHECK_FALSE(box.post(SetFilter{nullptr}));
    InputCommand* const command = box.current();
    REQUIRE(command != nullptr);
    CHECK(box.current() == command);  // a part of it at a time
    std::get<EndFlows>(*command).is_through = true;
    box.finish();
    CHECK(box.is_done());
    CHECK(std::get<EndFlows>(box.take()).is_through);
    CHECK(box.current() == nullptr);
}

TEST_CASE("Mailbox: what has not begun can be taken back, what has goes on", "[daemon][unit]") {
    InputMailbox box;
    REQUIRE(box.post(EndFlows{}));
    box.withdraw();
    CHECK(box.is_done());
    CHECK(box.current() == nullptr);
    REQUIRE(box.post(SetFilter{nullptr}));
    REQUIRE(box.current() != nullptr);
    box.withdraw();
    CHECK_FALSE(box.is_done());
    CHECK(box.current() != nullptr);
    box.finish();
    CHECK(box.is_done());
}
