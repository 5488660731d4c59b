// SPDX-License-Identifier: Apache-2.0
#include "conf/yaml_tree.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "conf/config_error.hpp"
#include "conf/scalars.hpp"

namespace tributary {
namespace {

std::string place_at(const YamlOrigin& origin, std::size_t line) {
    return origin.has_lines ? origin.name + ":" + std::to_string(line) : origin.name;
}

std::string place_at(const YamlOrigin& origin, const YAML::Mark& mark) {
    return place_at(origin, static_cast<std::size_t>(std::max(mark.line, 0)) + 1);
}

/// Builds the tree of one document from the parser's events.
class TreeBuilder : public YAML::EventHandler {
public:
    explicit TreeBuilder(const YamlOrigin& origin) : origin_(origin) {}

    /// @errors  ConfigError: a key is not a word
    YamlNode take() {
        if (!bad_key_.empty()) {
            throw ConfigError(bad_key_);
        }
        return std::move(root_);
    }

    void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
        note_bad_key(mark, "empty");
        put({.kind = YamlNode::Kind::null,
             .text = {},
             .place = place_at(origin_, mark),
             .entries = {}});
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
        refuse(place_at(origin_, mark),
               "YAML aliases are not supported; must be the value itself (write it out again)");
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                  const std::string& value) override {
        refuse_tag(mark, tag);
        if (in_map() && !has_key_) {
            key_ = {.key = value, .value = {}};
            key_.value.place = place_at(origin_, mark);
            has_key_ = true;
            return;
        }
        put({.kind = YamlNode::Kind::scalar,
             .text = value,
             .place = place_at(origin_, mark),
             .entries = {}});
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                         YAML::EmitterStyle::value /*style*/) override {
        open(mark, tag, YamlNode::Kind::list);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                    YAML::EmitterStyle::value /*style*/) override {
        open(mark, tag, YamlNode::Kind::map);
    }
    void OnMapEnd() override { close(); }

private:
    struct Open {
        YamlNode node;
        std::string key;  ///< its key in the map around it
    };

    [[nodiscard]] bool in_map() const {
        return !open_.empty() && open_.back().node.kind == YamlNode::Kind::map;
    }

    // Only take() refuses: yaml-cpp may treat an unclosed bracket as the begin of a key, and its
    // own later error is better.
    void note_bad_key(const YAML::Mark& mark, const char* what) {
        if (in_map() && !has_key_ && bad_key_.empty()) {
            bad_key_ = place_at(origin_, mark) + ": a key is " + what + "; must be a word";
        }
    }

    void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
        // yaml-cpp's own: "?" for a plain value, "!" for a quoted one.
        if (!tag.empty() && tag != "?" && tag != "!") {
            refuse(place_at(origin_, mark),
                   "the YAML tag " + shown(tag) + " is not supported; must be the value alone");
        }
    }

    void open(const YAML::Mark& mark, const std::string& tag, YamlNode::Kind kind) {
        refuse_tag(mark, tag);
        note_bad_key(mark, kind == YamlNode::Kind::map ? "a map" : "a list");
        // Inside a map the place is the key's: a block list or map starts on a later line.
        open_.push_back({.node = {.kind = kind,
                                  .text = {},
                                  .place = has_key_ ? key_.value.place : place_at(origin_, mark),
                                  .entries = {}},
                         .key = has_key_ ? std::move(key_.key) : std::string()});
        has_key_ = false;
    }

    void close() {
        Open closed = std::move(open_.back());
        open_.pop_back();
        if (in_map()) {
            key_.key = std::move(closed.key);
            key_.value.place = closed.node.place;
            has_key_ = true;
        }
        put(std::move(closed.node));
    }

    void put(YamlNode node) {
        if (open_.empty()) {
            root_ = std::move(node);
            return;
        }
        if (has_key_) {
            node.place = std::move(key_.value.place);
        }
        open_.back().node.entries.push_back(
            {.key = has_key_ ? std::move(key_.key) : std::string(), .value = std::move(node)});
        has_key_ = false;
    }

    const YamlOrigin& origin_;
    YamlNode root_;
    std::vector<Open> open_;
    YamlEntry key_;  ///< waits for its value while has_key_
    bool has_key_ = false;
    std::string bad_key_;  ///< message about the first bad key
};

void refuse_what_is_no_text(std::string_view text, const YamlOrigin& origin) {
    if (text.size() > kLongestYaml) {
        refuse(origin.name, "the configuration is larger than 1 MiB; must be a YAML file");
    }
    const std::size_t good = count_text_bytes(text);
    if (good == text.size()) {
        return;
    }
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(good), '\n');
    refuse(place_at(origin, static_cast<std::size_t>(line) + 1),
           "there are bytes that are no text; must be YAML in UTF-8");
}

void note_duplicate_keys(const YamlNode& map, const std::string& path, Faults& faults) {
    std::map<std::string_view, const YamlNode*> seen;
    for (const YamlEntry& entry : map.entries) {
        const auto [first, is_new] = seen.emplace(entry.key, &entry.value);
        if (!is_new) {
            // A separate path: the value may have a fault as well.
            faults.note(join_path(path, entry.key) + " twice",
                        entry.value.place + ": " + shown(join_path(path, entry.key)) +
                            " is given twice, first in " + first->second->place +
                            "; must be given once (remove one)");
        }
    }
}

// The depth is bounded by the parser's own guard.
void note_duplicates(const YamlNode& node, const std::string& path, Faults& faults) {
    const bool is_map = node.kind == YamlNode::Kind::map;
    if (is_map) {
        note_duplicate_keys(node, path, faults);
    }
    for (std::size_t i = 0; i < node.entries.size(); ++i) {
        const YamlEntry& entry = node.entries[i];
        note_duplicates(entry.value, join_path(path, is_map ? entry.key : std::to_string(i)),
                        faults);
    }
}

YamlNode build_tree(std::string_view text, const YamlOrigin& origin) {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder first(origin);
    parser.HandleNextDocument(first);
    TreeBuilder second(origin);
    if (parser.HandleNextDocument(second)) {
        refuse(second.take().place, "a second YAML document starts here; must be one document");
    }
    return first.take();
}

/// @errors  ConfigError: not YAML
YamlNode whole_tree(std::string_view text, const YamlOrigin& origin) {
    try {
        return build_tree(text, origin);
    } catch (const YAML::DeepRecursion& error) {
        refuse(place_at(origin, error.mark), "lists and maps are nested too deeply; must be YAML");
    } catch (const YAML::Exception& error) {
        refuse(place_at(origin, error.mark),
               "this is not YAML: " + shown(error.msg) +
                   " (see brackets, quotes and indentation up to here)");
    }
}

/// The text with two spaces for each indenting tab, also after the dash of a list's item.
std::string without_tabs(std::string_view text, const YamlOrigin& origin, Faults& faults) {
    std::string result;
    std::size_t line = 1;
    bool is_indentation = true;
    for (const char c : text) {
        const bool is_tab = is_indentation && c == '\t';
        if (is_tab) {
            const std::string place = place_at(origin, line);
            faults.note("tab in " + place,
                        place +
                            ": a tab indents this line; must be spaces (YAML takes no tab "
                            "there)");
        }
        result += is_tab ? "  " : std::string(1, c);
        line += c == '\n' ? 1 : 0;
        is_indentation = c == '\n' || (is_indentation && (c == ' ' || c == '\t' || c == '-'));
    }
    return result;
}

/// If this is not YAML either, only the tabs are reported: they may be the cause of the other
/// faults.
YamlNode tree_without_tabs(std::string_view text, const YamlOrigin& origin, Faults& faults) {
    try {
        return whole_tree(text, origin);
    } catch (const ConfigError&) {
        faults.raise();
        throw;
    }
}

}  // namespace

YamlNode parse_yaml(std::string_view text, const YamlOrigin& origin, const std::string& path) {
    Faults faults;
    YamlNode root = parse_yaml(text, origin, path, faults);
    faults.raise();
    return root;
}

YamlNode parse_yaml(std::string_view text, const YamlOrigin& origin, const std::string& path,
                    Faults& faults) {
    refuse_what_is_no_text(text, origin);
    YamlNode root;
    try {
        root = whole_tree(text, origin);
    } catch (const ConfigError&) {
        const std::string with_spaces = without_tabs(text, origin, faults);
        if (with_spaces == text) {
            throw;
        }
        root = tree_without_tabs(with_spaces, origin, faults);
    }
    if (root.kind == YamlNode::Kind::null) {
        root.place = origin.name;
    }
    note_duplicates(root, path, faults);
    return root;
}

const YamlNode* find(const YamlNode& node, std::string_view key) {
    if (node.kind == YamlNode::Kind::list) {
        const auto index = parse_whole(key);
        return index && *index < node.entries.size() ? &node.entries[*index].value : nullptr;
    }
    const auto entry = std::find_if(node.entries.begin(), node.entries.end(),
                                    [key](const YamlEntry& e) { return e.key == key; });
    return entry == node.entries.end() ? nullptr : &entry->value;
}

YamlNode* find(YamlNode& node, std::string_view key) {
    return const_cast<YamlNode*>(find(std::as_const(node), key));
}

std::string place_of(const YamlNode& root, std::string_view path) {
    const YamlNode* node = &root;
    for (const std::string& key : split_path(path)) {
        const YamlNode* inner = find(*node, key);
        if (inner == nullptr) {
            break;
        }
        node = inner;
    }
    return node->place;
}

std::string join_path(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : path + "." + std::string(key);
}

std::vector<std::string> split_path(std::string_view path) {
    std::vector<std::string> parts;
    for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
        parts.emplace_back(path.substr(0, dot));
        path.remove_prefix(dot + 1);
    }
    parts.emplace_back(path);
    return parts;
}

std::string shown(const YamlNode& node) {
    switch (node.kind) {
        case YamlNode::Kind::null:
            return "without a value";
        case YamlNode::Kind::list:
            return "a list";
        case YamlNode::Kind::map:
            return "a map";
        case YamlNode::Kind::scalar:
            break;
    }
    return node.text.empty() ? "empty" : shown(node.text);
}

}  // namespace tributary
