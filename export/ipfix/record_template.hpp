// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "export/ipfix/fixbuf_session.hpp"
#include "export/ipfix/record_elements.hpp"
#include "export/ipfix/template_ids.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

[[nodiscard]] std::uint16_t octets_of(Encoding encoding) noexcept;

/// An IPFIX template and the way to fill it from a record.
struct RecordTemplate {
    std::uint16_t id{};  ///< the layout's first one + shape index: the same in every run
    std::vector<TemplateField> fields;
    std::size_t record_octets{};  ///< of one data record on the wire

    /// Writes the data record as it is on the wire (RFC 7011 §3.4.3).
    ///
    /// @param record  aligned to 8
    /// @param out     at least record_octets bytes
    void write(const std::byte* record, std::byte* out) const noexcept;
};

/// The templates of a layout, in the order of RecordShape::index().
///
/// @param first_id  see first_template_ids()
[[nodiscard]] std::vector<RecordTemplate> make_templates(const RecordLayout& layout,
                                                         TimestampUnit timestamps,
                                                         const ElementChoice& choice = {},
                                                         std::uint16_t first_id = kFirstTemplateId);

/// The same templates for libfixbuf.
[[nodiscard]] std::vector<WireTemplate> wire_templates(
    const std::vector<RecordTemplate>& templates);

}  // namespace tributary
