// SPDX-License-Identifier: Apache-2.0
#include "conf/recorder_keys.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "conf/config_section.hpp"
#include "conf/rules.hpp"

namespace tributary {
namespace {

bool is_path(std::string_view text) { return !text.empty(); }
bool is_any_list(const std::vector<std::string>& /*entries*/) { return true; }

/// `full`, `headers`, or a number of octets.
Rule<RecorderOptions> snap() {
    using O = RecorderOptions;
    const Rule<O> number = whole_number(&O::snap_octets, 1, O::kMostOctets);
    return {.limits = "full, headers or " + number.limits,
            .accept =
                [=](const YamlNode& node, O& options) {
                    if (is_scalar(node) && (node.text == "full" || node.text == "headers")) {
                        options.snap = node.text == "full" ? SnapMode::full : SnapMode::headers;
                        return true;
                    }
                    options.snap = SnapMode::octets;
                    return number.accept(node, options);
                },
            .yaml =
                [=](const O& options) {
                    return options.snap == SnapMode::octets ? number.yaml(options)
                           : options.snap == SnapMode::full ? std::string("full")
                                                            : std::string("headers");
                },
            .hint = number.hint,
            .advice = number.advice};
}

/// 0, or as much as one queue's ring has at least.
Rule<RecorderOptions> memory() {
    constexpr std::uint64_t kLeast = std::uint64_t{1} << 20U;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 44U;
    using O = RecorderOptions;
    const Rule<O> number = whole_number(&O::memory, kLeast, kMost);
    Rule<O> rule = number;
    rule.limits = "0 or " + number.limits;
    rule.accept = [=](const YamlNode& node, O& options) {
        if (is_scalar(node) && node.text == "0") {
            options.memory = 0;
            return true;
        }
        return number.accept(node, options);
    };
    return rule;
}

void check_names(const Config& config, const Section& section) {
    for (const std::string& name : config.recorder.inputs) {
        const bool is_there =
            std::ranges::find(config.inputs, name, &InputOptions::name) != config.inputs.end();
        section.demand("inputs", is_there,
                       " has " + shown(name) +
                           ", but there is no such input; must be names of "
                           "inputs");
    }
}

}  // namespace

std::vector<Key<RecorderOptions>> recorder_keys() {
    using O = RecorderOptions;
    return {
        value("memory", memory(),
              "octets for the last packets of all queues together, in equal parts, best in huge "
              "pages; 0: there is no recorder"),
        value("snap", snap(),
              "what is kept of a frame: full, all of it; headers, up to the end of the transport "
              "header, or 128 octets where that is not known; a number, so many octets"),
        value("cutoff", whole_number(&O::cutoff, 0, kMost32),
              "octets of payload that are kept of each direction of a flow, and headers alone "
              "after them; 0: all. A flow that goes on after active-timeout does not begin anew"),
        value("filter", filter_text(&O::filter),
              "frames that do not match are not kept; when empty, all are"),
        value("inputs", text_list(&O::inputs, "a list of names of inputs", is_any_list),
              "whose packets are kept; when empty, those of all"),
        value("all-frames", flag(&O::all_frames),
              "keep also frames that an input's filter or sampling leaves out of the flows"),
        value("socket",
              text(&O::socket, "auto or the path of a unix socket, of at most 107 octets", is_path,
                   kLongestSocketPath),
              "where `tributary dump` asks for packets; auto is recorder.sock beside the control "
              "socket's default. Its mode is 0600"),
        value("group", text(&O::group, "the name of a group or \"\"", is_any_text),
              "whose members may ask for packets too: the socket's mode is 0660 then; when empty, "
              "the daemon's user and root alone may"),
    };
}

void check_recorder(const Config& config, const YamlNode& root, Faults& faults) {
    if (config.recorder.memory == 0 || faults.is_unread("recorder") || faults.is_unread("inputs")) {
        return;
    }
    const Section section(root, "recorder", faults);
    check_names(config, section);
    for (std::size_t index = 0; index < config.inputs.size(); ++index) {
        const InputOptions& input = config.inputs[index];
        const bool has_octets =
            !config.recorder.records(input.name) || input.parse != ParseMode::unified_header;
        section.demand("memory", has_octets,
                       " is given, but inputs." + std::to_string(index) +
                           ".parse is unified-header; must be 0, or recorder.inputs without that "
                           "input (unified headers bring no octets to keep)");
    }
}

std::vector<std::string> recorder_warnings(const Config& config) {
    const RecorderOptions& options = config.recorder;
    std::vector<std::string> warnings;
    const RecorderOptions defaults;
    const bool has_others = options.snap != defaults.snap || options.cutoff != 0 ||
                            !options.filter.empty() || !options.inputs.empty() ||
                            options.all_frames || options.socket != defaults.socket ||
                            !options.group.empty();
    if (options.memory == 0 && has_others) {
        warnings.emplace_back("recorder has no effect without recorder.memory");
    }
    if (options.memory != 0 && options.cutoff != 0 && options.snap == SnapMode::headers) {
        warnings.emplace_back("recorder.cutoff has no effect with recorder.snap: headers");
    }
    return warnings;
}

}  // namespace tributary
