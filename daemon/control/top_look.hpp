// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tributary {

/// A look at a running tributaryd: the answers of its control socket.
struct TopLook {             // NOLINT(bugprone-exception-escape): json's moves throw nothing
    nlohmann::json stats;    ///< the ledger
    nlohmann::json figures;  ///< rings, threads, links, limits, version, clocks
    double at{};             ///< seconds of a monotonic clock
};

/// Whether two looks are at the same process: counts of another process begin at 0.
[[nodiscard]] bool is_same_probe(const TopLook& before, const TopLook& now);

/// The differences between the numbers of two looks. Paths are JSON pointers.
class Growth {
public:
    /// @param before  nullptr: no look before
    Growth(const TopLook* before, const TopLook& now);

    /// Growth per second of a count in the ledger; a list's new item has grown from 0.
    ///
    /// @return  nullopt: it is or was unknown, or no look before
    [[nodiscard]] std::optional<double> rate(const std::string& path) const;
    /// The rate times `factor`, "unknown", or "-" without a look before.
    [[nodiscard]] std::string rate_text(const std::string& path, double factor = 1) const;
    /// The busy share of a thread's time; 0 .. 1.
    [[nodiscard]] std::optional<double> load(std::size_t thread) const;
    /// The share of a CPU that a helper thread of the figures had; 0 .. 1.
    ///
    /// @return  nullopt: it is unknown, the thread was not there before, or no look before
    [[nodiscard]] std::optional<double> helper_load(const nlohmann::json& helper) const;
    [[nodiscard]] bool has_rates() const noexcept { return before_ != nullptr; }
    /// Seconds between the looks.
    [[nodiscard]] double seconds() const noexcept { return seconds_; }

private:
    const TopLook* before_;
    const TopLook& now_;
    double seconds_;
};

/// The growth of the collectors' spools over the last minute. A spool grows by whole messages, so
/// two looks are not enough.
class SpoolTrend {
public:
    void note(const TopLook& look);
    void forget() noexcept { looks_.clear(); }
    /// Octets per second; below 0: the spool shrinks. nullopt: fewer than two looks yet.
    ///
    /// @param collector  of the ledger
    [[nodiscard]] std::optional<double> growth(std::size_t collector) const;
    /// The same for the spool of mode failover.
    [[nodiscard]] std::optional<double> growth_of_group() const;

private:
    struct Octets {
        double at;
        std::vector<double> by_collector;
        double group;
    };
    template <class OctetsOf>
    [[nodiscard]] std::optional<double> growth_of(OctetsOf octets_of) const;

    std::deque<Octets> looks_;
};

/// A number of about three digits, followed by k, M, G or T.
[[nodiscard]] std::string scaled(double number);
/// A count in at most `width` digits, or scaled; "unknown" for null.
[[nodiscard]] std::string count_text(const nlohmann::json& count, std::size_t width);
/// "12.5 %"; "-" for nullopt.
[[nodiscard]] std::string percent(std::optional<double> share);
/// "7 s", "12 min", "3 h 10 min" or "5 d 3 h", rounded down.
[[nodiscard]] std::string duration_text(double seconds);
/// Printable, and at most `width` characters: "~" replaces the middle of a longer text.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

}  // namespace tributary
