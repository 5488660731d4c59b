// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "conf/collector_profiles.hpp"
#include "conf/dump_config.hpp"
#include "conf/export_keys.hpp"
#include "tests/unit/conf/config_harness.hpp"

namespace tributary {
namespace {

/// A probe with biflows and one collector.
std::string biflow_probe_with(const std::string& collector) {
    return "inputs: [{device: net_null0}]\n"
           "flows: {direction: biflow}\n"
           "export: {collectors: [{" +
           collector + "}]}\n";
}

LoadedConfig loaded(const std::string& collector, const std::vector<std::string>& sets = {}) {
    return load(biflow_probe_with(collector), sets, ConfigUse::probe);
}

CollectorOptions collector_of(const std::string& collector,
                              const std::vector<std::string>& sets = {}) {
    return loaded(collector, sets).config.export_.collectors.at(0);
}

std::vector<Setting> settings_of(const CollectorOptions& collector) {
    std::vector<Setting> settings;
    list_section(collector, {}, collector_keys(), settings);
    return settings;
}

std::vector<std::string> profile_warnings(const std::string& collector,
                                          const std::vector<std::string>& sets = {}) {
    return loaded(collector, sets).warnings;
}

}  // namespace

TEST_CASE("profiles: each gives the keys of its table their values, and no other", "[conf][unit]") {
    const std::vector<Setting> defaults = settings_of(collector_of("host: h"));
    for (const ProfileEntry& entry : profile_entries()) {
        CAPTURE(entry.word);
        const CollectorOptions collector =
            collector_of("host: h, profile: " + std::string(entry.word));
        CHECK(collector.profile == entry.profile);
        const std::vector<Setting> settings = settings_of(collector);
        REQUIRE(settings.size() == defaults.size());
        std::size_t changed = 0;
        for (std::size_t i = 0; i < settings.size(); ++i) {
            CAPTURE(settings[i].path);
            const auto of_profile = std::ranges::find_if(profile_settings(), [&](const auto& each) {
                return each.profile == entry.profile && each.key == settings[i].path;
            });
            const bool is_set = of_profile != profile_settings().end();
            changed += is_set ? 1 : 0;
            if (settings[i].path != "profile") {
                CHECK(settings[i].value == (is_set ? of_profile->value : defaults[i].value));
                CHECK((settings[i].value != defaults[i].value) == is_set);
            }
        }
        CHECK(changed == static_cast<std::size_t>(std::ranges::count(
                             profile_settings(), entry.profile, &ProfileSetting::profile)));
        CHECK(profile_warnings("host: h, profile: " + std::string(entry.word)).empty());
    }
}

TEST_CASE("profiles: a key that is given overrides its profile, wherever it stands",
          "[conf][unit]") {
    CHECK(collector_of("host: h, profile: pmacct, tcp-control-bits: 2").tcp_control_bits == 2);
    CHECK(collector_of("tcp-control-bits: 2, host: h, profile: pmacct").tcp_control_bits == 2);
    CHECK(collector_of("host: h, profile: pmacct").tcp_control_bits == 1);
    CHECK(collector_of("host: h, direction: inherit, profile: vflow").direction == std::nullopt);
    const std::vector<std::string> sets{"export.collectors.0.direction=biflow",
                                        "export.collectors.0.profile=goflow2"};
    CHECK(collector_of("host: h", sets).direction == FlowDirection::biflow);
    CHECK(collector_of("profile: super-mediator, options: [statistics], host: h").options ==
          OptionsChoice{.reliability = false,
                        .statistics = true,
                        .interfaces = false,
                        .flow_keys = false,
                        .types = false});
}

TEST_CASE("profiles: what --dump-config writes is read as the same", "[conf][unit]") {
    for (const ProfileEntry& entry : profile_entries()) {
        CAPTURE(entry.word);
        const LoadedConfig first =
            loaded("host: h, buffer: 131072, profile: " + std::string(entry.word));
        const std::string text = dump_config(first.config);
        const LoadedConfig second = load(text, {}, ConfigUse::probe);
        CHECK(second.config.export_.collectors == first.config.export_.collectors);
        CHECK(dump_config(second.config) == text);
    }
}

TEST_CASE("profiles: unknown ones are refused with those that there are", "[conf][unit]") {
    CHECK(refusal(biflow_probe_with("host: h, profile: nfcapd"), {}, ConfigUse::probe)
              .starts_with("probe.yaml:3: export.collectors.0.profile is nfcapd; must be rfc, "
                           "nfdump, goflow2, akvorado, opentelemetry, pmacct, silk, "
                           "super-mediator, vflow or ipfixcol2 ("));
    CHECK(refusal(biflow_probe_with("host: h, options: [all]"), {}, ConfigUse::probe)
              .starts_with("probe.yaml:3: export.collectors.0.options is [all]; must be a list of "
                           "none or some of reliability, statistics, interfaces, flow-keys or "
                           "types ("));
}

TEST_CASE("profiles: what their collectors are known to lose is warned of", "[conf][unit]") {
    CHECK(profile_warnings("host: h, profile: goflow2, direction: biflow") ==
          std::vector<std::string>{
              "export.collectors.0.direction is biflow, but profile is goflow2: goflow2 drops the "
              "reverse half of biflows without a word; the profile's own is uniflow"});
    CHECK(profile_warnings("host: h, profile: goflow2, transport: tcp") ==
          std::vector<std::string>{"export.collectors.0.transport is tcp, but profile is goflow2: "
                                   "goflow2 2.2 listens by UDP alone"});
    CHECK(profile_warnings("host: h, profile: akvorado, sampling: none").size() == 1);
    CHECK(profile_warnings("host: h, profile: akvorado, sampling: all, direction: biflow").empty());
    CHECK(
        profile_warnings("host: h, profile: super-mediator, options: [types], cert-elements: false")
            .size() == 2);
    CHECK(profile_warnings("host: h, profile: silk, transport: tcp").empty());
    CHECK(profile_warnings("host: h, direction: biflow, sampling: none, options: []").empty());
}

TEST_CASE("profiles: rates that their collectors do not know are warned of", "[conf][unit]") {
    const std::vector<std::string> sampled{"inputs.0.sampling=10"};
    const std::vector<std::string> differing{"inputs.0.sampling=10",
                                             "inputs.1={device: net_null1, sampling: 20}"};
    CHECK(profile_warnings("host: h, profile: goflow2", sampled).empty());
    CHECK(profile_warnings("host: h, profile: goflow2", differing) ==
          std::vector<std::string>{"export.collectors.0.profile is goflow2, but inputs differ in "
                                   "sampling, and it knows one rate for all of them"});
    CHECK(profile_warnings("host: h, profile: opentelemetry", differing).size() == 1);
    CHECK(profile_warnings("host: h, profile: pmacct", differing).empty());
    CHECK(profile_warnings("host: h, profile: super-mediator").empty());
    CHECK(profile_warnings("host: h, profile: super-mediator", sampled) ==
          std::vector<std::string>{"export.collectors.0.profile is super-mediator, but packets "
                                   "are sampled, and it is not told the rate"});
    CHECK(profile_warnings("host: h", differing).empty());
}

TEST_CASE("profiles: what is inherited counts as what is sent", "[conf][unit]") {
    const std::string nfdump = "host: h, profile: nfdump, timestamps: inherit";
    CHECK(profile_warnings(nfdump).empty());
    CHECK(profile_warnings(nfdump, {"export.timestamps=nanoseconds"}).size() == 1);
    const std::string goflow2 = "host: h, profile: goflow2, direction: inherit";
    CHECK(profile_warnings(goflow2).size() == 1);
    CHECK(profile_warnings(goflow2, {"flows.direction=uniflow"}).empty());
    const std::string mediator = "host: h, profile: super-mediator, options: [types]";
    CHECK(profile_warnings(mediator).size() == 1);
    CHECK(profile_warnings(mediator, {"export.options-interval=0"}).empty());
}

}  // namespace tributary
