// SPDX-License-Identifier: Apache-2.0
#include "conf/dump_config.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/collector_profiles.hpp"
#include "conf/keys.hpp"
#include "conf/scalars.hpp"
#include "conf/table_keys.hpp"
#include "conf/yaml_tree.hpp"

namespace tributary {
namespace {

std::size_t count_common(const std::vector<std::string>& one,
                         const std::vector<std::string>& other) {
    const std::size_t shorter = std::min(one.size(), other.size());
    std::size_t count = 0;
    while (count < shorter && one[count] == other[count]) {
        ++count;
    }
    return count;
}

/// Writes settings as block YAML, without repeating the common front of consecutive paths.
class YamlWriter {
public:
    void add(const Setting& setting) {
        const std::vector<std::string> path = split_path(setting.path);
        std::string indent = "";
        const std::size_t common = count_common(path, before_);
        for (std::size_t i = 0; i + 1 < path.size(); ++i) {
            const bool is_item = parse_whole(path[i]).has_value();
            if (i >= common) {
                open(path[i], indent, is_item);
            }
            indent += "  ";
        }
        text_ += line_start(indent) + path.back() + ": " + setting.value + "\n";
        before_ = path;
    }

    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    void open(const std::string& name, const std::string& indent, bool is_item) {
        if (is_item) {
            item_ = indent + "- ";
            return;
        }
        text_ += line_start(indent) + name + ":\n";
    }

    /// The first line of a list's item carries its dash.
    std::string line_start(const std::string& indent) {
        return item_.empty() ? indent : std::exchange(item_, {});
    }

    std::string text_;
    std::string item_;
    std::vector<std::string> before_;
};

/// "inputs.0.queues" becomes "inputs[].queues".
std::string general_path(const std::string& path) {
    std::string general;
    for (const std::string& part : split_path(path)) {
        general += parse_whole(part) ? "[]" : (general.empty() ? "" : ".") + part;
    }
    return general;
}

constexpr std::string_view kReferenceHead =
    "<!-- Made from conf/examples and the key table by `key_reference`; a test compares the two. "
    "-->\n"
    "# Configuration\n"
    "\n"
    "Three whole configurations to begin with. `conf/examples`, in the package\n"
    "`/usr/share/doc/tributary/examples`, has more. After them come "
    "[the rules for all keys](#rules-for-all-keys),\n"
    "every key with its default and its limits, and the "
    "[profiles of collectors](#profiles-of-collectors).\n";

constexpr std::string_view kIntroductionHead = "\n## Rules for all keys\n\n";

constexpr std::string_view kIntroduction =
    "`tributaryd --config FILE` reads one YAML document. Every key may be left out. `--set "
    "KEY=VALUE`\n"
    "overrides one, with a list's items counted from 0: `--set inputs.0.queues=4`. "
    "`--dump-config`\n"
    "prints the configuration with every key. `--check-config`, and `tributary check FILE`, judge "
    "it\n"
    "without touching a device, and print what it would run. All that is wrong is told in one run, "
    "a line\n"
    "each: also filters that libpcap does not take, TLS files and folders that are missing, and "
    "more\n"
    "memory than this machine has. A device or a core that this machine lacks is a warning there, "
    "because\n"
    "the configuration may be for another machine; `tributary plan` takes it for an error.\n"
    "\n"
    "Unknown keys, keys given twice, YAML aliases and tags are errors. Numbers are decimal, times "
    "are\n"
    "seconds; a time may have a unit (`500ms`, `30s`, `5m`, `1.5h`, `1d`), and a number that can "
    "be more\n"
    "than 65535 too: `k`, `M`, `G` and `T` for powers of 1000, `Ki`, `Mi`, `Gi` and `Ti` for those "
    "of 1024,\n"
    "with or without `B` (`64k`, `4MiB`). A path such as `inputs[].queues` means the key `queues` "
    "of each\n"
    "item of the list `inputs`.\n"
    "\n"
    "A probe needs at least one input with a `device` and at least one collector, with `host` for\n"
    "`udp`, `tcp` and `tls`, with `path` for `file`. Devices, names and interface indices of "
    "inputs\n"
    "differ.\n"
    "An explicit `cores.input` has one core for each queue, and `cores.helpers` has none of these. "
    "Filters\n"
    "and sampling choose frames, so they exclude `parse: unified-header`. With `--read`, `inputs` "
    "are ignored,\n"
    "`export.collectors` unless there is `--export`, and a `log.file` unless `--set` gives it: the "
    "file's is that\n"
    "of the probe. A\n"
    "key that has no effect beside the others, such as a `trim-length` without `parse: trimmed`, "
    "is\n"
    "a warning.\n"
    "\n"
    "`tables` declares tables of flows beside the main one, which `flows` is about, and `fields`\n"
    "fields of packets that they name, by their places. The packets of a table are those that are\n"
    "metered: what inputs filter, or leave out by sampling, is in none. Where a table has a field\n"
    "of `fields`, all inputs have the same `parse` and `trim-length`. Where one has unified\n"
    "headers, no table has a filter, nor a field that those do not carry (docs/fields.md). With\n"
    "`export.mode: failover` all collectors have the same `tables`.\n";

constexpr std::string_view kReloadNote =
    "\n"
    "The column `reload` says whether a running probe takes another value "
    "([control.md](control.md#reload));\n"
    "other keys need a restart.\n";

constexpr std::string_view kTableHead =
    "\n"
    "| key | default | must be | reload | what it does |\n"
    "|---|---|---|---|---|\n";

}  // namespace

std::string section_of(const std::string& path) { return path.substr(0, path.rfind('.')); }

std::string dump_config(const Config& config) {
    YamlWriter writer;
    for (const Setting& setting : settings_of(config)) {
        writer.add(setting);
    }
    return writer.take();
}

std::string_view key_introduction() { return kIntroduction; }

std::vector<Setting> documented_keys() {
    Config example;
    example.inputs.resize(1);
    example.fields.push_back(blank<OwnField>());
    example.tables.push_back(blank<TableDeclaration>());
    example.triggers.resize(1);
    example.export_.collectors.resize(1);
    std::vector<Setting> keys = settings_of(example);
    for (Setting& key : keys) {
        key.path = general_path(key.path);
    }
    return keys;
}

std::string key_reference(const std::vector<ExampleFile>& examples) {
    std::string page(kReferenceHead);
    for (const ExampleFile& example : examples) {
        page += "\n## `" + example.name + "`\n\n```yaml\n" +
                example.text.substr(example.text.find('\n') + 1) + "```\n";
    }
    page += kIntroductionHead;
    page += kIntroduction;
    page += kReloadNote;
    std::string section;
    for (const Setting& key : documented_keys()) {
        const std::string here = section_of(key.path);
        if (here != section) {
            page += "\n## `" + here + "`\n" + std::string(kTableHead);
            section = here;
        }
        page += "| `" + key.path + "` | `" + key.value + "` | " + key.limits + " | " +
                (key.apply == Apply::at_restart ? "no" : "yes") + " | " + key.help + " |\n";
    }
    return page + profile_reference();
}

}  // namespace tributary
