// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "export/options.hpp"

namespace tributary {

/// When the next datagram to a collector may leave: a token bucket of octets. UDP does not report
/// that the collector's receive buffer is full. Datagrams that leave together are then lost there
/// unnoticed.
///
/// Pace `auto` begins at kBasePace, which an ordinary receive buffer can hold. While more than half
/// of the collector's buffer waits for it, records come faster than they leave: the pace doubles
/// each second, up to kMostPace; otherwise it falls back by half each kFallBack. Messages that wait
/// for an absent collector do not wait for the pace. While the collector's spool holds messages,
/// their number does not show the rate of new ones: the pace is then twice the rate of new octets,
/// and at least the base. At the end of the process it doubles each drain timeout, whatever waits,
/// so that all records in the caches leave before the end gives up.
/// @thread  the export thread; `now` is uptime
class Pace {
public:
    static constexpr double kBasePace = 1e6;    ///< octets per second
    static constexpr double kMostPace = 1e11;   ///< octets per second, more than a link carries
    static constexpr double kBurst = 24'000;    ///< octets that may leave together
    static constexpr std::size_t kLeast = 512;  ///< octets that a message counts at the least
    static constexpr std::chrono::seconds kDoubling{1};
    static constexpr std::chrono::seconds kFallBack{10};

    /// Messages that wait for the pace, and for nothing else.
    struct Backlog {
        std::size_t octets{};  ///< of messages in memory
        bool holds_spool{};    ///< older ones are in the collector's spool
    };

    /// @param collector  only a UDP collector has a pace
    explicit Pace(const CollectorOptions& collector) noexcept;

    /// Lets time pass.
    void advance(std::chrono::nanoseconds now, Backlog backlog) noexcept;
    /// A message has been closed, and will leave later.
    void add(std::size_t octets) noexcept { added_ += static_cast<double>(octets); }
    /// No more records come than those in the caches.
    ///
    /// @param drain_timeout  the pace doubles each time; 0: there is no pace any more
    void begin_end(std::chrono::nanoseconds drain_timeout, std::size_t waiting) noexcept;

    /// Whether a message may leave now.
    [[nodiscard]] bool allows() const noexcept { return !is_limited() || credit_ > 0; }
    /// A message leaves.
    void take(std::size_t octets) noexcept;

    [[nodiscard]] bool is_auto() const noexcept { return mode_ == Mode::automatic; }
    /// Octets per second; 0: there is no limit.
    [[nodiscard]] std::uint64_t rate() const noexcept;

private:
    enum class Mode : std::uint8_t { unlimited, fixed, automatic };

    [[nodiscard]] bool is_limited() const noexcept { return mode_ != Mode::unlimited; }
    void adapt(double seconds, Backlog backlog) noexcept;
    void measure(double seconds) noexcept;

    Mode mode_;
    double rate_;
    double credit_ = kBurst;
    double added_{};     ///< octets since the last step
    double add_rate_{};  ///< new octets per second, over some kFallBack
    std::size_t buffer_;
    std::optional<std::chrono::nanoseconds> advanced_at_;
    std::optional<std::chrono::nanoseconds> end_doubling_;  ///< set: the end has begun
};

}  // namespace tributary
