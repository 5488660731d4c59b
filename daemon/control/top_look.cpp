// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/top_look.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "export/listing/printable_text.hpp"

namespace tributary {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

/// @return  nullopt: null
std::optional<double> number_at(const json& document, const Pointer& pointer) {
    const json& value = document.at(pointer);
    return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

/// A number that was missing before counts as 0.
std::optional<double> former_number(const json& document, const Pointer& pointer) {
    return document.contains(pointer) ? number_at(document, pointer) : 0;
}

/// Whether a character begins at this octet of UTF-8.
bool begins_character(char octet) { return (static_cast<unsigned char>(octet) & 0xC0U) != 0x80; }

}  // namespace

bool is_same_probe(const TopLook& before, const TopLook& now) {
    return before.figures.value("started", json()) == now.figures.value("started", json());
}

Growth::Growth(const TopLook* before, const TopLook& now)
    : before_(before), now_(now), seconds_(before != nullptr ? now.at - before->at : 0) {
    seconds_ = std::max(seconds_, 1e-3);
}

std::optional<double> Growth::rate(const std::string& path) const {
    const Pointer pointer(path);
    const std::optional<double> now = number_at(now_.stats, pointer);
    const std::optional<double> before =
        before_ != nullptr ? former_number(before_->stats, pointer) : std::nullopt;
    return now && before ? std::optional(std::max(0.0, *now - *before) / seconds_) : std::nullopt;
}

std::string Growth::rate_text(const std::string& path, double factor) const {
    const std::optional<double> known = rate(path);
    return known ? scaled(factor * *known) : has_rates() ? "unknown" : "-";
}

std::optional<double> Growth::load(std::size_t thread) const {
    if (before_ == nullptr) {
        return std::nullopt;
    }
    const auto growth = [&](const char* name) {
        const Pointer pointer(fmt::format("/threads/{}/{}", thread, name));
        return std::max(0.0, now_.figures.at(pointer).get<double>() -
                                 former_number(before_->figures, pointer).value_or(0));
    };
    const double busy = growth("busy_cycles");
    const double idle = growth("idle_cycles");
    return busy + idle > 0 ? busy / (busy + idle) : 0;
}

std::optional<double> Growth::helper_load(const json& helper) const {
    if (before_ == nullptr || helper.at("cpu_seconds").is_null()) {
        return std::nullopt;
    }
    for (const json& former : before_->figures.value("helpers", json::array())) {
        const bool is_same =
            former.at("id") == helper.at("id") && former.at("name") == helper.at("name");
        if (is_same && !former.at("cpu_seconds").is_null()) {
            const double time =
                helper.at("cpu_seconds").get<double>() - former.at("cpu_seconds").get<double>();
            return std::max(0.0, time) / seconds_;
        }
    }
    return std::nullopt;
}

void SpoolTrend::note(const TopLook& look) {
    constexpr double kMinute = 60;
    Octets octets{.at = look.at, .by_collector = {}, .group = 0};
    for (const json& collector : look.stats.at("collectors")) {
        octets.by_collector.push_back(collector.at("spool_octets").get<double>());
    }
    if (look.stats.contains("spool")) {
        octets.group = look.stats.at("spool").at("octets").get<double>();
    }
    looks_.push_back(std::move(octets));
    while (looks_.size() > 2 && looks_.back().at - looks_[1].at >= kMinute) {
        looks_.pop_front();
    }
}

std::optional<double> SpoolTrend::growth(std::size_t collector) const {
    if (looks_.empty() || collector >= looks_.back().by_collector.size()) {
        return std::nullopt;
    }
    return growth_of([collector](const Octets& look) {
        return collector < look.by_collector.size() ? look.by_collector[collector] : 0;
    });
}

std::optional<double> SpoolTrend::growth_of_group() const {
    return growth_of([](const Octets& look) { return look.group; });
}

template <class OctetsOf>
std::optional<double> SpoolTrend::growth_of(OctetsOf octets_of) const {
    if (looks_.size() < 2) {
        return std::nullopt;
    }
    const double growth = octets_of(looks_.back()) - octets_of(looks_.front());
    return growth / std::max(looks_.back().at - looks_.front().at, 1e-3);
}

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

std::string count_text(const json& count, std::size_t width) {
    if (count.is_null()) {
        return "unknown";
    }
    const std::string digits =
        count.is_number_unsigned() ? count.dump() : scaled(count.get<double>());
    return digits.size() <= width ? digits : scaled(count.get<double>());
}

std::string percent(std::optional<double> share) {
    return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

std::string duration_text(double seconds) {
    constexpr double kMost = 1e9;  // 31 years
    const auto whole = static_cast<std::uint64_t>(std::clamp(seconds, 0.0, kMost));
    const std::uint64_t minutes = whole / 60;
    const std::uint64_t hours = minutes / 60;
    if (minutes == 0) {
        return fmt::format("{} s", whole);
    }
    if (hours == 0) {
        return fmt::format("{} min", minutes);
    }
    return hours < 24 ? fmt::format("{} h {} min", hours, minutes % 60)
                      : fmt::format("{} d {} h", hours / 24, hours % 24);
}

std::string shortened(std::string_view text, std::size_t width) {
    std::string whole = printable(text);
    std::vector<std::size_t> begins;  // of each character
    for (std::size_t at = 0; at < whole.size(); ++at) {
        if (begins_character(whole[at])) {
            begins.push_back(at);
        }
    }
    if (begins.size() <= width || width == 0) {
        return width == 0 ? std::string() : whole;
    }
    const std::size_t head = (width - 1) / 2;
    const std::size_t tail = width - 1 - head;
    return whole.substr(0, begins[head]) + "~" +
           (tail > 0 ? whole.substr(begins[begins.size() - tail]) : std::string());
}

}  // namespace tributary
