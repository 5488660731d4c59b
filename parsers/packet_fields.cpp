// SPDX-License-Identifier: Apache-2.0
#include "parsers/packet_fields.hpp"

namespace tributary {

std::string_view name_of(CutHeader header) noexcept {
    switch (header) {
        case CutHeader::none:
            return "none";
        case CutHeader::ipv4_options:
            return "ipv4_options";
        case CutHeader::ipv6_extension_header:
            return "ipv6_extension_header";
        case CutHeader::transport_header:
            return "transport_header";
        case CutHeader::tunnel_header:
            return "tunnel_header";
        case CutHeader::count:
            break;
    }
    return "unknown";
}

}  // namespace tributary
