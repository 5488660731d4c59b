// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "export/listing/flow_condition.hpp"

namespace tributary {

/// A condition on flows, in the words of pcap filters where these have one; docs/filters.md
/// describes the language.
///
///     filter    = factor { ( "and" | "&&" | "or" | "||" ) factor }      from left to right
///     factor    = ( "not" | "!" ) factor | "(" filter ")" | primitive
///     primitive = PROTOCOL | ( "ip" | "ip6" ) [ "multicast" ]
///               | [ "ip" | "ip6" ] "proto" ( NAME | NUMBER )
///               | [ PROTOCOL ] [ endpoint ] ( "port" | "portrange" ) ports
///               | [ "ip" | "ip6" ] [ "outer" ] [ endpoint ] ( [ "host" ] ADDRESS | "net" net )
///               | VALUE                        with the words in front of the value before it
///               | "vlan" [ NUMBER ]
///               | "tunnel" ( KIND | "any" ) | "tunnel-id" NUMBER
///               | "flags" [ "=" ] LETTERS | "reason" REASON
///               | MEASURE [ comparison ] QUANTITY
///               | ELEMENT comparison VALUE
///               | term { ( "+" | "-" ) term } comparison [ "-" ] QUANTITY
///     term      = MEASURE | ELEMENT | QUANTITY         "+" and "-" have blanks around them
///     endpoint  = "src" | "dst" | "src or dst" | "src and dst"
///     ports     = PORT [ "-" PORT ] | comparison PORT
///     net       = ADDRESS "/" BITS | ADDRESS "mask" MASK | "10" | "10.1" | "10.1.2"
class FlowFilter {
public:
    /// Matches every flow.
    FlowFilter() = default;
    /// Other words for elements, such as "distinct(sourceAddress)": the names of a table's values
    /// in its declaration, without blanks, and the elements of its records.
    using Aliases = std::map<std::string, std::string, std::less<>>;

    /// @errors  FilterError
    /// @cost    a name of a port reads the system's table of services
    explicit FlowFilter(std::string_view text, const Aliases& aliases = {});

    /// @param record  of the flow; nullptr: it has no elements
    /// @errors  FilterError: an element of the record cannot be compared with the filter's value
    [[nodiscard]] bool matches(const FlowView& flow, const IpfixRecord* record = nullptr) const {
        return tributary::matches(root_, flow, record);
    }
    [[nodiscard]] bool matches_all() const noexcept { return !given_; }
    [[nodiscard]] const FlowCondition& condition() const noexcept { return root_; }

    /// A name that stands where only an element's can.
    struct NamedElement {
        std::string name;
        std::size_t column{};  ///< in the filter

        /// What a user is told if no element has the name.
        [[nodiscard]] std::string fault() const;
    };
    [[nodiscard]] const std::vector<NamedElement>& elements() const noexcept { return elements_; }

private:
    FlowCondition root_;
    std::vector<NamedElement> elements_;
    bool given_{};
};

}  // namespace tributary
