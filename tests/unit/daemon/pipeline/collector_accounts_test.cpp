// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/collector_accounts.hpp"

#include <catch2/catch.hpp>
#include <cstdint>

#include "export/export_error.hpp"

using namespace tributary;

namespace {

CollectorOptions collector(std::uint16_t port) {
    CollectorOptions made;
    made.host = "192.0.2.1";
    made.port = port;
    return made;
}

}  // namespace

TEST_CASE("CollectorAccounts: a collector that comes back has its former account",
          "[daemon][unit]") {
    CollectorAccounts accounts({collector(1), collector(2)});
    CHECK(accounts.choose({collector(3), collector(2)}) == std::vector<std::size_t>{2, 1});
    CHECK_FALSE(accounts.all()[0].is_in_use);
    CHECK(accounts.choose({collector(1)}) == std::vector<std::size_t>{0});
    CHECK(accounts.all().size() == 3);
    CHECK(accounts.all()[0].name == "udp 192.0.2.1:1");
    CHECK(accounts.all()[0].is_in_use);
    CHECK_FALSE(accounts.all()[2].is_in_use);
}

TEST_CASE("CollectorAccounts: there are so many and no more", "[daemon][unit]") {
    CollectorAccounts accounts({});
    for (std::uint16_t port = 1; port <= CollectorAccounts::kMost; ++port) {
        CHECK(accounts.choose({collector(port)}).front() == port - 1U);
    }
    CHECK(accounts.choose({collector(7)}).front() == 6);
    CHECK_THROWS_AS(accounts.choose({collector(999)}), ExportError);
}

TEST_CASE("CollectorAccounts: a spool keeps its account at another address", "[daemon][unit]") {
    const auto spooled = [](std::uint16_t port) {
        CollectorOptions made = collector(port);
        made.transport = TransportKind::tcp;
        made.spool.directory = "/a";
        return made;
    };
    CollectorAccounts accounts({collector(1), spooled(2)});
    CHECK(accounts.choose({spooled(3), collector(1)}) == std::vector<std::size_t>{1, 0});
    CHECK(accounts.all().size() == 2);
    CHECK(accounts.all()[1].name == "tcp 192.0.2.1:3");
    CollectorOptions other = collector(4);
    other.transport = TransportKind::tcp;
    CHECK(accounts.choose({spooled(3), other}) == std::vector<std::size_t>{1, 2});
    CHECK(accounts.choose({spooled(3)}) == std::vector<std::size_t>{1});
    CHECK_THROWS_WITH(accounts.choose({spooled(4)}),
                      "there is an account of tcp 192.0.2.1:4 since the start, which the collector "
                      "with the spool /a cannot have; that needs a restart");
}
