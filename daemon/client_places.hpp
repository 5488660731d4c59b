// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary {

/// The connections that a service waits for: a limited number, each for a limited time in total, so
/// that clients that say nothing, or little at a time, cannot keep others out. Where there are too
/// many connections, the client that has the most of them loses its oldest one.
/// @thread  one
class ClientPlaces {
public:
    using Time = std::chrono::steady_clock::time_point;

    struct Limits {
        std::size_t places;               ///< connections at the same time
        std::chrono::milliseconds total;  ///< for one connection, however often it says something
    };
    /// How many connections lost their place.
    struct Losses {
        std::uint64_t late{};       ///< their time was over
        std::uint64_t displaced{};  ///< others came
    };

    /// The losses are told at most so often.
    static constexpr std::chrono::seconds kTellingInterval{60};

    explicit ClientPlaces(Limits limits) noexcept : limits_(limits) {}

    /// @param client  the connecting peer as the system names it: an IP address, or a process id
    /// @errors  std::bad_alloc: the connection has no place
    void enter(int socket, std::string client, Time now);
    /// Gives up the place of a connection that was served or closed; without a place nothing
    /// happens.
    void leave(int socket) noexcept;

    /// @return  the sockets whose connections have lost their place, and must be closed
    [[nodiscard]] std::vector<int> take_losers(Time now);
    /// Makes room, for the system gives no more descriptors.
    /// @return  a socket that must be closed; nothing: there is none
    [[nodiscard]] std::optional<int> displace();

    /// When take_losers() or losses_to_tell() have the next result; nothing: not before another
    /// connection enters.
    [[nodiscard]] std::optional<Time> next_event() const noexcept;
    /// The losses since the last result, once in kTellingInterval; nothing: there are none yet.
    [[nodiscard]] std::optional<Losses> losses_to_tell(Time now) noexcept;

    [[nodiscard]] const Limits& limits() const noexcept { return limits_; }

private:
    struct Place {
        int socket;
        std::string client;
        Time end;
    };

    [[nodiscard]] int take_displaced();
    [[nodiscard]] bool has_losses() const noexcept { return losses_.late + losses_.displaced > 0; }

    Limits limits_;
    std::vector<Place> places_;  ///< the oldest first
    Losses losses_;              ///< not yet told
    Time tell_at_;               ///< not before
};

/// A line for the log. @param wanted what a client had to do in time, "no command came"
[[nodiscard]] std::string words_for(const ClientPlaces::Losses& losses,
                                    const ClientPlaces::Limits& limits, const char* wanted);

}  // namespace tributary
