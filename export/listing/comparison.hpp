// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "export/listing/flow_condition.hpp"

namespace tributary {

/// Whether `value COMPARISON operand` holds.
template <class Value>
[[nodiscard]] constexpr bool compare(const Value& value, Comparison comparison,
                                     const Value& operand) noexcept {
    switch (comparison) {
        case Comparison::equal:
            return value == operand;
        case Comparison::unequal:
            return value != operand;
        case Comparison::less:
            return value < operand;
        case Comparison::at_most:
            return value <= operand;
        case Comparison::more:
            return value > operand;
        case Comparison::at_least:
            return value >= operand;
    }
    return false;
}

}  // namespace tributary
