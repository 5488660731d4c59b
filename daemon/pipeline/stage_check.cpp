// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/stage_check.hpp"

#include <fmt/format.h>
#include <sysexits.h>

#include <memory>

#include "daemon/base/startup_error.hpp"
#include "flowcache/running_flows.hpp"

namespace tributary {

void check_stages(const StageList& stages, const StageRoom& room) {
    for (const std::unique_ptr<BurstStage>& stage : stages.stages()) {
        const StageNeeds& needs = stage->needs();
        if (!room.has_octets && (needs.octets || needs.kept > 0)) {
            throw StartupError(
                EX_CONFIG,
                fmt::format("queue {}: {} needs the octets of packets, and unified headers bring "
                            "none; set its input's parse to full or trimmed",
                            room.queue, needs.name));
        }
    }
    if (stages.need_flows() > RunningFlows::kMostHolders) {
        throw StartupError(
            EX_CONFIG,
            fmt::format("queue {}: {} of its stages need flows, and at most {} of one queue can",
                        room.queue, stages.need_flows(), RunningFlows::kMostHolders));
    }
    if (stages.kept() > room.kept) {
        throw StartupError(
            EX_CONFIG, fmt::format("queue {}: its stages keep up to {} packet buffers at a time, "
                                   "and it started with {} for them; a restart makes more",
                                   room.queue, stages.kept(), room.kept));
    }
}

}  // namespace tributary
