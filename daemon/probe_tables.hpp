// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "daemon/filter/packet_filter.hpp"
#include "daemon/pipeline/live_flows.hpp"
#include "daemon/pipeline/pipeline.hpp"
#include "daemon/probe_filters.hpp"
#include "daemon/table/table_set.hpp"

namespace tributary {

/// The declared tables of a running probe, as reloads change them.
///
///     prepare()    makes the new tables, whose filters are compiled then; nothing has changed
///     take_over()  adds their filters, has the export take them, which it may refuse, and keeps
///                  them
///     begin()      the input threads call the new tables, and end the flows of former ones, whose
///                  last records have reason forced_end
///     look()       a former table goes when its last record has left the export
///
/// @thread  main, but where it says any
class ProbeTables {
public:
    /// All outlive this.
    struct Parts {
        TableSet& tables;
        ProbeFilters& filters;
        Pipeline& pipeline;
        ParseOptions parse;  ///< of the packets that come to tables
        /// Adds the stages of a queue that are not of tables.
        std::function<void(std::size_t queue, StageList& stages)> add_stages;
        /// Called with the names of tables that have begun.
        std::function<void(const std::vector<std::string>& names)> on_begin;
    };
    /// @param first_filter  the index of the first filter of TableSet::filters() in `filters`; the
    ///                      others follow it
    ProbeTables(const Parts& parts, std::size_t first_filter);

    /// @return  nullptr: no table comes, goes or changes, timeouts apart
    /// @errors  as of TableSet::prepare()
    [[nodiscard]] std::unique_ptr<TableSet::Change> prepare(const Config& wanted);
    /// Has the export take the new tables, and keeps them. From then on nothing of the change fails
    /// but what look() tries again.
    ///
    /// @param filters  compiled, of TableSet::filters(change)
    /// @param options  of the export from the change on
    /// @return         as of Pipeline::change_export()
    /// @errors         as of Pipeline::change_export(), std::bad_alloc: nothing has changed
    std::vector<std::string> take_over(const TableSet::Change& change,
                                       std::vector<std::unique_ptr<PacketFilter>> filters,
                                       const ExportOptions& options);
    /// Begins the change that was taken over.
    ///
    /// @errors  ThreadHangs, std::bad_alloc: look() tries again
    void begin(const TableSet::Change& change);

    /// Before the input threads end, and before Pipeline::close_mailboxes(): has all of them call
    /// the same tables, if one did not answer when a reload asked it to. Where that fails, no queue
    /// waits for what another one sends (TableSet::refuse_rest()). Does nothing the second time.
    void end_changes() noexcept;
    /// Removes former tables that have nothing left.
    ///
    /// @errors  none: what fails is tried again
    void look();
    /// Whether look() has something to do before long.
    [[nodiscard]] bool is_ending() const noexcept { return is_ending_; }
    /// How long until then, at the most.
    [[nodiscard]] std::chrono::milliseconds pause() const noexcept { return pause_; }

    /// Puts a filter in where the packets of its table are.
    ///
    /// @param index  in `filters`
    void give_filter(std::size_t index, PacketSelector* filter) { slots_.at(index)->set(filter); }
    /// @thread  any
    [[nodiscard]] std::vector<LiveTable> live() const { return parts_.tables.live(); }

private:
    static constexpr std::chrono::milliseconds kShortestPause{20};
    static constexpr std::chrono::milliseconds kLongestPause{1000};

    void call_stages();
    void send_stages();
    void log_change();
    [[nodiscard]] bool remove(std::size_t place);
    void add_filters(const std::vector<TableFilter>& wanted,
                     std::vector<std::unique_ptr<PacketFilter>> compiled);
    void drop_filters(const std::vector<TableFilter>& filters);

    Parts parts_;
    std::map<std::size_t, FilterSlot*> slots_;  ///< by the filter's index
    TableNames changing_;          ///< that begin or end when all input threads call their stages
    bool stages_are_due_ = false;  ///< an input thread may not call all of them yet
    bool is_ending_ = false;
    std::chrono::milliseconds pause_ = kShortestPause;
    std::chrono::steady_clock::time_point next_look_{};
};

/// How the filter of a table is named in messages, and what becomes of packets before it is ready.
[[nodiscard]] WantedFilter wanted_filter(const TableFilter& filter);

}  // namespace tributary
