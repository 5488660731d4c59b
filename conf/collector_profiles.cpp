// SPDX-License-Identifier: Apache-2.0
#include "conf/collector_profiles.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "conf/declared_tables.hpp"
#include "conf/export_keys.hpp"
#include "conf/key.hpp"

namespace tributary {
namespace {

using enum CollectorProfile;

constexpr std::array kEntries{
    ProfileEntry{rfc, "rfc",
                 "any that reads what RFC 7011, 5103, 5477 and 5610 say, such as tshark"},
    ProfileEntry{nfdump, "nfdump", "nfcapd of nfdump 1.7.1", false},
    ProfileEntry{goflow2, "goflow2", "goflow2 2.2", false, {}, RateReading::one_of_all},
    ProfileEntry{akvorado, "akvorado", "Akvorado 2", false, "its source"},
    ProfileEntry{opentelemetry, "opentelemetry", "OpenTelemetry's netflow receiver", false,
                 "goflow2, which is in it", RateReading::one_of_all},
    ProfileEntry{pmacct, "pmacct", "nfacctd of pmacct 1.7.7", false},
    ProfileEntry{silk, "silk", "rwflowpack and flowcap of SiLK 3", true, "its source"},
    ProfileEntry{super_mediator, "super-mediator", "super_mediator 1 and 2", true, "its source",
                 RateReading::not_reported},
    ProfileEntry{vflow, "vflow", "vFlow 0.9", true, "its source"},
    ProfileEntry{ipfixcol2, "ipfixcol2", "IPFIXcol2 2", true, "its documentation"},
};

constexpr std::array kSettings{
    ProfileSetting{nfdump, "timestamps", "milliseconds",
                   "nfcapd stores micro- and nanoseconds as 1970"},
    ProfileSetting{
        nfdump, "options", "[]",
        "nfcapd complains of interfaces, and counts a sequence failure for each round of "
        "options records behind the first flows"},
    ProfileSetting{nfdump, "sampling", "netflow-where-sampled",
                   "nfcapd reads the rate from element 34 alone, and counts a sequence failure for "
                   "each round of options records behind the first flows"},

    ProfileSetting{goflow2, "direction", "uniflow",
                   "goflow2 drops the reverse half of biflows without a word"},

    ProfileSetting{akvorado, "direction", "uniflow",
                   "releases that do not know RFC 5103 drop the reverse half of biflows", "biflow"},
    ProfileSetting{akvorado, "timestamps", "milliseconds",
                   "Akvorado misreads micro- and nanoseconds"},
    ProfileSetting{akvorado, "sampling", "netflow",
                   "Akvorado rejects the records of a probe that tells no rate", "all rfc5477"},

    ProfileSetting{opentelemetry, "direction", "uniflow",
                   "the receiver drops the reverse half of biflows without a word"},

    ProfileSetting{pmacct, "direction", "uniflow",
                   "nfacctd drops the reverse half of biflows without a word"},
    ProfileSetting{pmacct, "tcp-control-bits", "1",
                   "nfacctd reads one octet of flags, and shows 0 of two"},

    ProfileSetting{silk, "direction", "uniflow",
                   "rwflowpack drops the reverse half of biflows without a word"},

    ProfileSetting{super_mediator, "timestamps", "milliseconds",
                   "super_mediator misreads micro- and nanoseconds"},
    ProfileSetting{super_mediator, "options", "[]",
                   "super_mediator ends at the first options record"},
    ProfileSetting{super_mediator, "sampling", "none",
                   "super_mediator ends at the first options record"},
    ProfileSetting{super_mediator, "cert-elements", "true",
                   "super_mediator reads TCP flags from CERT's elements alone"},

    ProfileSetting{vflow, "direction", "uniflow",
                   "vFlow drops records with elements that it does not know, such as reverse ones"},
    ProfileSetting{vflow, "enterprise-elements", "false",
                   "vFlow drops records with elements that it does not know"},
};

std::string path_of(std::size_t collector) {
    return "export.collectors." + std::to_string(collector);
}

/// The options of a collector, with inherited values from the export section.
CollectorOptions effective(const Config& config, std::size_t index) {
    CollectorOptions own = config.export_.collectors[index];
    own.timestamps = own.timestamps.value_or(config.export_.timestamps);
    own.direction = own.direction.value_or(FlowDirection::biflow);
    if (!takes_biflows(config, own)) {
        own.direction = FlowDirection::uniflow;
    }
    if (config.export_.options_interval.count() == 0) {
        own.options = {.reliability = false,
                       .statistics = false,
                       .interfaces = false,
                       .flow_keys = false,
                       .types = false};
        own.sampling = SamplingForm::none;
    }
    return own;
}

/// Whether a list of words, separated by spaces, has this one.
bool has_word(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(' '), list.size());
        if (list.substr(0, end) == word) {
            return true;
        }
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

std::string value_of(const CollectorOptions& collector, std::string_view key) {
    std::vector<Setting> settings;
    list_section(collector, {}, collector_keys(), settings);
    const auto found = std::ranges::find(settings, key, &Setting::path);
    return found == settings.end() ? std::string() : found->value;
}

/// Whether an input's sampling differs from that of the first.
bool differ_in_sampling(const std::vector<InputOptions>& inputs) {
    return std::ranges::any_of(inputs, [&inputs](const InputOptions& input) {
        const InputOptions& first = inputs.front();
        return input.sampling != first.sampling ||
               (input.sampling > 1 && input.sampling_method != first.sampling_method);
    });
}

void warn_of_rates(const Config& config, const ProfileEntry& entry, std::size_t index,
                   std::vector<std::string>& warnings) {
    const bool is_sampled = std::ranges::any_of(
        config.inputs, [](const InputOptions& input) { return input.sampling > 1; });
    const char* fault = nullptr;
    if (entry.rate == RateReading::one_of_all && differ_in_sampling(config.inputs)) {
        fault = "inputs differ in sampling, and it knows one rate for all of them";
    } else if (entry.rate == RateReading::not_reported && is_sampled) {
        fault = "packets are sampled, and it is not told the rate";
    }
    if (fault != nullptr) {
        std::string& line = warnings.emplace_back(path_of(index));
        line.append(".profile is ").append(entry.word).append(", but ").append(fault);
    }
}

void warn_of_collector(const Config& config, std::size_t index,
                       std::vector<std::string>& warnings) {
    const CollectorOptions sent = effective(config, index);
    const ProfileEntry& entry = profile_entry(sent.profile);
    const bool is_stream =
        sent.transport == TransportKind::tcp || sent.transport == TransportKind::tls;
    const std::string profile = ", but profile is " + std::string(entry.word) + ": ";
    if (is_stream && !entry.takes_streams) {
        warnings.push_back(path_of(index) + ".transport is " + value_of(sent, "transport") +
                           profile + std::string(entry.collector) + " listens by UDP alone");
    }
    warn_of_rates(config, entry, index, warnings);
    for (const ProfileSetting& setting : profile_settings()) {
        if (setting.profile != sent.profile) {
            continue;
        }
        const std::string value = value_of(sent, setting.key);
        if (value != setting.value && !has_word(setting.harmless, value)) {
            std::string& line = warnings.emplace_back(path_of(index));
            line.append(".").append(setting.key).append(" is ").append(value).append(profile);
            line.append(setting.because).append("; the profile's own is ").append(setting.value);
        }
    }
}

/// The settings of a profile with their reasons, for a cell of a table.
std::string settings_text(const ProfileEntry& entry) {
    std::string text;
    for (const ProfileSetting& setting : kSettings) {
        if (setting.profile == entry.profile) {
            text.append(text.empty() ? "`" : "; `").append(setting.key).append(": ");
            text.append(setting.value).append("`: ").append(setting.because);
        }
    }
    return text.empty() ? "none" : text;
}

}  // namespace

std::span<const ProfileEntry> profile_entries() noexcept { return kEntries; }

const ProfileEntry& profile_entry(CollectorProfile profile) noexcept {
    return *std::ranges::find(kEntries, profile, &ProfileEntry::profile);
}

std::span<const ProfileSetting> profile_settings() noexcept { return kSettings; }

std::vector<std::string> profile_warnings(const Config& config) {
    std::vector<std::string> warnings;
    for (std::size_t i = 0; i < config.export_.collectors.size(); ++i) {
        warn_of_collector(config, i, warnings);
    }
    return warnings;
}

std::string profile_reference() {
    std::string text =
        "\n"
        "## Profiles of collectors\n"
        "\n"
        "`export.collectors[].profile` names the collector, and gives some of its keys other "
        "defaults.\n"
        "A key that is given overrides its profile, wherever it stands. `--dump-config` shows what "
        "holds.\n"
        "Where the configuration says otherwise than a profile, and its collector is known to lose "
        "records\n"
        "or fields by that, `--check-config` and the log warn of it.\n"
        "\n"
        "| profile | for | settings, and why | a test runs it |\n"
        "|---|---|---|---|\n";
    for (const ProfileEntry& entry : kEntries) {
        text.append("| `").append(entry.word).append("` | ").append(entry.collector);
        text.append(entry.takes_streams ? " | " : " (by UDP alone) | ")
            .append(settings_text(entry));
        text.append(" | ").append(entry.source.empty() ? "yes" : "no, never run against; from ");
        text.append(entry.source).append(" |\n");
    }
    return text;
}

}  // namespace tributary
