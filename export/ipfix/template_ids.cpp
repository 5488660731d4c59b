// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/template_ids.hpp"

#include <cstddef>
#include <string>

#include "export/export_error.hpp"
#include "export/ipfix/record_shape.hpp"

namespace tributary {

static_assert(kMostRecordKinds == kFurtherTemplateIds - kFirstTemplateId);

std::vector<std::uint16_t> first_template_ids(std::span<const RecordLayout> layouts) {
    std::vector<std::uint16_t> first;
    std::size_t next = kFirstTemplateId;
    std::size_t end = kFurtherTemplateIds;
    for (const RecordLayout& layout : layouts) {
        const std::size_t shapes = record_kinds(layout);
        if (shapes > end - next) {
            throw ExportError("the records of " + std::to_string(layouts.size()) +
                              " tables need more template ids than there are");
        }
        first.push_back(static_cast<std::uint16_t>(next));
        const std::size_t blocks = (shapes + kTemplateIdBlock - 1) / kTemplateIdBlock;
        next = first.size() == 1 ? kFurtherTemplateIds : next + blocks * kTemplateIdBlock;
        end = kEndOfTemplateIds;
    }
    return first;
}

}  // namespace tributary
