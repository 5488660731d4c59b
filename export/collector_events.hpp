// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "export/export_counters.hpp"
#include "export/options.hpp"

namespace tributary {

enum class CollectorEventKind : std::uint8_t {
    connected,          ///< messages can be sent
    connect_failed,     ///< TCP: no connection; Kafka: no broker, or no topic. Tried again. Kafka:
                        ///< also within a session, which goes on
    connection_lost,    ///< TCP; Kafka: a record was not delivered
    name_unknown,       ///< the host's name was not resolved
    refused,            ///< UDP: no process listens there
    unreachable,        ///< UDP: the kernel cannot send now
    message_too_large,  ///< UDP: it is lost, mtu is too large; Kafka: a record is lost
    write_failed,       ///< file: final
    encoding_failed,    ///< libfixbuf refused an options record
    takes_over,         ///< mode failover: this collector has the records from now on
    spool_used,         ///< records go to the spool
    spool_emptied,      ///< none is in it any more
    spool_full,         ///< the oldest records in it are lost
    spool_unusable,  ///< its records are lost: they were made for other fields, or another format
    spool_failed,    ///< the disk refused records, or not all of it could be read
    held_back,       ///< UDP: records come faster than the pace lets them leave
    file_not_finished,  ///< file: a whole one was not synced, renamed or handed to the command
    former_file,        ///< file: the outcome of a file that a former run has left
    spool_found,        ///< it holds records of a former run
    rotation_delayed,   ///< file: no descriptor for the next one; the one that is written goes on
    none_reached,       ///< mode failover: no collector can be reached
    ends_each,          ///< TCP: several connections in a row ended right after the first messages
    stalled,            ///< TCP: the collector took nothing for Transport::kStall
    spool_works,        ///< the disk takes records again
    sent_singly,        ///< UDP: the kernel cannot send several messages as one
    reached_again,      ///< Kafka: within a session, messages can be sent again
};
inline constexpr std::size_t kCollectorEventCount = 26;

/// Whether the event needs no action.
[[nodiscard]] constexpr bool is_good_news(CollectorEventKind kind) noexcept {
    using enum CollectorEventKind;
    return kind == connected || kind == takes_over || kind == spool_emptied ||
           kind == former_file || kind == spool_found || kind == spool_works ||
           kind == sent_singly || kind == reached_again;
}

/// The words of an event in its log line.
[[nodiscard]] std::string_view phrase_of(CollectorEventKind kind);

/// An event for the operator's log.
struct CollectorEvent {
    CollectorEventKind kind{};
    std::string text;  ///< one line that names the collector, or the mode
};
using CollectorEventHandler = std::function<void(const CollectorEvent&)>;

/// Name of a collector in logs: `tcp 192.0.2.1:4739`, `file flows.ipfix`.
[[nodiscard]] std::string describe(const CollectorOptions& collector);

/// Counts the events of one collector, and logs them, one line each:
///
/// * A change is logged at once: another state (connected, lost, records go to the spool, it is
///   empty again), a failure with another cause, or a failure that comes again after it had ended.
/// * The same failure with the same cause is a repetition. Repetitions are counted. So is a change
///   beyond kMostLines lines of its kind within kRepeatAfter.
/// * Counted events are logged kRepeatAfter after the first line at the latest, before a line of
///   that kind or of its end, and at the end of all, in the order of the last occurrences: how many
///   times more, or how many records more were lost.
///
/// A file of a former run and a final failure are always logged. That records wait for their pace
/// is logged once in kRepeatAfter, without a count, because it lasts.
/// @thread  the export thread
class CollectorEvents {
public:
    static constexpr std::chrono::seconds kRepeatAfter{60};
    static constexpr unsigned kMostLines = 10;

    /// @param name  of the collector, or the mode; lines of the log begin with it
    CollectorEvents(std::string name, CollectorCounters& counters, CollectorEventHandler handler);
    CollectorEvents(const CollectorOptions& collector, CollectorCounters& counters,
                    CollectorEventHandler handler)
        : CollectorEvents(describe(collector), counters, std::move(handler)) {}

    /// @param now     uptime
    /// @param detail  cause, e.g. the system's words for an errno; may be empty
    void report(CollectorEventKind kind, std::chrono::nanoseconds now,
                std::string_view detail) noexcept {
        report_loss(kind, now, detail, 0);
    }
    /// The same for an event whose detail does not identify a repetition.
    ///
    /// @param is_news  it is no repetition: the cause is another one than before
    void report(CollectorEventKind kind, std::chrono::nanoseconds now, std::string_view detail,
                bool is_news) noexcept {
        state_of(kind).is_over = state_of(kind).is_over || is_news;
        report_loss(kind, now, detail, 0);
    }
    /// The same for an event that has lost so many records. The line has their number before the
    /// cause. The cause has none.
    void report_loss(CollectorEventKind kind, std::chrono::nanoseconds now, std::string_view detail,
                     std::uint64_t records) noexcept;
    /// Logs counted events that are due.
    void advance(std::chrono::nanoseconds now) noexcept {
        if (now >= due_at_) [[unlikely]] {
            log_counted(now);
        }
    }
    /// The end: logs all counted events.
    void end() noexcept { log_counted({}); }
    /// Lines begin with this name from now on.
    void rename(std::string name) noexcept { name_ = std::move(name); }
    /// The log line of a final failure; empty: there was none.
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

private:
    /// The state of a kind of events in the log.
    struct LogState {
        unsigned lines{};                    ///< since `since`; 0: none, or long ago
        std::chrono::nanoseconds since{};    ///< uptime
        bool is_over{};                      ///< the failure has ended since
        std::string detail{};                ///< of the last event
        std::uint64_t counted{};             ///< events since the last line
        std::uint64_t counted_records{};     ///< lost by these
        bool has_other_details{};            ///< among these
        std::chrono::nanoseconds last_at{};  ///< uptime of the last event
    };
    void count(CollectorEventKind kind) noexcept;
    void log_or_count(CollectorEventKind kind, std::chrono::nanoseconds now,
                      std::string_view detail, std::uint64_t records);
    void keep_count(LogState& state, std::chrono::nanoseconds now, std::string_view detail,
                    std::uint64_t records) noexcept;
    void log_counted(std::chrono::nanoseconds now) noexcept;
    [[nodiscard]] std::string words_for(CollectorEventKind kind, const LogState& state) const;
    [[nodiscard]] LogState& state_of(CollectorEventKind kind) noexcept {
        return states_[static_cast<std::size_t>(kind)];
    }

    std::string name_;
    CollectorCounters& counters_;
    CollectorEventHandler handler_;
    bool was_connected_{};
    std::string failure_;
    std::array<LogState, kCollectorEventCount> states_{};
    std::chrono::nanoseconds due_at_ = std::chrono::nanoseconds::max();  ///< of what was counted
};

}  // namespace tributary
