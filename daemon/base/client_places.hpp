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

/// The connections of a service: a limited number, each for a limited time in total, so that silent
/// or slow clients cannot keep others out.
///
/// With too many connections, the user with the most of them loses one: that of the process with
/// the most, and among equals the oldest. So a new connection stays, unless it is the only one.
/// @thread  one
class ClientPlaces {
public:
    using Time = std::chrono::steady_clock::time_point;

    struct Limits {
        std::size_t places;               ///< connections at the same time
        std::chrono::milliseconds total;  ///< for one connection, however active
    };
    /// Numbers of connections that lost their place.
    struct Losses {
        std::uint64_t late{};       ///< their time was over
        std::uint64_t displaced{};  ///< replaced by others
    };

    /// Losses are logged at most so often.
    static constexpr std::chrono::seconds kLogInterval{60};

    /// The client of a connection. Clients of one user count together, so that many processes of a
    /// user count like one.
    struct Client {
        std::uint32_t user;     ///< an IPv4 address, or a user id
        std::uint32_t process;  ///< a process id; 0: unknown
        bool operator==(const Client&) const = default;
    };

    explicit ClientPlaces(Limits limits) noexcept : limits_(limits) {}

    /// @errors  std::bad_alloc: the connection has no place
    void enter(int socket, Client client, Time now);
    /// Frees the place of a served or closed connection; without a place it does nothing.
    void leave(int socket) noexcept;

    /// @return  sockets that have lost their place, and must be closed
    /// @errors  std::bad_alloc: none has lost its place
    [[nodiscard]] std::vector<int> take_losers(Time now);
    /// Frees a place, because the system gives no more descriptors.
    /// @return  a socket that must be closed; nullopt: none
    [[nodiscard]] std::optional<int> displace() noexcept;

    /// When take_losers() or losses_to_log() have the next result; nullopt: not before another
    /// connection enters.
    [[nodiscard]] std::optional<Time> next_event() const noexcept;
    /// The losses since the last result, once in kLogInterval; nullopt: none yet.
    [[nodiscard]] std::optional<Losses> losses_to_log(Time now) noexcept;

    [[nodiscard]] const Limits& limits() const noexcept { return limits_; }

private:
    struct Place {
        int socket;
        Client client;
        Time end;
    };

    /// The connections of one client; ordered by importance.
    struct Share {
        std::size_t of_user;
        std::size_t of_process;
        auto operator<=>(const Share&) const = default;
    };

    [[nodiscard]] Share share_of(const Client& client) const noexcept;
    [[nodiscard]] int take_displaced() noexcept;
    [[nodiscard]] bool has_losses() const noexcept { return losses_.late + losses_.displaced > 0; }

    Limits limits_;
    std::vector<Place> places_;  ///< oldest first
    Losses losses_;              ///< not yet logged
    Time log_at_;                ///< not before
};

/// A line for the log. @param wanted what did not happen in time: "no command came"
[[nodiscard]] std::string words_for(const ClientPlaces::Losses& losses,
                                    const ClientPlaces::Limits& limits, const char* wanted);

}  // namespace tributary
