// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/lost_numbers.hpp"
#include "export/metering_process.hpp"
#include "flowcache/input/input_counters.hpp"
#include "flowcache/input/kept_packet.hpp"
#include "flowcache/record/cache_counters.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Counts by name, in alphabetical order; contains every name, also at 0.
using NamedCounts = std::map<std::string, std::uint64_t, std::less<>>;

/// Flow records lost, by cause.
using LostByCause = std::map<std::string, RecordTally, std::less<>>;

/// A live queue's clock beside the host's.
struct ClockLedger {
    /// By how much the host's clock was set back and has not caught up since.
    Timestamp::duration lead{};
    std::uint64_t times_set_back{};  ///< so far that the queue's clock went back too

    /// Keeps the worse of each; over all queues the worst.
    void worsen(const ClockLedger& other) noexcept {
        lead = std::max(lead, other.lead);
        times_set_back = std::max(times_set_back, other.times_set_back);
    }
};

/// The packets and records of one queue, or the sums over all queues. After a drain always:
///
///     received = metered.packets + ignored (by reason) + filtered
///     metered  = exported + lost (by cause) + active     in records, packets and octets
struct QueueLedger {
    std::string name;  ///< input and queue, for instance "uplink/0"
    std::uint64_t received{};
    std::uint64_t filtered{};
    std::uint64_t bad_timestamp{};
    std::uint64_t frames_cut{};      ///< header announces more octets than received; live only
    std::uint64_t length_unknown{};  ///< buffer full, and the header announces no length; live only
    std::optional<ClockLedger> clock;  ///< absent offline: a capture brings its own
    /// Dropped by the NIC for this queue; nullopt: unknown, for this queue or for one of the sum.
    std::optional<std::uint64_t> nic_queue_errors{0};
    std::uint64_t unified_headers_missing{};    ///< numbered by their sender, never received
    std::uint64_t unified_headers_untracked{};  ///< of streams whose gaps are not followed
    std::uint64_t kept{};                       ///< packets that stages have kept
    std::uint64_t kept_held{};                  ///< of these, those that are not given back yet
    std::uint64_t keep_refused{};  ///< that stages wanted to keep, without a buffer for them
    NamedCounts ignored;
    std::uint64_t ignored_octets{};  ///< of all ignored packets, on the wire
    NamedCounts cut_headers;         ///< packets with this header cut on the trimmed path; metered
    NamedCounts fragments;           ///< by outcome in the FragmentTable; all metered
    /// Segments not analysed: without a whole TCP header, or counted in `tcpAnalysisOverflow` of
    /// their flows (`unjudged`); all metered.
    NamedCounts tcp_unanalysed;
    RecordTally metered;  ///< flow records created, with the packets and octets accounted to them
    RecordTally exported;
    RecordTally spooled;  ///< at the end: records in a spool, which count as active
    LostByCause lost;
    std::array<std::uint64_t, kFlowEndReasonCount> ended{};  ///< by FlowEndReason

    [[nodiscard]] std::uint64_t ignored_sum() const noexcept;
    [[nodiscard]] RecordTally lost_sum() const noexcept;
    /// Ended records by reason.
    [[nodiscard]] NamedCounts ended_by_reason() const;
    /// Records in the cache.
    [[nodiscard]] std::uint64_t in_cache() const noexcept;
    /// Records in the cache, the ring or an unsent message.
    [[nodiscard]] RecordTally active() const noexcept;

    QueueLedger& operator+=(const QueueLedger& other);
};

/// The packets and records of a table beside the main one, summed up over its parts in all queues,
/// and over all tables that had its name since the start. The queues' ledgers have none of them.
/// After a drain always:
///
///     metered = filtered + filter_not_ready + without_field + matched
///     matched = created.packets + refused (by cause)
///     created = exported + lost (by cause) + active      in records, packets and octets
struct TableLedger {
    std::string name;  ///< as the configuration has it
    /// Packets in records of the main table, which come to each table, while it is there.
    std::uint64_t metered{};
    std::uint64_t filtered{};
    std::uint64_t filter_not_ready{};  ///< came before the table's filter could decide
    std::uint64_t without_field{};     ///< ended before a field of the user's own
    std::uint64_t matched{};
    NamedCounts refused;  ///< packets that matched and are in no record, by cause
    RecordTally created;  ///< flow records, with the packets and octets in them
    RecordTally exported;
    RecordTally spooled;  ///< at the end: records in a spool, which count as active
    LostByCause lost;
    std::array<std::uint64_t, kFlowEndReasonCount> ended{};  ///< by FlowEndReason

    [[nodiscard]] std::uint64_t refused_sum() const noexcept;
    [[nodiscard]] RecordTally lost_sum() const noexcept;
    /// Ended records by reason.
    [[nodiscard]] NamedCounts ended_by_reason() const;
    /// Records in caches.
    [[nodiscard]] std::uint64_t in_cache() const noexcept;
    /// Records in caches, rings or unsent messages.
    [[nodiscard]] RecordTally active() const noexcept;

    /// Adds all but the name.
    TableLedger& operator+=(const TableLedger& other);
};

/// Copies the counters of a flow cache into `queue`. Call it after the exported and lost records
/// are read: a ledger read at full speed then never shows more records gone than created. For the
/// same reason it reads the ended records first.
void read_cache(const CacheCounters& counters, QueueLedger& queue);
/// Adds those of the flow cache that a table has in a queue; after Pipeline::read(), for the same
/// reason. The counts of its packets are for the caller to add: filtered, filter_not_ready,
/// without_field, matched.
void read_cache(const CacheCounters& counters, TableLedger& table);
/// Copies the counters of an input path into `queue`; after read_cache(), for the same reason.
void read_input(const InputCounters& counters, QueueLedger& queue);
/// Copies the counts of packets that stages keep.
void read_kept(const KeptBuffers& kept, QueueLedger& queue);

/// The account of one collector.
struct CollectorLedger {
    std::string name;  ///< transport and address
    NamedCounts counts;
    NamedCounts lost_by_cause;
    bool is_removed{};  ///< removed by a reload
    /// Of formats that number their records.
    std::optional<LostNumbers::Reading> numbers{};
    /// Of `counts`, what is of each table, by its name; empty: there is one table. Records of a
    /// former process are in none.
    std::map<std::string, NamedCounts, std::less<>> tables{};
};

/// The account of the spool that a group's collectors share:
///
///     inherited + stored = handed_over + lost (by cause) + spooled (at the end) + waiting
struct GroupSpoolLedger {
    std::uint64_t inherited{};  ///< records of a former process
    std::uint64_t stored{};     ///< records of this process
    std::uint64_t handed_over{};
    NamedCounts lost_by_cause;
    std::uint64_t spooled{};
    std::uint64_t estimated{};   ///< records among inherited and spool_damaged
    std::uint64_t octets{};      ///< on the disk
    std::uint64_t max_octets{};  ///< limit on the disk
    std::uint64_t errors{};      ///< failed writes and reads of the disk

    [[nodiscard]] std::uint64_t lost() const noexcept;
    /// 0 where the difference is negative, because the counters changed while they were read.
    [[nodiscard]] std::uint64_t waiting() const noexcept;
};

/// What the NIC of one input counts beside delivered packets. Few drivers report it per queue.
struct PortLedger {
    std::string name;
    std::optional<std::uint64_t> missed{0};  ///< no free descriptor; nullopt: unknown
    std::uint64_t no_buffer{};               ///< no free buffer in the mempool
    std::uint64_t errors{};                  ///< broken frames
};

/// What became of the frames of one queue in its recorder:
///
///     seen = kept_whole + kept_cut + left_out (by cause)
///     kept_whole + kept_cut = overwritten + held
struct RecorderQueueLedger {
    std::string name;  ///< input and queue, for instance "uplink/0"
    std::uint64_t seen{};
    std::uint64_t kept_whole{};
    std::uint64_t kept_cut{};
    NamedCounts left_out;
    std::uint64_t kept_octets{};
    std::uint64_t overwritten{};  ///< packets that were kept and are not in the ring any more
    std::uint64_t held{};         ///< packets in the ring
    /// From the oldest packet in the ring to the queue's clock, in seconds; without a packet 0.
    std::uint64_t reach{};

    [[nodiscard]] std::uint64_t left_out_sum() const noexcept;
};

/// The dumps of a recorder since the start.
struct DumpLedger {
    std::uint64_t begun{};
    std::uint64_t whole{};    ///< that were read to their end
    std::uint64_t cut_off{};  ///< whose reader left, or was too slow, or that failed
    std::uint64_t packets{};  ///< in the files of all
    std::uint64_t octets{};   ///< of these packets
    std::uint64_t
        overwritten{};  ///< packets that the dumps did not see, because they were too late
};

/// What became of the times that a trigger fired, since the start:
///
///     fired = suppressed (by cause) + files + waiting
struct TriggerLedger {
    std::string name{};
    std::uint64_t fired{};        ///< by records that began to match, and by `tributary trigger`
    NamedCounts suppressed{};     ///< nothing was written
    std::uint64_t files{};        ///< that are whole
    std::uint64_t waiting{};      ///< files that are not written yet, or being written
    std::uint64_t ended_early{};  ///< files that would have been larger than all may be together
    std::uint64_t packets{};      ///< in the files
    std::uint64_t octets{};       ///< of these packets
    std::uint64_t overwritten{};  ///< packets that dumps did not see, because they were too late
    std::uint64_t removed{};      ///< files that made room for later ones

    [[nodiscard]] std::uint64_t suppressed_sum() const noexcept;
};

/// The account of the packet recorder, and of triggers.
struct RecorderLedger {
    std::vector<RecorderQueueLedger> queues;  ///< empty: packets are read from captures
    DumpLedger dumps;
    std::vector<TriggerLedger> triggers;  ///< in the order of the configuration
};

struct Ledger {
    std::size_t captures_cut{};  ///< cut or damaged capture files
    std::vector<QueueLedger> queues;
    std::vector<PortLedger> ports;
    std::vector<CollectorLedger> collectors;
    std::optional<GroupSpoolLedger> spool{};   ///< nullopt: no group spool
    std::vector<TableLedger> tables{};         ///< beside the main one, those of former ones too
    std::optional<RecorderLedger> recorder{};  ///< nullopt: there is none

    /// The account of a table beside the main one; an empty one is added where there is none.
    [[nodiscard]] TableLedger& table(std::string_view name);
    /// Of the main table's records.
    [[nodiscard]] QueueLedger total() const;
    /// The sums; a count unknown for one port is unknown for all.
    [[nodiscard]] PortLedger all_ports() const;
};

/// The number, or "unknown".
[[nodiscard]] std::string number_text(std::optional<std::uint64_t> number);
/// The number. With an unknown rest: "unknown + " and the number, or "unknown" for 0.
[[nodiscard]] std::string part_text(std::uint64_t number, bool rest_is_unknown);
/// a + b; nullopt where one of them is unknown.
[[nodiscard]] std::optional<std::uint64_t> sum_of_known(std::optional<std::uint64_t> a,
                                                        std::optional<std::uint64_t> b);

/// The losses before the export, of all tables, for the collectors.
[[nodiscard]] PreExportLosses metering_totals(const Ledger& ledger);

/// The ledger as DESIGN 3 fixes it, indented.
[[nodiscard]] std::string to_json(const Ledger& ledger);

/// The ledger in one line for the log.
[[nodiscard]] std::string to_line(const Ledger& ledger);

/// The sums that do not add up after a drain, in one line; empty: all add up.
[[nodiscard]] std::string imbalance(const Ledger& ledger);

}  // namespace tributary
