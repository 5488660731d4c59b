// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "conf/config.hpp"
#include "export/options.hpp"

namespace tributary {

/// How a collector uses reported sampling.
enum class RateReading : std::uint8_t {
    of_each,       ///< reads the rate of each input, or leaves rates to its users
    one_of_all,    ///< reads one rate per observation domain, so inputs must not differ
    not_reported,  ///< options records would harm it
};

/// A collector program and the messages that it reads.
struct ProfileEntry {
    CollectorProfile profile{};
    std::string_view word;       ///< the value of the key
    std::string_view collector;  ///< program and release of the settings
    bool takes_streams = true;   ///< by TCP; false: only by UDP
    /// The source of the settings; empty: a test runs the collector.
    std::string_view source{};
    RateReading rate = RateReading::of_each;
};

/// A key of the collector with another default under this profile.
struct ProfileSetting {
    CollectorProfile profile{};
    std::string_view key;
    std::string_view value;    ///< in the form of --dump-config
    std::string_view because;  ///< the effect on records otherwise; names the program
    /// Other harmless values, in the form of --dump-config, separated by spaces.
    std::string_view harmless{};
};

/// All profiles, in the order of the documentation.
[[nodiscard]] std::span<const ProfileEntry> profile_entries() noexcept;
[[nodiscard]] const ProfileEntry& profile_entry(CollectorProfile profile) noexcept;
/// All settings, grouped by profile.
[[nodiscard]] std::span<const ProfileSetting> profile_settings() noexcept;

/// Warnings, a line each: a collector is configured to get data that its profile's program loses.
[[nodiscard]] std::vector<std::string> profile_warnings(const Config& config);

/// The table of profiles for the reference page, in Markdown.
[[nodiscard]] std::string profile_reference();

}  // namespace tributary
