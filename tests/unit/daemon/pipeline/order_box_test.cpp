// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <variant>

#include "daemon/pipeline/input_order.hpp"

using namespace tributary;

TEST_CASE("OrderBox: one order at a time, until the input thread has finished it",
          "[daemon][unit]") {
    InputOrderBox box;
    CHECK(box.current() == nullptr);
    REQUIRE(box.post(EndFlows{}));
    CHECK_FALSE(box.is_done());
    CHECK_FALSE(box.post(SetFilter{nullptr}));
    InputOrder* const order = box.current();
    REQUIRE(order != nullptr);
    CHECK(box.current() == order);  // a part of it at a time
    std::get<EndFlows>(*order).is_through = true;
    box.finish();
    CHECK(box.is_done());
    CHECK(std::get<EndFlows>(box.done()).is_through);
    CHECK(box.current() == nullptr);
}

TEST_CASE("OrderBox: what has not begun can be taken back, what has goes on", "[daemon][unit]") {
    InputOrderBox box;
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
