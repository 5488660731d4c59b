// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/trigger_arguments.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "daemon/recorder/dump_command.hpp"

namespace tributary {
namespace {

using nlohmann::json;

/// @errors  std::runtime_error
std::string text_in(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) {
        return {};
    }
    if (!found->is_string()) {
        throw std::runtime_error(fmt::format("trigger: {} must be a text", key));
    }
    return found->get<std::string>();
}

}  // namespace

std::string TriggerArguments::to_json() const {
    json object{{"name", name}, {"filter", filter}};
    if (last) {
        object["last"] = *last;
    }
    return object.dump();
}

TriggerArguments TriggerArguments::of(const std::string& text) {
    const json object = json::parse(text, nullptr, false);
    if (!object.is_object()) {
        throw std::runtime_error("trigger: the arguments must be a JSON object");
    }
    TriggerArguments arguments{.name = text_in(object, "name"),
                               .filter = text_in(object, "filter")};
    if (object.contains("last")) {
        arguments.last = seconds_in(object, "trigger", "last");
    }
    return arguments;
}

}  // namespace tributary
