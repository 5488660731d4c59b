// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/eal.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "daemon/base/startup_error.hpp"

namespace tributary {
namespace {

EalDevice device(const std::string& name, bool pci) {
    EalDevice device;
    device.port_name = name;
    device.argument = name + ",x=1";
    device.is_pci = pci;
    return device;
}

bool has(const std::vector<std::string>& arguments, const std::string& argument) {
    return std::count(arguments.begin(), arguments.end(), argument) == 1;
}

constexpr std::uint64_t kMebibyte = 1U << 20U;

TEST_CASE("eal_arguments: enough huge pages, nothing is left in the file system",
          "[daemon][unit]") {
    const EalOptions options{.devices = {device("0000:81:00.0", true)},
                             .main_cpus = {0, 2},
                             .memory_bytes = 100 * kMebibyte};
    const auto arguments = eal_arguments(options, 164 * kMebibyte);
    CHECK(has(arguments, "--in-memory"));
    CHECK(has(arguments, "--huge-dir=/nonexistent/hugetlbfs"));
    CHECK_FALSE(has(arguments, "--no-huge"));
    CHECK(has(arguments, "--lcores=0@(0,2)"));
    CHECK(has(arguments, "--allow=0000:81:00.0,x=1"));
    CHECK_FALSE(has(arguments, "--no-pci"));
}

TEST_CASE("eal_arguments: too few huge pages, ordinary memory of the size needed",
          "[daemon][unit]") {
    const EalOptions options{
        .devices = {device("net_ring0", false)}, .main_cpus = {1}, .memory_bytes = 100 * kMebibyte};
    const auto arguments = eal_arguments(options, 164 * kMebibyte - 1);
    CHECK_FALSE(has(arguments, "--in-memory"));
    CHECK(has(arguments, "--no-huge"));
    CHECK(has(arguments, "--no-shconf"));
    const auto size = std::find(arguments.begin(), arguments.end(), "-m");
    REQUIRE(size != arguments.end());
    CHECK(*(size + 1) == "265");  // pages of 4 KiB hold fewer objects
}

TEST_CASE("eal_arguments: huge pages that may not be used stay unused", "[daemon][unit]") {
    const EalOptions options{.devices = {}, .main_cpus = {0}, .may_use_huge_pages = false};
    CHECK(has(eal_arguments(options, 1024 * kMebibyte), "--no-huge"));
}

TEST_CASE("eal_arguments: virtual devices alone need no PCI scan", "[daemon][unit]") {
    const EalOptions virtual_only{.devices = {device("net_ring0", false)}, .main_cpus = {0}};
    CHECK(has(eal_arguments(virtual_only, 0), "--vdev=net_ring0,x=1"));
    CHECK(has(eal_arguments(virtual_only, 0), "--no-pci"));
    const EalOptions both{.devices = {device("net_ring0", false), device("0000:81:00.0", true)},
                          .main_cpus = {0}};
    CHECK_FALSE(has(eal_arguments(both, 0), "--no-pci"));
}

TEST_CASE("eal_arguments: one device twice is a configuration error", "[daemon][unit]") {
    const EalOptions options{.devices = {device("net_ring0", false), device("net_ring0", false)},
                             .main_cpus = {0}};
    try {
        (void)eal_arguments(options, 0);
        FAIL("accepted");
    } catch (const StartupError& error) {
        CHECK(error.exit_code() == 78);
    }
}

}  // namespace
}  // namespace tributary
