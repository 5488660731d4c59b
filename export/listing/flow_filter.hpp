// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string_view>

#include "export/listing/flow_condition.hpp"

namespace tributary {

/// A filter that cannot be parsed; the text names the column and what was expected there.
struct FilterError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

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
///     endpoint  = "src" | "dst" | "src or dst" | "src and dst"
///     ports     = PORT [ "-" PORT ] | comparison PORT
///     net       = ADDRESS "/" BITS | ADDRESS "mask" MASK | "10" | "10.1" | "10.1.2"
class FlowFilter {
public:
    /// Matches every flow.
    FlowFilter() = default;
    /// @errors  FilterError
    /// @cost    a name of a port reads the system's table of services
    explicit FlowFilter(std::string_view text);

    [[nodiscard]] bool matches(const FlowView& flow) const {
        return tributary::matches(root_, flow);
    }
    [[nodiscard]] bool matches_all() const noexcept { return !given_; }

private:
    FlowCondition root_;
    bool given_{};
};

}  // namespace tributary
