// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary {

/// The connections that a service waits for: a limited number, each for a limited time in total, so
/// that clients that say nothing, or little at a time, cannot keep others out.
///
/// Where there are too many connections, the user that has the most of them loses one; of this
/// user's processes, the one that has the most; among equals, the oldest connection goes. So a
/// connection that has just come stays, unless it is the only one.
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

    /// What connected. Clients of one user count together, so that a user with many processes is no
    /// more than a user with one.
    struct Client {
        std::uint32_t user;     ///< an IPv4 address, or a user id
        std::uint32_t process;  ///< a process id; 0 where the system names none
        bool operator==(const Client&) const = default;
    };

    explicit ClientPlaces(Limits limits) noexcept : limits_(limits) {}

    /// @errors  std::bad_alloc: the connection has no place
    void enter(int socket, Client client, Time now);
    /// Gives up the place of a connection that was served or closed; without a place nothing
    /// happens.
    void leave(int socket) noexcept;

    /// @return  the sockets whose connections have lost their place, and must be closed
    /// @errors  std::bad_alloc: none has lost its place
    [[nodiscard]] std::vector<int> take_losers(Time now);
    /// Makes room, for the system gives no more descriptors.
    /// @return  a socket that must be closed; nothing: there is none
    [[nodiscard]] std::optional<int> displace() noexcept;

    /// When take_losers() or losses_to_tell() have the next result; nothing: not before another
    /// connection enters.
    [[nodiscard]] std::optional<Time> next_event() const noexcept;
    /// The losses since the last result, once in kTellingInterval; nothing: there are none yet.
    [[nodiscard]] std::optional<Losses> losses_to_tell(Time now) noexcept;

    [[nodiscard]] const Limits& limits() const noexcept { return limits_; }

private:
    struct Place {
        int socket;
        Client client;
        Time end;
    };

    /// The connections of one client; ordered by what counts first.
    struct Share {
        std::size_t of_user;
        std::size_t of_process;
        auto operator<=>(const Share&) const = default;
    };

    [[nodiscard]] Share share_of(const Client& client) const noexcept;
    [[nodiscard]] int take_displaced() noexcept;
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
