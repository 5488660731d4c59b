// SPDX-License-Identifier: Apache-2.0
// Writes the elements of tributary's own in the format of libfds, the library of IPFIXcol2: its
// folder user/elements takes the file. Reverse elements follow from the mode "split": bit 14 of the
// number is set, as in RFC 5103 section 6.2.
#include <iostream>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/options.hpp"

using namespace tributary;

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
    for (const EnterpriseElement& own : enterprise_elements(ElementOwner::tributary, kEveryGroup)) {
        std::cout << "    <element>\n"
                     "        <id>"
                  << own.element->number
                  << "</id>\n"
                     "        <name>"
                  << own.element->name
                  << "</name>\n"
                     "        <dataType>"
                  << name_of(own.type)
                  << "</dataType>\n"
                     "        <status>current</status>\n"
                     "    </element>\n";
    }
    std::cout << "</ipfix-elements>\n";
    return std::cout.good() ? 0 : 1;
}
