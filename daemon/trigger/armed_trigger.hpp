// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "daemon/base/options.hpp"
#include "daemon/trigger/rate_limit.hpp"

namespace tributary {

/// The counters of a trigger. Several threads write each.
///
///     fired = suppressed (by cause) + files + waiting
struct TriggerCounters {
    using Count = std::atomic<std::uint64_t>;

    Count fired{0};
    // Causes for which nothing was written.
    Count by_rate{0};
    Count by_busy{0};       ///< too many dumps wait or run already
    Count by_directory{0};  ///< the file could not be made
    Count by_disk_full{0};
    Count by_write_failure{0};
    Count by_end{0};  ///< the program has ended before

    Count waiting{0};      ///< files that are not written yet, or being written
    Count files{0};        ///< that are whole
    Count ended_early{0};  ///< of these: at `max-size`
    Count packets{0};      ///< in the files
    Count octets{0};       ///< of these packets
    Count overwritten{0};  ///< that dumps came too late for
    Count removed{0};      ///< files that made room for later ones
};

inline void add(TriggerCounters::Count& count, std::uint64_t more = 1) noexcept {
    count.fetch_add(more, std::memory_order_relaxed);
}
inline void take_one(TriggerCounters::Count& count) noexcept {
    count.fetch_sub(1, std::memory_order_relaxed);
}
[[nodiscard]] inline std::uint64_t read(const TriggerCounters::Count& count) noexcept {
    return count.load(std::memory_order_relaxed);
}

/// A trigger as all threads share it: the input threads, which fire it, and those that write its
/// files.
struct ArmedTrigger {
    /// @param number  of the trigger in the configuration
    ArmedTrigger(const TriggerOptions& trigger, std::size_t number)
        : options(trigger), index(number), rate(trigger.rate) {}

    const TriggerOptions options;
    const std::size_t index;
    RateLimit rate;
    TriggerCounters counters;
};

/// The numbers of files, which all triggers share.
class FileNumbers {
public:
    /// From now on numbers are greater than this one. Before the first next().
    void begin_behind(std::uint32_t number) noexcept {
        last_.store(number, std::memory_order_relaxed);
    }
    /// @return  1 .. 2^32-1, then from 1 again
    /// @thread  any
    [[nodiscard]] std::uint32_t next() noexcept {
        std::uint32_t number = 0;
        while (number == 0) {
            number = last_.fetch_add(1, std::memory_order_relaxed) + 1;
        }
        return number;
    }

private:
    std::atomic<std::uint32_t> last_{0};
};

}  // namespace tributary
