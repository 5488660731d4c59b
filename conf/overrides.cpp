// SPDX-License-Identifier: Apache-2.0
#include "conf/overrides.hpp"

#include <utility>

#include "conf/config_error.hpp"
#include "conf/scalars.hpp"

namespace tributary {
namespace {

// Deeper than any key; limits the depth of a tree like the parser's own guard.
constexpr std::size_t kDeepestPath = 8;

/// The item `index` of a list; the next item is added.
YamlNode& list_item(YamlNode& list, const std::string& path, std::string_view index,
                    const std::string& place) {
    const auto position = parse_whole(index);
    if (!position) {
        refuse(place, path + " is a list, and " + shown(index) +
                          " no number of an item; must be 0 for the first item");
    }
    const std::size_t size = list.entries.size();
    if (*position > size) {
        refuse(place, path + " has " + std::to_string(size) + " items, none has number " +
                          std::to_string(*position) + "; must be at most " + std::to_string(size) +
                          " (which adds an item)");
    }
    if (*position == size) {
        list.entries.push_back({.key = {}, .value = {}});
        list.entries.back().value.place = place;
    }
    return list.entries[*position].value;
}

YamlNode& map_value(YamlNode& map, std::string_view key, const std::string& place) {
    if (YamlNode* there = find(map, key)) {
        return *there;
    }
    map.entries.push_back({.key = std::string(key), .value = {}});
    map.entries.back().value.place = place;
    return map.entries.back().value;
}

YamlNode& inner(YamlNode& node, const std::string& path, std::string_view key,
                const std::string& place) {
    if (node.kind == YamlNode::Kind::null) {
        node.kind = parse_whole(key) ? YamlNode::Kind::list : YamlNode::Kind::map;
    }
    if (node.kind == YamlNode::Kind::list) {
        return list_item(node, path, key, place);
    }
    if (node.kind == YamlNode::Kind::scalar) {
        refuse(place, path + " is " + shown(node) + ", a value; must be a map or list to have " +
                          shown(key) + " inside");
    }
    return map_value(node, key, place);
}

}  // namespace

void assign(YamlNode& root, std::string_view path, YamlNode value) {
    const std::vector<std::string> parts = split_path(path);
    if (parts.size() > kDeepestPath) {
        refuse(value.place, shown(path) + " is not a key; no key has more than " +
                                std::to_string(kDeepestPath) + " parts");
    }
    YamlNode* node = &root;
    std::string here;
    for (const std::string& part : parts) {
        node = &inner(*node, here.empty() ? "the configuration" : here, part, value.place);
        here = join_path(here, shown(part));
    }
    *node = std::move(value);
}

std::string place_of_set(const std::string& key_value) {
    if (key_value.find("properties") != std::string::npos) {
        return "--set " + shown(key_value.substr(0, key_value.find('='))) +
               " (its value is not shown)";
    }
    return "--set " + shown(key_value);
}

void apply_set(YamlNode& root, const std::string& key_value) {
    const std::string place = place_of_set(key_value);
    const std::size_t equals = key_value.find('=');
    if (equals == std::string::npos || equals == 0) {
        refuse(place, "a key and a value must stand here, such as flows.idle-timeout=30");
    }
    const std::string path = key_value.substr(0, equals);
    if (count_text_bytes(path) != path.size()) {
        refuse(place, "there are bytes that are no text; must be UTF-8");
    }
    assign(root, path, parse_yaml(key_value.substr(equals + 1), {.name = place}, path));
}

}  // namespace tributary
