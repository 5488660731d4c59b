// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/ipfix/ipfix_template.hpp"
#include "export/ipfix/record_shape.hpp"
#include "export/ipfix/record_template.hpp"
#include "export/listing/element_names.hpp"
#include "export/listing/flow_condition.hpp"
#include "export/listing/flow_filter.hpp"
#include "export/messages/flow_view.hpp"
#include "export/messages/sent_elements.hpp"
#include "export/options.hpp"
#include "flowcache/fields/field_element.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// Octets of a record.
struct RecordPlace {
    std::uint16_t at{};
    std::uint16_t octets{};

    friend auto operator<=>(const RecordPlace&, const RecordPlace&) = default;
};

/// Shows the records of one table as a reader of an IPFIX file sees them, so that a
/// FlowFilter has the same verdict on a record before it is exported as behind that.
///
/// @thread  one
class RecordViewer {
public:
    /// @param elements    of the table
    /// @param timestamps  as they are exported: the names of their elements follow from it
    /// @param further     of a group that records will have, and the layout lacks: for check()
    /// @errors            std::bad_alloc
    /// @cost              some milliseconds: it makes the templates of all shapes of records
    RecordViewer(const RecordLayout& layout, const TableElements& elements,
                 TimestampUnit timestamps, std::span<const FieldElement> further = {});
    RecordViewer(const RecordViewer&) = delete;
    RecordViewer& operator=(const RecordViewer&) = delete;

    /// Whether records have what a filter names, of types with which it can be compared: then
    /// FlowFilter::matches() throws nothing.
    ///
    /// @errors  FilterError: says what they do not have
    void check(const FlowFilter& filter) const;
    /// Where records have what a condition depends on and later packets may change.
    ///
    /// @return  nothing: each packet changes it
    [[nodiscard]] std::optional<std::vector<RecordPlace>> changing_places(
        const FlowCondition& condition) const;

    /// Which elements a record has: two records of the same number have the same ones.
    [[nodiscard]] std::size_t shape_of(const std::byte* record) const noexcept {
        return shapes_.index_of(record);
    }

    struct View {
        FlowView flow;
        const IpfixRecord& record;  ///< valid until the next call of view()
    };
    /// @param record  of the layout, aligned to 8
    /// @cost          some 3000 instructions; nothing allocates
    [[nodiscard]] View view(const std::byte* record) noexcept;

private:
    struct Shape {
        RecordTemplate made;
        IpfixTemplate layout;
    };

    void add_elements(const Shape& shape, std::set<const IpfixElement*>& found);
    void add_places(const Shape& shape, const std::set<std::string, std::less<>>& names,
                    std::set<RecordPlace>& places) const;

    RecordShapes shapes_;
    SentElements sent_;
    ElementNames names_;
    std::vector<IpfixElement> elements_;  ///< of all records
    std::vector<Shape> by_shape_;
    std::vector<std::byte> octets_;
    std::vector<std::span<const std::byte>> values_;
    IpfixRecord record_;
};

/// Whether it tests why a record has ended.
/// @thread  any; pure
[[nodiscard]] bool depends_on_end(const FlowCondition& condition);

}  // namespace tributary
