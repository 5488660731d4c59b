// SPDX-License-Identifier: Apache-2.0
#include "conf/key.hpp"

namespace tributary {
namespace {

std::string comma_list(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
        text += (text.empty() ? "" : ", ") + word;
    }
    return text;
}

/// The value as written; a short list in full.
std::string value_text(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::list) {
        return shown(node);
    }
    std::vector<std::string> items(node.entries.size());
    std::transform(node.entries.begin(), node.entries.end(), items.begin(),
                   [](const YamlEntry& entry) { return shown(entry.value); });
    return shown("[" + comma_list(items) + "]");
}

}  // namespace

void refuse_unknown_key(const YamlEntry& entry, const std::string& section,
                        const std::vector<std::string>& names) {
    const std::string like = closest(entry.key, names);
    refuse(entry.value.place,
           shown(join_path(section, entry.key)) + " is not a key; " +
               (like.empty() ? "must be one of: " + comma_list(names)
                             : "did you mean " + join_path(section, like) + "?"));
}

void refuse_value(const YamlNode& node, const Setting& setting, const std::string& help) {
    const std::string by_default = setting.value == "\"\"" ? "" : "; default " + setting.value;
    refuse(node.place, setting.path + " is " + value_text(node) + "; must be " + setting.limits +
                           " (" + setting.help + by_default + ")" +
                           (help.empty() ? "" : "; " + help));
}

void refuse_entry(const EntryFault& fault, const std::string& path) {
    refuse(fault.entry->value.place, shown(join_path(path, fault.entry->key)) + fault.words);
}

void require_kind(const YamlNode& node, YamlNode::Kind kind, const std::string& path) {
    if (node.kind == kind || node.kind == YamlNode::Kind::null) {
        return;
    }
    const std::string what = kind == YamlNode::Kind::map ? "a map of keys (KEY: VALUE lines)"
                                                         : "a list (lines that begin with \"-\")";
    refuse(node.place, (path.empty() ? "the configuration" : path) + " is " + shown(node) +
                           "; must be " + what);
}

}  // namespace tributary
