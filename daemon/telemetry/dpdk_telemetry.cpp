// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/dpdk_telemetry.hpp"

#include <rte_eal.h>
#include <rte_telemetry.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/base/spdlog.hpp"

namespace tributary {
namespace {

using nlohmann::json;

/// DPDK keeps commands for the lifetime of the process; the answers may be gone before.
struct Registry {
    std::mutex mutex;
    std::optional<DpdkTelemetryAnswers> answers;
};

Registry& registry() {
    static Registry only;
    return only;
}

json ledger_of(const DpdkTelemetryAnswers& answers) { return json::parse(answers.ledger()); }
json figures_of(const DpdkTelemetryAnswers& answers) { return json::parse(answers.figures()); }

json names_of(const json& list) {
    json names = json::array();
    for (const json& each : list) {
        names.push_back(each.at("name"));
    }
    return names;
}

/// @param number  from DPDK; nullptr: none given
/// @return        null: no entry of this number
json one_of(const json& list, const char* number) {
    std::size_t index = 0;
    const std::string_view text = number == nullptr ? "" : number;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), index);
    return error == std::errc{} && end == text.end() && index < list.size() ? list[index] : json();
}

json sums(const DpdkTelemetryAnswers& answers, const char* /*parameter*/) {
    json ledger = ledger_of(answers);
    for (const char* list : {"queues", "ports", "collectors"}) {
        ledger.erase(list);
    }
    return ledger;
}

json queue(const DpdkTelemetryAnswers& answers, const char* number) {
    json entry = one_of(ledger_of(answers)["queues"], number);
    if (!entry.is_null()) {
        entry["ring"] = one_of(figures_of(answers)["rings"], number);
    }
    return entry;
}

json port(const DpdkTelemetryAnswers& answers, const char* number) {
    json entry = one_of(ledger_of(answers)["ports"], number);
    if (!entry.is_null()) {
        entry["link"] = one_of(figures_of(answers)["inputs"], number)["link"];
    }
    return entry;
}

json info(const DpdkTelemetryAnswers& answers, const char* /*parameter*/) {
    json figures = figures_of(answers);
    figures.erase("rings");
    figures.erase("threads");
    figures.erase("inputs");
    return figures;
}

using Answer = json (*)(const DpdkTelemetryAnswers& answers, const char* parameter);

struct Command {
    const char* name;
    const char* help;
    Answer answer;
};

constexpr std::array kCommands{
    Command{"/tributary/ledger", "Sums over all queues and ports. Takes no parameters", sums},
    Command{"/tributary/ports", "Names of the inputs. Takes no parameters",
            [](const DpdkTelemetryAnswers& answers, const char*) {
                return names_of(ledger_of(answers)["ports"]);
            }},
    Command{"/tributary/port",
            "An input's link, and what its NIC counts; not there: unknown. Parameters: int number, "
            "from 0",
            port},
    Command{"/tributary/queues", "Names of the queues. Takes no parameters",
            [](const DpdkTelemetryAnswers& answers, const char*) {
                return names_of(ledger_of(answers)["queues"]);
            }},
    Command{"/tributary/queue", "A queue's ledger and ring. Parameters: int number, from 0", queue},
    Command{"/tributary/collectors", "Names of the collectors. Takes no parameters",
            [](const DpdkTelemetryAnswers& answers, const char*) {
                return names_of(ledger_of(answers)["collectors"]);
            }},
    Command{"/tributary/collector", "A collector's account. Parameters: int number, from 0",
            [](const DpdkTelemetryAnswers& answers, const char* number) {
                return one_of(ledger_of(answers)["collectors"], number);
            }},
    Command{"/tributary/threads", "Names of the threads. Takes no parameters",
            [](const DpdkTelemetryAnswers& answers, const char*) {
                return names_of(figures_of(answers)["threads"]);
            }},
    Command{"/tributary/thread", "What a thread does. Parameters: int number, from 0",
            [](const DpdkTelemetryAnswers& answers, const char* number) {
                return one_of(figures_of(answers)["threads"], number);
            }},
    Command{"/tributary/info", "Version, start and caches. Takes no parameters", info},
};

void add(rte_tel_data* data, const std::string& name, const json& value) {
    if (value.is_number()) {
        rte_tel_data_add_dict_u64(data, name.c_str(), value.get<std::uint64_t>());
    } else if (value.is_boolean()) {
        rte_tel_data_add_dict_int(data, name.c_str(), value.get<bool>() ? 1 : 0);
    } else if (value.is_string()) {
        rte_tel_data_add_dict_string(data, name.c_str(), value.get<std::string>().c_str());
    }
}

void put(rte_tel_data* data, const json& answer) {
    if (answer.is_array()) {
        rte_tel_data_start_array(data, RTE_TEL_STRING_VAL);
        for (const json& name : answer) {
            rte_tel_data_add_array_string(data, name.get<std::string>().c_str());
        }
        return;
    }
    rte_tel_data_start_dict(data);
    const json flat = answer.flatten();
    for (const auto& [path, value] : flat.items()) {
        std::string name = path.substr(1);  // a JSON pointer begins with /
        std::ranges::replace_if(
            name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '/'; }, '_');
        add(data, name, value);
    }
}

/// @thread  DPDK's telemetry thread
int answer_command(const char* name, const char* parameter, rte_tel_data* data) {
    const auto* const command = std::ranges::find_if(
        kCommands, [name](const Command& each) { return std::strcmp(each.name, name) == 0; });
    const std::lock_guard lock(registry().mutex);
    const std::optional<DpdkTelemetryAnswers>& answers = registry().answers;
    if (command == kCommands.end() || !answers) {
        return -1;
    }
    try {
        const json answer = command->answer(*answers, parameter);
        if (answer.is_null()) {
            return -1;
        }
        put(data, answer);
        return 0;
    } catch (const std::exception&) {
        return -1;  // DPDK answers null; an exception must not reach C code
    }
}

}  // namespace

DpdkTelemetry::DpdkTelemetry(DpdkTelemetryAnswers answers) {
    spdlog::info("telemetry: {}/dpdk_telemetry.v2", rte_eal_get_runtime_dir());
    const std::lock_guard lock(registry().mutex);
    registry().answers = std::move(answers);
    for (const Command& command : kCommands) {
        rte_telemetry_register_cmd(command.name, answer_command, command.help);
    }
}

DpdkTelemetry::~DpdkTelemetry() {
    const std::lock_guard lock(registry().mutex);
    registry().answers.reset();
}

}  // namespace tributary
