// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "export/ipfix/record_shape.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// One field of a template: its element, and where its value comes from.
struct TemplateField {
    /// Its name in the registry of its owner, or that of its reverse element.
    const char* element;
    bool of_enterprise;  ///< its specifier in a template has an enterprise number
    bool is_key;         ///< it is a part of the flow key
    Encoding encoding;
    std::uint16_t from;          ///< offset in the record
    std::uint8_t text_octets{};  ///< of a text or an octet array: its most octets
};

/// The fields of records of one shape, in the order of the wire.
[[nodiscard]] std::vector<TemplateField> fields_of(const RecordShape& shape,
                                                   const RecordLayout& layout,
                                                   TimestampUnit timestamps,
                                                   const ElementChoice& choice = {});

}  // namespace tributary
