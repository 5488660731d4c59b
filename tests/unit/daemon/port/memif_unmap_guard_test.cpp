// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/memif_unmap_guard.hpp"

#include <sys/mman.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <thread>

namespace tributary {
namespace {

constexpr std::size_t kPage = 4096;

/// Memory that a test unmaps, as a driver does.
void* mapped_page() {
    void* const page =
        ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    return page;
}

TEST_CASE("munmap: it waits for a burst of a memif that another thread is in", "[daemon][unit]") {
    MemifUnmapGuard guard("net_memif");
    void* const page = mapped_page();
    std::atomic<bool> is_inside{false};
    std::atomic<bool> begins_to_unmap{false};
    std::atomic<bool> is_over{false};
    std::thread receiver([&] {
        guard.run([&] {
            is_inside = true;
            is_inside.notify_all();
            begins_to_unmap.wait(false);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));  // for one that does not
            is_over = true;
            return 0;
        });
    });
    is_inside.wait(false);
    begins_to_unmap = true;
    begins_to_unmap.notify_all();
    CHECK(::munmap(page, kPage) == 0);
    CHECK(is_over);
    receiver.join();
}

TEST_CASE("munmap: it does not wait for bursts of other drivers", "[daemon][unit]") {
    MemifUnmapGuard guard("net_pcap");
    std::atomic<bool> is_inside{false};
    std::atomic<bool> is_unmapped{false};
    std::thread receiver([&] {
        guard.run([&] {
            is_inside = true;
            is_inside.notify_all();
            is_unmapped.wait(false);
            return 0;
        });
    });
    is_inside.wait(false);
    CHECK(::munmap(mapped_page(), kPage) == 0);  // in vain it would wait for the burst for ever
    is_unmapped = true;
    is_unmapped.notify_all();
    receiver.join();
}

TEST_CASE("munmap: a thread in a burst of a memif does not wait for itself", "[daemon][unit]") {
    MemifUnmapGuard guard("net_memif");
    CHECK(guard.run([] { return ::munmap(mapped_page(), kPage); }) == 0);
}

TEST_CASE("munmap: it is the system call where no memif is open", "[daemon][unit]") {
    { const MemifUnmapGuard gone("net_memif"); }
    CHECK(::munmap(mapped_page(), kPage) == 0);
    CHECK(::munmap(nullptr, 0) == -1);
}

}  // namespace
}  // namespace tributary
