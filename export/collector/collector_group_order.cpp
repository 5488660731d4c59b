// SPDX-License-Identifier: Apache-2.0
// The order of a topic's records over a reload: a former session goes before the new one.
#include <algorithm>

#include "export/collector/collector_change.hpp"
#include "export/collector/collector_group.hpp"

namespace tributary {

void CollectorGroup::keep_order_of_topics(ExportTime now) noexcept {
    if (retired_.empty() && !former_goes_first_) {
        return;
    }
    former_goes_first_ = false;
    for (Members* const members : {&members_, &retired_}) {
        for (Member& member : *members) {
            let_formers_go_first(member, now);
        }
    }
}

/// Whether a session waits for those to the same topic that were made before it and are retired.
/// It waits no longer once it could send and they have shown no life for kFormerPatience, once it
/// has no room for further records, and, at the end, once half of drain_timeout is over.
void CollectorGroup::let_formers_go_first(Member& member, ExportTime now) noexcept {
    bool has_former = false;
    std::uint64_t signs = 0;
    for (const Member& former : retired_) {
        if (former.made_by < member.made_by && share_topic(former.options, member.options)) {
            has_former = true;
            signs += former.session->signs_of_life();
        }
    }
    const bool is_alive = signs != member.former_signs || !member.session->is_up();
    if (!member.former_lived_at || is_alive) {
        member.former_lived_at = now.uptime;
    }
    member.former_signs = signs;
    const bool is_late = now.uptime - *member.former_lived_at >= kFormerPatience ||
                         (is_finishing_ && now.uptime - end_began_ >= options_.drain_timeout / 2);
    const bool goes_first = has_former && !is_late && member.session->has_room();
    member.session->let_former_go_first(goes_first);
    former_goes_first_ = former_goes_first_ || goes_first;
    if (!has_former) {
        member.former_lived_at.reset();
    }
}

}  // namespace tributary
