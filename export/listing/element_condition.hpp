// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "export/ipfix/ipfix_template.hpp"
#include "export/listing/flow_condition.hpp"

namespace tributary {

/// Whether a word may be the name of an element: a letter, then letters, digits, '_', '-' and '.',
/// with the number of its enterprise and '/' in front or without.
[[nodiscard]] bool is_element_name(std::string_view word) noexcept;

/// Reads a value in each way in which elements of some type may be compared with it.
[[nodiscard]] ElementOperand read_operand(std::string_view text);

/// Whether values of an element can be compared, or added, as a filter asks.
///
/// @errors  FilterError: its type does not go with the operand, or with the comparison, or is not
///          one of whole numbers
void check(const ElementCondition& condition, const IpfixElement& element);
void check(const SumTerm& term, const IpfixElement& element);

/// The first value that a record has of a sum's element.
///
/// @return  nothing: it has none
/// @errors  FilterError: the element's type is not one of whole numbers
[[nodiscard]] std::optional<SignedCount> number_of(const SumTerm& term, const IpfixRecord& record);

/// Whether a value of the element in the record compares with the operand as the condition says.
///
/// @errors  FilterError: the element's type does not go with the operand, or with the comparison
[[nodiscard]] bool holds(const ElementCondition& condition, const IpfixRecord& record);

}  // namespace tributary
