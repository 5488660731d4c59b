// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/template_ids.hpp"

#include <cstddef>
#include <string>

#include "export/export_error.hpp"
#include "export/ipfix/record_shape.hpp"

namespace tributary {

static_assert(kMostRecordKinds == kFurtherTemplateIds - kFirstTemplateId);

std::uint16_t first_template_id(std::size_t table, const RecordLayout& layout, std::size_t turn) {
    const std::size_t shapes = record_kinds(layout);
    const std::size_t ids = table == 0 ? kMostRecordKinds : kTemplateIdsOfPlace;
    if (shapes > ids) {
        throw ExportError("the records of a table need " + std::to_string(shapes) +
                          " template ids, and it has " + std::to_string(ids));
    }
    if (table == 0) {
        return kFirstTemplateId;
    }
    const std::size_t blocks = (shapes + kTemplateIdBlock - 1) / kTemplateIdBlock;
    const std::size_t turns = kTemplateIdsOfPlace / kTemplateIdBlock / blocks;
    return static_cast<std::uint16_t>(kFurtherTemplateIds + (table - 1) * kTemplateIdsOfPlace +
                                      turn % turns * blocks * kTemplateIdBlock);
}

}  // namespace tributary
