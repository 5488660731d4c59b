// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace tributary {

/// Memory that a thread keeps for work that must go on when the system gives no more: connections,
/// log lines, the ledger. The first allocation of the thread that the system refuses is made from
/// it. Until fill() succeeds again memory is short, and work that grows with the traffic must take
/// none.
///
/// It costs address space alone: nothing writes to it. The memory goes back to the heap of the
/// thread, so it has to be filled there.
/// @thread  the thread that fills it, which has one reserve at a time; construction and end apart
class MemoryReserve {
public:
    static constexpr std::size_t kOctets = std::size_t{1} << 20U;

    MemoryReserve() = default;
    MemoryReserve(const MemoryReserve&) = delete;
    MemoryReserve& operator=(const MemoryReserve&) = delete;
    ~MemoryReserve();

    /// Takes the memory, the first time or again, as far as the system gives it.
    void fill() noexcept {
        if (memory_ == nullptr) [[unlikely]] {
            take();
        }
    }
    /// Whether the calling thread has a reserve and it is given out.
    [[nodiscard]] static bool is_given_out() noexcept {
        return current != nullptr && current->memory_ == nullptr;
    }

private:
    void take() noexcept;
    static void give_out();

    static thread_local constinit MemoryReserve* current;

    std::unique_ptr<std::byte[]> memory_;
};

}  // namespace tributary
