// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "export/listing/flow_filter.hpp"
#include "export/listing/flow_measure.hpp"
#include "export/messages/flow_view.hpp"

namespace tributary {

/// Unknown fields to group by.
struct GroupFieldError : FilterError {
    using FilterError::FilterError;
};

struct GroupFieldKind;

/// One field that flows are grouped by, for instance src-net/24.
struct GroupField {
    std::string name;  ///< as the user wrote it
    const GroupFieldKind* kind{};
    std::uint8_t ipv4_bits{};
    std::uint8_t ipv6_bits{};

    /// The text of a field that records do not have.
    static constexpr std::string_view kUnknown = "-";

    /// @return  its value in a flow, as text
    [[nodiscard]] std::string text(const FlowView& flow) const;
    /// Whether its values are whole numbers.
    [[nodiscard]] bool is_number() const noexcept;
};

/// @param text  names with commas between them: src-host, dst-port, src-net/24, dst-net/24/48 (the
///              bits of IPv4 and of IPv6, else 64), ...
/// @errors      GroupFieldError
[[nodiscard]] std::vector<GroupField> parse_group_fields(std::string_view text);

/// The names that parse_group_fields() accepts, for help.
[[nodiscard]] std::string group_field_names();

/// Sums of the listed counts, over the flows that have them; nothing: none has.
using CountSums = std::array<std::optional<WideCount>, kMostListedCounts>;

/// The sums over flows that agree in all fields.
struct FlowGroup {
    std::vector<std::string> values;  ///< of the fields, in their order
    std::uint64_t flows{};
    WideCount packets{};
    WideCount octets{};
    WideCount reverse_packets{};
    WideCount reverse_octets{};
    CountSums counts{};
    CountSums reverse_counts{};
    Timestamp start = Timestamp::max();  ///< of those that have times
    Timestamp end = Timestamp::min();

    void add(const FlowView& flow) noexcept;
    /// Of both directions; nothing: neither is known.
    [[nodiscard]] std::optional<WideCount> count(std::size_t place) const noexcept;
    [[nodiscard]] bool is_timed() const noexcept { return start <= end; }
    [[nodiscard]] bool has_reverse() const noexcept { return reverse_packets != 0; }
};

/// Groups flows by fields. Memory is in proportion to the groups.
/// @thread  one
class FlowGroups {
public:
    explicit FlowGroups(std::vector<GroupField> fields) : fields_(std::move(fields)) {}

    void add(const FlowView& flow);
    [[nodiscard]] const std::vector<GroupField>& fields() const noexcept { return fields_; }
    /// In the order of their values: independent of the order of the flows.
    [[nodiscard]] std::vector<const FlowGroup*> groups() const;

private:
    std::vector<GroupField> fields_;
    std::unordered_map<std::string, FlowGroup> groups_;  ///< by the values, one after the other
};

}  // namespace tributary
