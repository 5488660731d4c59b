// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "export/ipfix/ipfix_template.hpp"
#include "flowcache/fields/field_groups.hpp"

namespace tributary {

/// @source  IANA's registry of private enterprise numbers
inline constexpr std::uint32_t kNtopEnterprise = 35632;
/// @source  IANA's registry of private enterprise numbers
inline constexpr std::uint32_t kCertEnterprise = 6871;

/// CERT's element for the name of a template, which tools with libfixbuf print, and YAF sends. IANA
/// has none.
///
/// @source  CERT's registry of IPFIX elements
inline constexpr const char* kTemplateName = "templateName";
inline constexpr std::uint16_t kTemplateNameNumber = 1000;

/// An information element that is not IANA's: tributary's own, where IANA's registry has none, or
/// one of ntop's, which collectors know that support nProbe.
struct EnterpriseElement {
    const FieldElement* element;
    FieldGroupId group;  ///< that has it
    IpfixType type;
    std::uint16_t octets;  ///< kVariableLength for strings
};

/// All elements of these groups that have this owner, in the order of their numbers. A number or
/// type once used is never changed; docs/fields.md lists them for collectors.
///
/// @param owner   not iana
/// @param groups  lasting_groups(), and those of tables in which the caller has a share
[[nodiscard]] std::vector<EnterpriseElement> enterprise_elements(ElementOwner owner,
                                                                 FieldGroups groups);

/// @param groups  as of enterprise_elements()
/// @return        nothing when no element of tributary's own has this number
[[nodiscard]] std::optional<EnterpriseElement> own_element(std::uint16_t number,
                                                           FieldGroups groups) noexcept;

/// The abstract data type of an element of an enterprise with this encoding.
[[nodiscard]] IpfixType type_of(Encoding encoding) noexcept;

/// The type's name, for instance "unsigned32"; octetArray for those of no element of ours.
/// @source  RFC 7012 §3.1
[[nodiscard]] const char* name_of(IpfixType type) noexcept;

/// The name of an element in the other direction of a biflow.
///
/// @return  valid for ever
/// @source  RFC 5103 §6.1; ntop's have names of their own
[[nodiscard]] const char* reverse_name_of(const FieldElement& element);

}  // namespace tributary
