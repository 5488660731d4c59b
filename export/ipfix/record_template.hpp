// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "export/ipfix/fixbuf_session.hpp"
#include "export/ipfix/record_elements.hpp"
#include "export/ipfix/template_ids.hpp"
#include "export/message.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// An IPFIX template and the way to fill it from a record.
struct RecordTemplate {
    std::uint16_t id{};  ///< the layout's first one + shape index: the same in every run
    std::vector<TemplateField> fields;
    std::size_t record_octets{};  ///< of a data record on the wire whose texts are empty
    std::size_t text_octets{};    ///< most octets of its texts

    /// Of a record's data record on the wire.
    [[nodiscard]] std::size_t octets_of(const std::byte* record) const noexcept {
        return text_octets != 0 ? octets_with_text(record) : record_octets;
    }
    /// Of the data record at the front of some octets of a set.
    ///
    /// @return  nothing: they are no whole record
    [[nodiscard]] std::optional<std::size_t> octets_at(MessageView records) const noexcept;

    /// Writes the data record as it is on the wire (RFC 7011 §3.4.3).
    ///
    /// @param record  aligned to 8
    /// @param out     at least octets_of(record) bytes
    void write(const std::byte* record, std::byte* out) const noexcept;

private:
    [[nodiscard]] std::size_t octets_with_text(const std::byte* record) const noexcept;
};

/// The templates of a layout, in the order of RecordShapes.
///
/// @param first_id  see first_template_id()
[[nodiscard]] std::vector<RecordTemplate> make_templates(const RecordLayout& layout,
                                                         TimestampUnit timestamps,
                                                         const ElementChoice& choice = {},
                                                         std::uint16_t first_id = kFirstTemplateId);

/// The same templates for libfixbuf.
[[nodiscard]] std::vector<WireTemplate> wire_templates(
    const std::vector<RecordTemplate>& templates);

}  // namespace tributary
