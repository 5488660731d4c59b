// SPDX-License-Identifier: Apache-2.0
#include "export/messages/address_octets.hpp"

#include <arpa/inet.h>

#include "export/export_error.hpp"

namespace tributary {

std::vector<std::byte> address_octets(const std::string& text) {
    constexpr std::size_t kIpv4 = 4;
    constexpr std::size_t kIpv6 = 16;
    std::vector<std::byte> octets(kIpv6);
    if (text.empty()) {
        return {};
    }
    if (::inet_pton(AF_INET, text.c_str(), octets.data()) == 1) {
        octets.resize(kIpv4);
        return octets;
    }
    if (::inet_pton(AF_INET6, text.c_str(), octets.data()) != 1) {
        throw ExportError("the probe's address is \"" + text +
                          "\"; it must be an IPv4 or IPv6 address");
    }
    return octets;
}

}  // namespace tributary
