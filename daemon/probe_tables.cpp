// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe_tables.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "conf/config_change.hpp"
#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"
#include "export/export_error.hpp"

namespace tributary {

WantedFilter wanted_filter(const TableFilter& filter) {
    return {.owner = filter.owner,
            .expression = filter.expression,
            .meanwhile = "its table counts packets as filter_not_ready"};
}

ProbeTables::ProbeTables(const Parts& parts, std::size_t first_filter) : parts_(parts) {
    for (const TableFilter& filter : parts.tables.filters()) {
        slots_[first_filter++] = filter.slot;
    }
}

std::unique_ptr<TableSet::Change> ProbeTables::prepare(const Config& wanted) {
    return parts_.tables.prepare({.declarations = wanted.tables,
                                  .own = wanted.fields,
                                  .main = wanted.flows,
                                  .parse = parts_.parse,
                                  .spreading = {.queues = parts_.pipeline.queue_count()}});
}

std::vector<std::string> ProbeTables::take_over(const TableSet::Change& change,
                                                std::vector<std::unique_ptr<PacketFilter>> filters,
                                                const ExportOptions& options) {
    const std::vector<TableFilter> wanted = TableSet::filters(change);
    std::vector<std::string> with_new_files;
    try {
        add_filters(wanted, std::move(filters));
        const Pipeline::FurtherTables further{.tables = parts_.tables.for_export(change),
                                              .records = parts_.tables.records(change)};
        with_new_files = parts_.pipeline.change_export(options, &further);
    } catch (...) {
        drop_filters(wanted);
        throw;
    }
    parts_.tables.take_over(change);  // at once: the export thread reads the new tables' rings
    stages_are_due_ = true;
    is_ending_ = true;
    pause_ = kShortestPause;
    next_look_ = {};
    return with_new_files;
}

/// Puts the filters in where the packets of their tables will be.
void ProbeTables::add_filters(const std::vector<TableFilter>& wanted,
                              std::vector<std::unique_ptr<PacketFilter>> compiled) {
    for (std::size_t place = 0; place < wanted.size(); ++place) {
        const std::size_t index = parts_.filters.next_index();
        slots_[index] = wanted[place].slot;  // before add(): drop_filters() finds it if that fails
        parts_.filters.add(wanted_filter(wanted[place]), std::move(compiled[place]));
        give_filter(index, parts_.filters.selector(index));
    }
}

void ProbeTables::begin(const TableSet::Change& change) {
    const TableNames names = TableSet::names(change);
    for (const std::string& name : names.ending) {
        if (std::erase(changing_.added, name) == 0) {  // else it has not begun yet
            changing_.ending.push_back(name);
        }
    }
    changing_.added.insert(changing_.added.end(), names.added.begin(), names.added.end());
    try {
        call_stages();
    } catch (const ThreadHangs& hang) {
        throw ThreadHangs(std::string(hang.what()) + "; tables begin and end when it does");
    }
}

/// Has each input thread call the stages of the present tables.
///
/// @errors  ThreadHangs
void ProbeTables::call_stages() {
    stages_are_due_ = true;
    if (parts_.tables.must_receive()) {
        send_stages();
        parts_.tables.switch_over();
    }
    send_stages();
    stages_are_due_ = false;
    log_change();
}

/// Names the tables that have begun, and those that have begun to end.
void ProbeTables::log_change() {
    const TableNames names = std::exchange(changing_, {});
    if (!names.ending.empty()) {
        spdlog::info("tables: the flows of {} end", listed(names.ending));
    }
    if (!names.added.empty()) {
        spdlog::info("tables: {} begins", listed(names.added));
        parts_.on_begin(names.added);
    }
}

/// @errors  ThreadHangs
void ProbeTables::send_stages() {
    for (std::size_t queue = 0; queue < parts_.pipeline.queue_count(); ++queue) {
        StageList stages = parts_.tables.stages(queue);
        parts_.add_stages(queue, stages);
        if (!parts_.pipeline.set_stages(queue, std::move(stages))) {
            throw ThreadHangs("thread " + parts_.pipeline.threads()[queue]->thread +
                              " does not answer");
        }
    }
}

void ProbeTables::end_changes() noexcept {
    try {
        if (stages_are_due_) {
            call_stages();
        }
    } catch (const std::exception& error) {  // a thread hangs, or there is no memory
        if (std::exchange(stages_are_due_, false)) {
            parts_.tables.abandon();
            spdlog::warn("{}: at the end no queue waits for what others send it", error.what());
        }
    }
}

void ProbeTables::look() {
    const auto now = std::chrono::steady_clock::now();
    if (!is_ending_ || now < next_look_) {
        return;
    }
    pause_ = std::min(2 * pause_, kLongestPause);
    try {
        const std::vector<std::size_t> ended = parts_.tables.ended();
        for (const std::size_t place : ended) {
            stages_are_due_ = parts_.tables.begin_removal(place) || stages_are_due_;
        }
        if (stages_are_due_) {
            call_stages();
        }
        bool were_some = false;
        for (const std::size_t place : ended) {
            were_some = remove(place) || were_some;
        }
        pause_ = were_some ? kShortestPause : pause_;
        is_ending_ = parts_.tables.has_ending();
    } catch (const std::exception& error) {  // a thread hangs, or there is no memory
        spdlog::debug("former tables: {}", error.what());
    }
    next_look_ = now + pause_;
}

/// Removes a table that no input thread has any more.
///
/// @return  false: records of it are still on their way, or the export refuses the change
bool ProbeTables::remove(std::size_t place) {
    if (parts_.pipeline.export_holds(place + 1)) {
        return false;
    }
    const Pipeline::FurtherTables rest{.tables = parts_.tables.for_export_without(place),
                                       .records = parts_.tables.records_without(place),
                                       .reason = ChangeReason::end_of_table};
    try {
        static_cast<void>(parts_.pipeline.change_export(parts_.pipeline.export_options(), &rest));
    } catch (const ExportError& fault) {
        spdlog::debug("former tables: {}", fault.what());
        return false;
    }
    drop_filters(parts_.tables.remove(place));
    return true;
}

/// Those of them that were added.
void ProbeTables::drop_filters(const std::vector<TableFilter>& filters) {
    for (const TableFilter& filter : filters) {
        const auto found = std::ranges::find_if(
            slots_, [&filter](const auto& each) { return each.second == filter.slot; });
        if (found != slots_.end()) {
            parts_.filters.remove(found->first);
            slots_.erase(found);
        }
    }
}

}  // namespace tributary
