// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "export/ipfix/ipfix_template.hpp"
#include "export/ipfix/reverse_elements.hpp"
#include "flowcache/record/options.hpp"

namespace tributary {

/// An information element of tributary's own, where IANA's registry has none.
struct EnterpriseElement {
    const char* name;
    TributaryElement number;
    IpfixType type;
    std::uint16_t octets;
    bool FieldGroups::*group;  ///< its group
};

/// All of them, in the order of their numbers. A number or type once used is never changed;
/// docs/fields.md lists them for collectors.
inline constexpr std::array kEnterpriseElements{
    EnterpriseElement{"tunnelType", TributaryElement::tunnel_type, IpfixType::unsigned8, 1,
                      &FieldGroups::tunnel},
    EnterpriseElement{"tunnelId", TributaryElement::tunnel_id, IpfixType::unsigned32, 4,
                      &FieldGroups::tunnel},
    EnterpriseElement{"tunnelSourceIPv4Address", TributaryElement::tunnel_source_ipv4_address,
                      IpfixType::ipv4_address, 4, &FieldGroups::tunnel},
    EnterpriseElement{"tunnelDestinationIPv4Address",
                      TributaryElement::tunnel_destination_ipv4_address, IpfixType::ipv4_address, 4,
                      &FieldGroups::tunnel},
    EnterpriseElement{"tunnelSourceIPv6Address", TributaryElement::tunnel_source_ipv6_address,
                      IpfixType::ipv6_address, 16, &FieldGroups::tunnel},
    EnterpriseElement{"tunnelDestinationIPv6Address",
                      TributaryElement::tunnel_destination_ipv6_address, IpfixType::ipv6_address,
                      16, &FieldGroups::tunnel},
    EnterpriseElement{"segments", TributaryElement::segments, IpfixType::unsigned32, 4,
                      &FieldGroups::tcp_analysis},
    EnterpriseElement{"dataSegments", TributaryElement::data_segments, IpfixType::unsigned32, 4,
                      &FieldGroups::tcp_analysis},
    EnterpriseElement{"retransmissions", TributaryElement::retransmissions, IpfixType::unsigned32,
                      4, &FieldGroups::tcp_analysis},
    EnterpriseElement{"retransmittedOctets", TributaryElement::retransmitted_octets,
                      IpfixType::unsigned64, 8, &FieldGroups::tcp_analysis},
    EnterpriseElement{"duplicates", TributaryElement::duplicates, IpfixType::unsigned32, 4,
                      &FieldGroups::tcp_analysis},
    EnterpriseElement{"outOfOrder", TributaryElement::out_of_order, IpfixType::unsigned32, 4,
                      &FieldGroups::tcp_analysis},
    EnterpriseElement{"zeroWindow", TributaryElement::zero_window, IpfixType::unsigned16, 2,
                      &FieldGroups::tcp_analysis},
    EnterpriseElement{"keepAlives", TributaryElement::keep_alives, IpfixType::unsigned32, 4,
                      &FieldGroups::tcp_analysis},
    EnterpriseElement{"flowSize", TributaryElement::flow_size, IpfixType::unsigned32, 4,
                      &FieldGroups::tcp_analysis},
    EnterpriseElement{"flowDurationNanoseconds", TributaryElement::flow_duration_nanoseconds,
                      IpfixType::unsigned64, 8, &FieldGroups::tcp_analysis},
    EnterpriseElement{"tcpAnalysisOverflow", TributaryElement::tcp_analysis_overflow,
                      IpfixType::unsigned16, 2, &FieldGroups::tcp_analysis},
    EnterpriseElement{"tcpHandshakeNanoseconds", TributaryElement::tcp_handshake_nanoseconds,
                      IpfixType::unsigned32, 4, &FieldGroups::tcp_analysis},
};

/// @return  nullptr when no element of tributary's own has this number
[[nodiscard]] constexpr const EnterpriseElement* enterprise_element(std::uint16_t number) noexcept {
    const auto has_number = [number](const EnterpriseElement& element) {
        return static_cast<std::uint16_t>(element.number) == number;
    };
    const auto* const found =
        std::find_if(kEnterpriseElements.begin(), kEnterpriseElements.end(), has_number);
    return found == kEnterpriseElements.end() ? nullptr : found;
}

/// @return  `none` when no element of tributary's own has this name
[[nodiscard]] constexpr TributaryElement tributary_element(std::string_view name) noexcept {
    const auto has_name = [name](const EnterpriseElement& element) { return element.name == name; };
    const auto* const found =
        std::find_if(kEnterpriseElements.begin(), kEnterpriseElements.end(), has_name);
    return found == kEnterpriseElements.end() ? TributaryElement::none : found->number;
}

/// @source  IANA's registry of private enterprise numbers
inline constexpr std::uint32_t kNtopEnterprise = 35632;

/// An nProbe element for TCP, which collectors that support nProbe read; each has 4 octets. In and
/// out are the directions of a biflow: from its initiator and to it.
///
/// @source  nProbe's user's guide, "%RETRANSMITTED_IN_PKTS" and following
struct NtopElement {
    const char* in;
    std::uint16_t in_number;
    const char* out;
    std::uint16_t out_number;
};
inline constexpr std::array kNtopElements{
    NtopElement{"RETRANSMITTED_IN_PKTS", 109, "RETRANSMITTED_OUT_PKTS", 110},
    NtopElement{"OOORDER_IN_PKTS", 111, "OOORDER_OUT_PKTS", 112},
};

/// @source  IANA's registry of private enterprise numbers
inline constexpr std::uint32_t kCertEnterprise = 6871;

/// YAF's element for TCP flags, which super_mediator reads. Ours has the flags of all packets, the
/// first one included, because YAF's initialTCPFlags is not available here.
///
/// @source  CERT's registry of IPFIX elements
struct CertElement {
    const char* name;
    std::uint16_t number;
};
inline constexpr CertElement kCertElement{"unionTCPFlags", 15};

/// @return  the name of the element of ntop's with this number; nullptr: there is none here
[[nodiscard]] constexpr const char* ntop_element(std::uint16_t number) noexcept {
    for (const NtopElement& element : kNtopElements) {
        if (element.in_number == number) {
            return element.in;
        }
        if (element.out_number == number) {
            return element.out;
        }
    }
    return nullptr;
}

static_assert(std::all_of(kEnterpriseElements.begin(), kEnterpriseElements.end(),
                          [](const EnterpriseElement& element) {
                              const auto number = static_cast<std::size_t>(element.number);
                              return &element == &kEnterpriseElements[number - 1];
                          }));

}  // namespace tributary
