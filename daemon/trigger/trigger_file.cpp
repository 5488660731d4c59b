// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/trigger_file.hpp"

#include <string_view>
#include <utility>

#include "daemon/base/spdlog.hpp"

namespace tributary {

TriggerFile::TriggerFile(TriggerSet::Trigger& trigger, std::uint32_t number)
    : trigger_(trigger), number_(number), path_(trigger.files.path_of(number)), file_(path_) {}

bool TriggerFile::write(std::span<const std::byte> octets) {
    file_.write(std::string_view(reinterpret_cast<const char*>(octets.data()), octets.size()));
    return file_.error() == 0;
}

bool TriggerFile::has_room() {
    const std::uint64_t needed = file_.octets() + kMostAtATime;
    if (needed <= room_) {
        return true;
    }
    std::uint64_t removed = 0;
    const bool has_room = trigger_.files.give_room(needed - room_, removed);
    add(trigger_.armed.counters.removed, removed);
    room_ = has_room ? needed : room_;
    return has_room;
}

void TriggerFile::count(const Content& content) noexcept {
    content_.packets += content.packets;
    content_.octets += content.octets;
    content_.overwritten += content.overwritten;
}

void TriggerFile::finish(bool is_written, bool ended_early) {
    if (!is_written || !file_.finish()) {
        TriggerSet::count_failure(trigger_, file_.error(), path_);
        return;
    }
    trigger_.files.keep(number_, file_.octets(), std::exchange(room_, 0));
    TriggerCounters& counters = trigger_.armed.counters;
    add(counters.packets, content_.packets);
    add(counters.octets, content_.octets);
    add(counters.overwritten, content_.overwritten);
    TriggerSet::count_file(trigger_, ended_early);
    spdlog::info("trigger {}: wrote {} with {} packets; {} were overwritten before",
                 trigger_.armed.options.name, path_, content_.packets, content_.overwritten);
}

}  // namespace tributary
