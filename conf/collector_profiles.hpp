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

/// What a collector makes of sampling that it is told.
enum class RateReading : std::uint8_t {
    of_each,     ///< it knows the rate of each input, or leaves rates to its users
    one_of_all,  ///< of an observation domain, so inputs may not differ
    not_told,    ///< options records would harm it
};

/// A collector program, and the messages that it can read.
struct ProfileEntry {
    CollectorProfile profile{};
    std::string_view word;       ///< in the configuration
    std::string_view collector;  ///< program and release that the settings are for
    bool takes_streams = true;   ///< by TCP; otherwise UDP alone
    /// Where the settings come from; empty: a test runs the collector.
    std::string_view source{};
    RateReading rate = RateReading::of_each;
};

/// A key of the collector that has another value by default under this profile.
struct ProfileSetting {
    CollectorProfile profile{};
    std::string_view key;
    std::string_view value;    ///< as --dump-config shows it
    std::string_view because;  ///< what becomes of records otherwise; names the program
    /// Other values that do no harm, each as --dump-config shows it, with a space between them.
    std::string_view harmless{};
};

/// All profiles, in the order of the documentation.
[[nodiscard]] std::span<const ProfileEntry> profile_entries() noexcept;
[[nodiscard]] const ProfileEntry& profile_entry(CollectorProfile profile) noexcept;
/// All settings, those of one profile together.
[[nodiscard]] std::span<const ProfileSetting> profile_settings() noexcept;

/// Warnings, a line each: a collector is configured to get what its profile's program loses.
[[nodiscard]] std::vector<std::string> profile_warnings(const Config& config);

/// The table of profiles for the reference page, in Markdown.
[[nodiscard]] std::string profile_reference();

}  // namespace tributary
