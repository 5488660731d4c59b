// SPDX-License-Identifier: Apache-2.0
// Writes the elements of tributary's own in the format of libfds, the library of IPFIXcol2: its
// folder user/elements takes the file. Reverse elements follow from the mode "split": bit 14 of the
// number is set, as in RFC 5103 section 6.2.
#include <iostream>
#include <string_view>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/options.hpp"

namespace {

using namespace tributary;

/// @source  IANA's registry of IPFIX information element data types
std::string_view data_type(IpfixType type) {
    switch (type) {
        case IpfixType::unsigned8:
            return "unsigned8";
        case IpfixType::unsigned16:
            return "unsigned16";
        case IpfixType::unsigned32:
            return "unsigned32";
        case IpfixType::unsigned64:
            return "unsigned64";
        case IpfixType::ipv4_address:
            return "ipv4Address";
        case IpfixType::ipv6_address:
            return "ipv6Address";
        case IpfixType::mac_address:
            return "macAddress";
        case IpfixType::string:
            return "string";
        default:
            return "octetArray";
    }
}

}  // namespace

int main() {
    std::cout << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                 "<!-- Elements of tributary, for libfds. Where export.enterprise-number is "
                 "another number, pen is that number. -->\n"
                 "<ipfix-elements>\n"
                 "    <scope>\n"
                 "        <pen>"
              << kDocumentationEnterprise
              << "</pen>\n"
                 "        <name>tributary</name>\n"
                 "        <biflow mode=\"split\"/>\n"
                 "    </scope>\n";
    for (const EnterpriseElement& own : enterprise_elements(ElementOwner::tributary)) {
        std::cout << "    <element>\n"
                     "        <id>"
                  << own.element->number
                  << "</id>\n"
                     "        <name>"
                  << own.element->name
                  << "</name>\n"
                     "        <dataType>"
                  << data_type(own.type)
                  << "</dataType>\n"
                     "        <status>current</status>\n"
                     "    </element>\n";
    }
    std::cout << "</ipfix-elements>\n";
    return std::cout.good() ? 0 : 1;
}
