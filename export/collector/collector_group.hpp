// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "export/collector/collector.hpp"
#include "export/collector/group_spool.hpp"
#include "export/flow_share.hpp"
#include "export/record_accounting.hpp"
#include "export/taken_tables.hpp"

namespace tributary {

/// Why the options or tables of an export change.
enum class ChangeReason : std::uint8_t {
    reload,
    end_of_table,  ///< the last record of a table has left; nothing else changes
};

/// The collectors of an export, and which of them gets which record. A record goes only to those
/// that take its table (CollectorOptions::tables), the takers:
///
///     copy      all takers. What one cannot take while another can is lost to that one alone.
///     balance   one of the takers, by the flow's key in its table: both directions of a
///               conversation, and all their records, have the same.
///     failover  the first in order that can send. When a connection is lost, records that have not
///               arrived there go to the collector that has the records then. A collector that
///               takes nothing for Transport::kStall is left while another one can send. While none
///               can send, records go to the group's spool, if there is one. At the start the first
///               one has kStartUp to be reached, and at the end no more than half of drain_timeout:
///               so another one has the other half. All collectors take the same tables, so that
///               each can have the records of any other one; change() refuses others.
///
/// An absent collector never delays another one. Only while no taker of a table can take records,
/// and no spool does, the records of this table wait where they are; those of other tables go on. A
/// record whose table no collector takes does not wait: it is lost at once, as no_collector. A
/// collector that has failed for good is treated as if it were not in the list, but keeps its own
/// account.
/// @thread  the export thread
class CollectorGroup {
public:
    /// A collector that takes a little now and then has this many drain timeouts in all.
    static constexpr int kSlowestDrain = 10;
    /// Failover: time for the first collector to be reached for the first time.
    static constexpr std::chrono::seconds kStartUp{3};
    /// A new session to a topic sends nothing for so long after the last sign of life of a former
    /// one that a reload has retired, and that still has records: those of a flow stay in order.
    static constexpr std::chrono::seconds kFormerPatience{5};
    /// Sessions that end at the same time; each may have a buffer of records.
    static constexpr std::size_t kMostRetired = 16;

    /// @param counters  outlive the group; the collectors' accounts are the first ones
    /// @param factory   makes the collectors
    /// @errors  ExportError
    CollectorGroup(const ExportOptions& options, const MeteringProcess& metering,
                   ExportCounters& counters, CollectorEventHandler handler,
                   CollectorFactory factory = make_collector);

    /// Records go to other collectors, or in another way, from now on. A collector for which
    /// nothing changes, or nothing but the tables that it takes, goes on with its session. The
    /// records of a table that it takes no more, and that wait for it, are still sent. So are those
    /// in a spool, and in mode failover those that one collector has left to another. Other
    /// sessions are retired: records on their way are still sent, and given up as finish() does.
    /// But while the collector's account is still in use, the session waits for the collector
    /// without a limit.
    ///
    /// Other tables take their places in all sessions, present and retired, which go on. A table
    /// that ends, and that the options need not name any more, keeps those that took it.
    ///
    /// @param options   of the same layout
    /// @param accounts  of options.collectors, in their order
    /// @param further   the further tables from now on, by place, with no fewer places than before;
    ///                  nullptr: they stay. A table that goes must not be here any more: holds()
    /// @param reason    an `end_of_table` reads no TLS files anew, whatever has become of them
    /// @return  names of collectors that go on, and whose TLS files have changed: they were read
    ///          anew, and connections that begin from now on use them
    /// @errors  ExportError: nothing has changed. A file or spool in use by a collector can't be
    ///          used by another one, nor by itself with other options, until it is retired. TLS
    ///          files that have changed must be good. A collector with a spool, or whose files are
    ///          rotated, goes on in its session with other limits and, with a spool, at another
    ///          address; else it stays to the end. A collector names a table that there is not, or
    ///          whose records do not fit its messages; in mode failover, collectors take different
    ///          tables. A table that goes is still here.
    std::vector<std::string> change(const ExportOptions& options,
                                    std::span<const std::size_t> accounts,
                                    const std::vector<FurtherTable>* further = nullptr,
                                    ChangeReason reason = ChangeReason::reload);
    /// Whether records of a table may be on their way to a present or retired collector. Where a
    /// spool has records of any table, those of this one may be among them.
    ///
    /// @param table  its index
    [[nodiscard]] bool holds(std::size_t table) const noexcept;
    /// Whether something may still be on its way to a retired collector.
    [[nodiscard]] bool is_retiring() const noexcept { return !retired_.empty(); }

    /// Connects to absent collectors at once.
    void try_now() noexcept;
    /// Does all that is due, by time or by the collectors.
    void advance(ExportTime now);
    /// Whether add() can take a record of a table: for a collector, for the spool, or to be counted
    /// as lost because every taker has failed, or there is none.
    ///
    /// @param table  its index in MeteringProcess
    [[nodiscard]] bool ready(std::size_t table) const noexcept;
    /// Where a record comes from.
    struct Origin {
        std::size_t queue{};
        std::size_t layout{};  ///< of the record, and so its table: the index in MeteringProcess
    };
    /// @param record  aligned to 8
    /// @return  false: it was not taken, and the caller keeps it
    [[nodiscard]] bool add(const std::byte* record, Origin origin, ExportTime now);
    /// Sends what is left, once no more records come, or gives up collectors that have taken
    /// nothing for drain_timeout. What is left for these is lost, unless another collector of mode
    /// failover can be reached: it has drain_timeout for it. Call it again and again from the
    /// beginning of the end.
    ///
    /// @param drained  nothing more will be added
    /// @return         nothing is left here, and every record is accounted for
    [[nodiscard]] bool finish(ExportTime now, bool drained);
    /// The end waits for no collector any more: records that it does not take at once are given up.
    void end_now() noexcept;

    /// Whether messages of a collector wait for their pace.
    [[nodiscard]] bool is_held_back() const noexcept;
    /// The end, after finish(): closes connections and files. May wait for files to be finished.
    void close();

    /// Grows with every message that arrives.
    [[nodiscard]] std::uint64_t progress() const noexcept;
    /// The log line of a final failure of all collectors; empty: at least one can still be written
    /// to.
    [[nodiscard]] std::string error() const;

private:
    struct Member {
        std::unique_ptr<Collector> session;
        CollectorOptions options;
        std::size_t account{};
        TakenTables tables{};
        /// For take_over(): the member whose session goes on; nothing: the session is new.
        std::optional<std::size_t> former{};
        std::unique_ptr<CollectorChange> change{};             ///< of that session; or nullptr
        std::optional<std::chrono::nanoseconds> ends_since{};  ///< uptime
        std::uint64_t signs_of_life{};                         ///< as last seen at its end
        std::chrono::nanoseconds progress_at{};
        std::uint64_t made_by{};  ///< the number of the change that has made its session
        /// Uptime of the last sign of life of former sessions to the same topic, while there are
        /// some; and these signs.
        std::optional<std::chrono::nanoseconds> former_lived_at{};
        std::uint64_t former_signs{};
    };
    using Members = std::vector<Member>;
    /// The indexes of the members that take a table, by table.
    using Takers = std::vector<std::vector<std::size_t>>;

    [[nodiscard]] Collector& session(std::size_t index) const noexcept {
        return *members_[index].session;
    }
    /// The tables, and what follows from them.
    struct Tables {
        explicit Tables(MeteringProcess process);
        /// From now on all that are there stay.
        void keep_all() noexcept;

        MeteringProcess metering;
        std::vector<RecordLayout> layouts;   ///< by index
        std::vector<std::string> names;      ///< likewise
        std::vector<FlowShare> flow_shares;  ///< likewise
        TakenTables staying{};               ///< of a change: those that were there before
    };
    /// The parts of a change that concern tables.
    struct TableChanges {
        /// By session, present and retired.
        std::vector<std::pair<Collector*, std::unique_ptr<CollectorTables>>> sessions{};
        std::unique_ptr<GroupSpool::Tables> spool{};
    };

    [[nodiscard]] static Takers takers_among(const Members& members, std::size_t tables);
    [[nodiscard]] Tables next_tables(const std::vector<FurtherTable>* further) const;
    void keep_ending(Members& wanted, const Tables& tables) const;
    [[nodiscard]] TakenTables taken_by(std::size_t account) const noexcept;
    [[nodiscard]] TableChanges prepare_tables(const Members& wanted, const Tables& tables) const;
    [[nodiscard]] static std::size_t most_copies(ExportMode mode, const Takers& takers) noexcept;
    template <class IsGood>
    [[nodiscard]] std::size_t first(IsGood is_good) const;
    [[nodiscard]] std::optional<std::uint64_t> begin_record(Origin origin, const RecordTally& tally,
                                                            std::size_t copies) noexcept;
    void lose_unbegun(Origin origin, const RecordTally& record) noexcept;
    void add_to(std::size_t index, const RecordToSend& record, ExportTime now);
    [[nodiscard]] std::size_t share_of(const std::byte* record, std::size_t table) const noexcept;
    [[nodiscard]] std::size_t record_bytes(std::size_t layout) const noexcept {
        return record_size(tables_.layouts[layout]);
    }
    void leave_stalled(ExportTime now);
    void choose_active(ExportTime now);
    void show_standby() noexcept;
    void log_change(ExportTime now);
    [[nodiscard]] std::size_t best_member(ExportTime now);
    [[nodiscard]] bool choose_for_record(std::size_t layout, ExportTime now);
    [[nodiscard]] bool is_for_spool(ExportTime now) const noexcept;
    [[nodiscard]] bool has_had_time(ExportTime now) const noexcept;
    void begin_end(ExportTime now);
    void add_to_active(const RecordToSend& record, ExportTime now);
    [[nodiscard]] bool write_to_spool(ExportTime now);
    [[nodiscard]] bool copies_are_due(ExportTime now) const noexcept;
    void look_after_spool(ExportTime now);
    void send_from_spool(ExportTime now);
    [[nodiscard]] bool spool_goes_on(ExportTime now);
    [[nodiscard]] std::uint64_t signs_of_life() const noexcept;
    void abandon(Collector& session, ExportTime now);
    [[nodiscard]] Member* successor_of(const Collector& session) noexcept;
    void rescue(Collector& from, ExportTime now);
    void give(const RecordBatch& batch, Collector& to, ExportTime now);
    [[nodiscard]] bool waits_for_pace(const Member& member) const noexcept;
    [[nodiscard]] bool end_member(Member& member, bool drained, ExportTime now);
    [[nodiscard]] bool has_failed_to_end(Member& member, bool drained, ExportTime now) const;
    void retire_some(ExportTime now);
    void keep_order_of_topics(ExportTime now) noexcept;
    void let_formers_go_first(Member& member, ExportTime now) noexcept;
    [[nodiscard]] bool has_account(std::size_t account) const noexcept;
    void show_state(std::size_t account) noexcept;
    [[nodiscard]] static Members members_for(const ExportOptions& options,
                                             std::span<const std::size_t> accounts,
                                             const Tables& tables);
    void check_tables(const Members& wanted, ExportMode mode) const;
    void find_formers(Members& wanted) const;
    template <class AreSo>
    void find_formers(Members& wanted, AreSo are_so) const;
    [[nodiscard]] std::vector<std::string> prepare_changes(Members& wanted) const;
    void carry_out_changes(Members& wanted) const noexcept;
    void refuse_end(const Member& member, const ExportOptions& wanted, bool all_anew) const;
    void begin_sessions(Members& wanted, const ExportOptions& options, const Tables& tables,
                        bool of_files);
    void take_over(Members wanted) noexcept;
    void take_over(TableChanges changes) noexcept;
    void refuse_shared_place(const CollectorOptions& collector) const;

    ExportOptions options_;
    Tables tables_;
    CollectorEventHandler handler_;
    CollectorFactory factory_;
    RecordAccounting accounting_;
    GroupSpool spool_;  ///< outlives the sessions, whose messages have places in it
    Members members_;
    Takers takers_;
    Members retired_;
    std::uint64_t changes_{};   ///< made by change()
    bool former_goes_first_{};  ///< a session sends nothing because of a retired one
    std::size_t active_ = 0;    ///< failover: the collector that gets the records
    /// Failover: the last collector in the log; nothing: the last line was that none is reached.
    std::optional<std::size_t> logged_active_ = 0;
    bool was_up_{};                         ///< failover: a collector was reached before
    bool is_for_spool_{};                   ///< failover: new records go to the spool
    bool spool_gave_up_{};                  ///< the end: nothing more is sent from it
    std::chrono::nanoseconds copied_at_{};  ///< uptime of the last try to write to the spool
    std::optional<std::chrono::nanoseconds> spool_ends_since_;  ///< uptime
    std::chrono::nanoseconds spool_progress_at_{};
    std::uint64_t spool_signs_{};  ///< of life, as last seen at its end
    bool is_finishing_{};
    bool ends_now_{};  ///< the end does not wait for a pace either
    std::optional<std::chrono::nanoseconds> began_;
    std::chrono::nanoseconds end_began_{};  ///< uptime, once is_finishing_
    bool was_handed_on_{};  ///< the end: what a collector did not get, in this call of finish()
};

}  // namespace tributary
