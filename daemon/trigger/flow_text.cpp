// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/flow_text.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <span>

#include "export/messages/ip_text.hpp"

namespace tributary {
namespace {

std::string address_of(const IpAddress& address, std::uint8_t ip_version) {
    constexpr std::size_t kIpv4 = 4;
    return address_text(std::span(address).first(ip_version == 4 ? kIpv4 : address.size()));
}

/// The key of a flow, as far as it has addresses, ports and a protocol: "192.0.2.1 port 5000 >
/// 198.51.100.2 port 80, tcp".
std::string text_of(const FlowKey& key, const KeyDescriptor& descriptor) {
    const auto end = [&](const IpAddress& address, const AddressPrefix& prefix, L4Port port,
                         bool has_port) {
        const bool has_address = (key.ip_version == 4 ? prefix.ipv4 : prefix.ipv6) != 0;
        std::string text = has_address ? address_of(address, key.ip_version) : "any";
        return has_port ? text + " port " + std::to_string(port.value) : text;
    };
    std::string text = end(key.source, descriptor.source, key.source_port, descriptor.source_port) +
                       " > " +
                       end(key.destination, descriptor.destination, key.destination_port,
                           descriptor.destination_port);
    return descriptor.protocol ? text + ", " + protocol_text(key.protocol) : text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> remarks_of(const TriggerEvent& event,
                                                            const TriggerOptions& options,
                                                            const WatchedTable* table) {
    const double at = std::chrono::duration<double>(event.at.time_since_epoch()).count();
    std::vector<std::pair<std::string, std::string>> remarks{{"trigger", options.name},
                                                             {"file", std::to_string(event.file)},
                                                             {"at", fmt::format("{:.9f}", at)}};
    if (table == nullptr) {
        remarks.emplace_back("cause", "a command");
        return remarks;
    }
    remarks.emplace_back("cause", event.is_at_end ? "the end of a record" : "a packet");
    remarks.emplace_back("table", table->name);
    remarks.emplace_back("when", options.when);
    remarks.emplace_back("flow", text_of(event.flow.key, table->options.key));
    return remarks;
}

}  // namespace tributary
