// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "export/ipfix/record_shape.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// How the encoder reads one value from a flow record.
enum class Encoding : std::uint8_t {
    octets1,  ///< octets1 .. octets16: as they stand in the record
    octets3,
    octets4,
    octets6,
    octets16,
    unsigned2,  ///< unsigned2 .. unsigned8: integers of so many octets
    unsigned4,
    unsigned8,
    milliseconds,
    ntp_microseconds,
    ntp_nanoseconds,
    selector,       ///< selectorId: the number of the interface
    vxlan_segment,  ///< layer2SegmentId of a VXLAN's VNI
};

/// Whether a field is part of the flow key.
enum class KeyRole : std::uint8_t { none, always, with_tunnel_in_key };

/// One field of a template: its element, and where its value comes from.
struct TemplateField {
    /// Its name in IANA's registry, kEnterpriseElements, kNtopElements or kCertElement; or the
    /// ReverseName of that.
    const char* element;
    bool of_enterprise;  ///< its specifier in a template has an enterprise number
    KeyRole key;
    Encoding encoding;
    std::uint16_t from;  ///< offset in the record
};

/// The fields of records of one shape, in the order of the wire.
[[nodiscard]] std::vector<TemplateField> fields_of(const RecordShape& shape,
                                                   const RecordLayout& layout,
                                                   TimestampUnit timestamps,
                                                   const ElementChoice& choice = {});

}  // namespace tributary
