// SPDX-License-Identifier: Apache-2.0
#include "daemon/top_screen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "daemon/ledger.hpp"

namespace tributary {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

/// What a number of two looks was before and is now.
class Difference {
public:
    Difference(const TopLook& before, const TopLook& now)
        : before_(before), now_(now), seconds_(std::max(now.at - before.at, 1e-3)) {}

    /// Growth per second of a count in the ledger; a list's item that was not there before has
    /// grown from 0.
    [[nodiscard]] double rate(const std::string& path) const {
        return growth(before_.stats, now_.stats, path) / seconds_;
    }
    /// The same; nothing: it is, or was, unknown.
    [[nodiscard]] std::optional<double> known_rate(const std::string& path) const {
        const Pointer pointer(path);
        const bool was_known =
            !before_.stats.contains(pointer) || !before_.stats.at(pointer).is_null();
        return was_known && !now_.stats.at(pointer).is_null() ? std::optional(rate(path))
                                                              : std::nullopt;
    }
    /// Share of a thread's time that brought something; 0 .. 1.
    [[nodiscard]] double load(std::size_t thread) const {
        const std::string path = "/threads/" + std::to_string(thread);
        const double busy = growth(before_.figures, now_.figures, path + "/busy_cycles");
        const double idle = growth(before_.figures, now_.figures, path + "/idle_cycles");
        return busy + idle > 0 ? busy / (busy + idle) : 0;
    }

private:
    static double growth(const json& before, const json& now, const std::string& path) {
        const Pointer pointer(path);
        const double former = before.contains(pointer) ? before.at(pointer).get<double>() : 0;
        return std::max(0.0, now.at(pointer).get<double>() - former);
    }

    const TopLook& before_;
    const TopLook& now_;
    double seconds_;
};

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

double share_of(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// Flows that a queue's cache holds. Active ones also wait in rings and for collectors.
double in_cache(const json& queue) {
    const json& flows = queue.at("flows");
    double count = flows.at("created").get<double>();
    for (const json& ended : flows.at("ended_by_reason")) {
        count -= ended.get<double>();
    }
    return std::max(0.0, count);
}

void add_totals(std::string& text, const Difference& growth, const TopLook& now) {
    fmt::format_to(std::back_inserter(text),
                   "{} packets/s  {} bit/s  {} new flows/s  {} records/s  {} active flows\n",
                   scaled(growth.rate("/packets/received")),
                   scaled(8 * growth.rate("/octets/metered")),
                   scaled(growth.rate("/flows/created")), scaled(growth.rate("/flows/exported")),
                   scaled(now.stats.at("flows").at("active").get<double>()));
}

void add_queues(std::string& text, const Difference& growth, const TopLook& now) {
    const json& queues = now.stats.at("queues");
    const double max_flows = now.figures.at("max_flows").get<double>();
    fmt::format_to(std::back_inserter(text), "\n{:<24}{:>11}{:>11}{:>11}{:>9}{:>9}{:>9}\n", "QUEUE",
                   "PACKETS/S", "BIT/S", "FLOWS", "CACHE", "RING", "LOAD");
    for (std::size_t i = 0; i < queues.size(); ++i) {
        const std::string path = "/queues/" + std::to_string(i);
        const double cached = in_cache(queues[i]);
        const json& ring = now.figures.at("rings").at(i);
        fmt::format_to(
            std::back_inserter(text), "{:<24}{:>11}{:>11}{:>11}{:>9}{:>9}{:>9}\n",
            queues[i].at("name").get<std::string>(),
            scaled(growth.rate(path + "/packets/received")),
            scaled(8 * growth.rate(path + "/octets/metered")), scaled(cached),
            percent(share_of(cached, max_flows)),
            percent(share_of(ring.at("records").get<double>(), ring.at("room").get<double>())),
            percent(growth.load(i)));
    }
    const json& threads = now.figures.at("threads");
    for (std::size_t i = queues.size(); i < threads.size(); ++i) {
        fmt::format_to(std::back_inserter(text), "{:<75}{:>9}\n",
                       threads[i].at("name").get<std::string>(), percent(growth.load(i)));
    }
}

/// The inputs' links, and what their NICs have dropped.
void add_inputs(std::string& text, const Difference& growth, const TopLook& now) {
    const json& ports = now.stats.at("ports");
    fmt::format_to(std::back_inserter(text), "\n{:<24}{:<9}{:>11}{:>14}{:>14}{:>11}\n", "INPUT",
                   "LINK", "MISSED/S", "MISSED", "NO BUFFER", "ERRORS");
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const json& port = ports[i];
        const json& missed = port.at("nic_missed");
        const auto rate = growth.known_rate("/ports/" + std::to_string(i) + "/nic_missed");
        fmt::format_to(std::back_inserter(text), "{:<24}{:<9}{:>11}{:>14}{:>14}{:>11}\n",
                       port.at("name").get<std::string>(),
                       now.figures.at("inputs").at(i).at("link").get<std::string>(),
                       rate ? scaled(*rate) : "unknown",
                       missed.is_null() ? "unknown" : missed.dump(),
                       port.at("nic_no_buffer").get<std::uint64_t>(),
                       port.at("nic_errors").get<std::uint64_t>());
    }
}

/// The sum over all inputs.
std::string lost_by_nics(const json& ports) {
    std::uint64_t known = 0;
    bool any_unknown = false;
    for (const json& port : ports) {
        const json& missed = port.at("nic_missed");
        any_unknown |= missed.is_null();
        known += (missed.is_null() ? 0 : missed.get<std::uint64_t>()) +
                 port.at("nic_no_buffer").get<std::uint64_t>() +
                 port.at("nic_errors").get<std::uint64_t>();
    }
    return part_text(known, any_unknown);
}

/// Every way to lose something that did so between the looks, or may have done so.
void add_losses(std::string& text, const Difference& growth, const TopLook& now) {
    constexpr std::array kPacketLosses{"nic_missed", "nic_no_buffer", "nic_errors"};
    std::string losses;
    const auto add = [&](const std::string& name, std::optional<double> rate, const char* unit) {
        if (!rate) {
            losses += fmt::format("  {} unknown", name);
        } else if (*rate > 0) {
            losses += fmt::format("  {} {} {}", name, scaled(*rate), unit);
        }
    };
    for (const char* const cause : kPacketLosses) {
        add(cause, growth.known_rate(std::string("/packets/") + cause), "packets/s");
    }
    for (const auto& [cause, count] : now.stats.at("flows").at("lost_by_cause").items()) {
        add(cause, growth.rate("/flows/lost_by_cause/" + cause), "records/s");
    }
    text += "\nLOST NOW" + (losses.empty() ? "  nothing" : losses);
    fmt::format_to(
        std::back_inserter(text), "\nLOST SINCE START  {} packets by the NIC, {} records\n",
        lost_by_nics(now.stats.at("ports")), now.stats.at("flows").at("lost").get<std::uint64_t>());
}

void add_collectors(std::string& text, const Difference& growth, const TopLook& now) {
    const json& collectors = now.stats.at("collectors");
    fmt::format_to(std::back_inserter(text), "\n{:<44}{:<10}{:>11}{:>14}{:>9}\n", "COLLECTOR",
                   "STATE", "RECORDS/S", "LOST", "ERRORS");
    for (std::size_t i = 0; i < collectors.size(); ++i) {
        const json& collector = collectors[i];
        const char* const state = collector.contains("removed")    ? "removed"
                                  : collector.at("failed") != 0    ? "failed"
                                  : collector.at("connected") != 0 ? "up"
                                                                   : "away";
        const std::string next_try =
            collector.contains("next_try_in")
                ? fmt::format("  next try in {} s", collector.at("next_try_in").get<unsigned>())
                : std::string();
        fmt::format_to(std::back_inserter(text), "{:<44}{:<10}{:>11}{:>14}{:>9}{}\n",
                       collector.at("name").get<std::string>(), state,
                       scaled(growth.rate("/collectors/" + std::to_string(i) + "/records")),
                       collector.at("lost").get<std::uint64_t>(),
                       collector.at("errors").get<std::uint64_t>(), next_try);
    }
}

}  // namespace

std::string scaled(double number) {
    constexpr std::array kUnits{"", " k", " M", " G", " T", " P"};
    constexpr double kStep = 1000;
    constexpr double kRoundsUp = 999.5;
    std::size_t unit = 0;
    while (number >= kRoundsUp && unit + 1 < kUnits.size()) {
        number /= kStep;
        ++unit;
    }
    const int decimals = unit == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f}{}", number, decimals, kUnits.at(unit));
}

std::string top_screen(const TopLook& before, const TopLook& now) {
    const Difference growth(before, now);
    std::string text;
    add_totals(text, growth, now);
    add_queues(text, growth, now);
    add_inputs(text, growth, now);
    add_losses(text, growth, now);
    add_collectors(text, growth, now);
    return text;
}

}  // namespace tributary
