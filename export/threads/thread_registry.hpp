// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary {

/// What a thread of this process does.
enum class ThreadRole : std::uint8_t {
    pinned,   ///< of the pipeline or of preparse, on a core of its own: input, export
    main,     ///< waits for signals and looks after the others
    helper,   ///< any other that this program starts
    library,  ///< started by a library, such as DPDK
};
[[nodiscard]] const char* name_of(ThreadRole role) noexcept;

/// A registered thread, as its readers see it.
struct RegisteredThread {
    std::uint64_t serial{};  ///< of no other thread since the process began
    pid_t id{};              ///< as the kernel counts threads
    std::string name;
    ThreadRole role{};
    std::chrono::seconds patience{};  ///< for one piece of work; 0: it may take any time
    /// Uptime (CLOCK_MONOTONIC) at which its present work began; nullopt: it waits for work.
    std::optional<std::chrono::nanoseconds> work_began;

    /// Whether its present work takes longer than its patience.
    [[nodiscard]] bool hangs(std::chrono::nanoseconds now) const noexcept {
        return patience.count() > 0 && work_began && now - *work_began > patience;
    }
};

/// A thread's place in the registry of this process, on the thread's own stack: registering needs
/// no memory. The constructor also names the thread for the kernel.
///
/// A thread whose work is watched says when it begins to wait for work, and when it begins a piece
/// of work. A piece that takes longer than its patience counts as hanging; waiting may take any
/// time.
/// @thread  its own
class ThreadPlaceInRegistry {
public:
    /// @param name      of the thread; at most 15 characters are kept
    /// @param patience  for one piece of work; 0: it may take any time
    ThreadPlaceInRegistry(std::string_view name, ThreadRole role,
                          std::chrono::seconds patience) noexcept;
    ~ThreadPlaceInRegistry();
    ThreadPlaceInRegistry(const ThreadPlaceInRegistry&) = delete;
    ThreadPlaceInRegistry& operator=(const ThreadPlaceInRegistry&) = delete;

    void begin_to_wait() noexcept { work_began_.store(kWaits, std::memory_order_relaxed); }
    void begin_work() noexcept { work_began_.store(uptime(), std::memory_order_relaxed); }

private:
    friend std::vector<RegisteredThread> registered_threads();

    using Uptime = std::chrono::nanoseconds::rep;

    [[nodiscard]] static Uptime uptime() noexcept;

    static constexpr Uptime kWaits = -1;
    static constexpr std::size_t kNameOctets = 16;  ///< of the kernel, with the 0 at the end

    std::array<char, kNameOctets> name_{};
    const ThreadRole role_;
    const std::chrono::seconds patience_;
    const pid_t id_;
    std::uint64_t serial_{};  ///< guarded by the registry, as are the neighbours
    ThreadPlaceInRegistry* before_{};
    ThreadPlaceInRegistry* after_{};
    std::atomic<Uptime> work_began_;  ///< written by the thread; kWaits: it waits
};

/// The threads that are registered, in the order in which they began.
///
/// @errors  std::bad_alloc
/// @thread  any
[[nodiscard]] std::vector<RegisteredThread> registered_threads();

}  // namespace tributary
