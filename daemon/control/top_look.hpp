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

/// A look at a running tributaryd, as its control socket answers.
struct TopLook {             // NOLINT(bugprone-exception-escape): json's moves throw nothing
    nlohmann::json stats;    ///< the ledger
    nlohmann::json figures;  ///< rings, threads, links, limits, version, clocks
    double at{};             ///< seconds of a clock that is never set
};

/// Whether two looks are at one process: counts of another one begin at 0.
[[nodiscard]] bool is_same_probe(const TopLook& before, const TopLook& now);

/// How the numbers of two looks differ. Paths are JSON pointers.
class Growth {
public:
    /// @param before  nullptr: there is no look before
    Growth(const TopLook* before, const TopLook& now);

    /// Growth per second of a count in the ledger; a list's item that was not there before has
    /// grown from 0.
    ///
    /// @return  nothing: it is or was unknown, or there is no look before
    [[nodiscard]] std::optional<double> rate(const std::string& path) const;
    /// The rate times `factor`, "unknown", or "-" where there is no look before.
    [[nodiscard]] std::string rate_text(const std::string& path, double factor = 1) const;
    /// Share of a thread's time that brought something; 0 .. 1.
    [[nodiscard]] std::optional<double> load(std::size_t thread) const;
    [[nodiscard]] bool has_rates() const noexcept { return before_ != nullptr; }
    /// Seconds between the looks.
    [[nodiscard]] double seconds() const noexcept { return seconds_; }

private:
    const TopLook* before_;
    const TopLook& now_;
    double seconds_;
};

/// How the collectors' spools grew over the last minute. A spool grows by whole messages, so two
/// looks say little.
class SpoolTrend {
public:
    void note(const TopLook& look);
    void forget() noexcept { looks_.clear(); }
    /// Octets per second; below 0: it gets empty. Nothing: there are not two looks yet.
    ///
    /// @param collector  of the ledger
    [[nodiscard]] std::optional<double> growth(std::size_t collector) const;
    /// The same of the spool that mode failover has.
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

/// A number with three digits or so, and k, M, G or T behind it.
[[nodiscard]] std::string scaled(double number);
/// A count in at most `width` digits, or scaled; "unknown" for null.
[[nodiscard]] std::string count_text(const nlohmann::json& count, std::size_t width);
/// "12.5 %"; "-" for nothing.
[[nodiscard]] std::string percent(std::optional<double> share);
/// "7 s", "12 min", "3 h 10 min" or "5 d 3 h", rounded down.
[[nodiscard]] std::string duration_text(double seconds);
/// Printable, and at most `width` characters: of a longer text the middle is "~".
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

}  // namespace tributary
