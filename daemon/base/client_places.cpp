// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/client_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tributary {

void ClientPlaces::enter(int socket, Client client, Time now) {
    places_.push_back({.socket = socket, .client = client, .end = now + limits_.total});
}

void ClientPlaces::leave(int socket) noexcept {
    std::erase_if(places_, [socket](const Place& place) { return place.socket == socket; });
}

std::vector<int> ClientPlaces::take_losers(Time now) {
    std::vector<int> losers;
    losers.reserve(places_.size());  // no allocation below: every loser is returned
    while (!places_.empty() && places_.front().end <= now) {
        losers.push_back(places_.front().socket);
        places_.erase(places_.begin());
        ++losses_.late;
    }
    while (places_.size() > limits_.places) {
        losers.push_back(take_displaced());
    }
    return losers;
}

std::optional<int> ClientPlaces::displace() noexcept {
    return places_.empty() ? std::nullopt : std::optional(take_displaced());
}

ClientPlaces::Share ClientPlaces::share_of(const Client& client) const noexcept {
    Share share{};
    for (const Place& place : places_) {
        share.of_user += place.client.user == client.user ? 1 : 0;
        share.of_process += place.client == client ? 1 : 0;
    }
    return share;
}

/// Counts anew for each place, without allocation: there are about a hundred places.
/// @pre  there is a place
int ClientPlaces::take_displaced() noexcept {
    // Among equals it finds the first, which is the oldest.
    const auto place = std::ranges::max_element(
        places_, {}, [this](const Place& each) { return share_of(each.client); });
    const int socket = place->socket;
    places_.erase(place);
    ++losses_.displaced;
    return socket;
}

std::optional<ClientPlaces::Time> ClientPlaces::next_event() const noexcept {
    std::optional<Time> next;
    if (!places_.empty()) {
        next = places_.front().end;
    }
    if (has_losses()) {
        next = next ? std::min(*next, log_at_) : log_at_;
    }
    return next;
}

std::optional<ClientPlaces::Losses> ClientPlaces::losses_to_log(Time now) noexcept {
    if (!has_losses() || now < log_at_) {
        return std::nullopt;
    }
    log_at_ = now + kLogInterval;
    return std::exchange(losses_, {});
}

std::string words_for(const ClientPlaces::Losses& losses, const ClientPlaces::Limits& limits,
                      const char* wanted) {
    std::string words;
    if (losses.late > 0) {
        words = fmt::format("{} connection(s) closed: {} within {} s", losses.late, wanted,
                            std::chrono::duration_cast<std::chrono::seconds>(limits.total).count());
    }
    if (losses.displaced > 0) {
        words += fmt::format(
            "{}{} connection(s) closed to make room for others: {} wait at the "
            "most",
            words.empty() ? "" : "; ", losses.displaced, limits.places);
    }
    return words;
}

}  // namespace tributary
