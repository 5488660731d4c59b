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
    connect_failed,     ///< TCP: no connection; tried again after a while
    connection_lost,    ///< TCP
    name_unknown,       ///< the host's name was not resolved
    refused,            ///< UDP: nobody listens there
    unreachable,        ///< UDP: the kernel cannot send now
    message_too_large,  ///< UDP: the message is lost; mtu is too large
    write_failed,       ///< file: final
    encoding_failed,    ///< libfixbuf refused a record
    takes_over,         ///< mode failover: this collector has the records from now on
    spool_used,         ///< records go to the spool
    spool_emptied,      ///< none is in it any more
    spool_full,         ///< the oldest records in it are lost
    spool_unusable,     ///< what it held is lost: made for other templates
    spool_failed,       ///< the disk refused records, or not all of it could be read
    held_back,          ///< UDP: records come faster than the pace lets them leave
    file_not_finished,  ///< file: a whole one was not synced, renamed or handed to the command
    former_file,        ///< file: what became of one that a former run has left
    spool_found,        ///< it holds records of a former run
    rotation_delayed,   ///< file: no descriptor for the next one; the one that is written goes on
    none_reached,       ///< mode failover: no collector can be reached
    ends_each,          ///< TCP: several connections in a row ended right after the first messages
    stalled,            ///< TCP: nothing of what has left was taken for Transport::kStall
    spool_works,        ///< the disk takes records again
};
inline constexpr std::size_t kCollectorEventCount = 24;

/// Whether all goes as it should, and nothing is to be done.
[[nodiscard]] constexpr bool is_good_news(CollectorEventKind kind) noexcept {
    using enum CollectorEventKind;
    return kind == connected || kind == takes_over || kind == spool_emptied ||
           kind == former_file || kind == spool_found || kind == spool_works;
}

/// What a line in the log says of an event.
[[nodiscard]] std::string_view phrase_of(CollectorEventKind kind);

/// Something that an operator wants to read in the log.
struct CollectorEvent {
    CollectorEventKind kind{};
    std::string text;  ///< one line that names the collector, or the mode
};
using CollectorEventHandler = std::function<void(const CollectorEvent&)>;

/// Name of a collector in logs: `tcp 192.0.2.1:4739`, `file flows.ipfix`.
[[nodiscard]] std::string describe(const CollectorOptions& collector);

/// Counts what happens to one collector, and hands it on as events, one line each:
///
/// * A change is told at once: another state (connected, lost, records go to the spool, it is empty
///   again), or a trouble with another cause, or one that comes again after it had ended.
/// * The same trouble with the same cause is a repetition. Repetitions are counted. So is a change
///   beyond kMostLines lines of its kind within kRepeatAfter.
/// * What was counted is told kRepeatAfter after the first line at the latest, before a line
///   of that kind or of its end, and at the end of all, in the order of the last occurrences: how
///   many times more, or how many records more were lost.
///
/// A file of a former run and a final failure are always told. That records wait for their pace is
/// told once in kRepeatAfter, without a count: it lasts.
/// @thread  the export thread
class CollectorEvents {
public:
    static constexpr std::chrono::seconds kRepeatAfter{60};
    static constexpr unsigned kMostLines = 10;

    /// @param name  that lines of the log begin with: the collector's, or the mode
    CollectorEvents(std::string name, CollectorCounters& counters, CollectorEventHandler handler);
    CollectorEvents(const CollectorOptions& collector, CollectorCounters& counters,
                    CollectorEventHandler handler)
        : CollectorEvents(describe(collector), counters, std::move(handler)) {}

    /// @param now     uptime
    /// @param detail  cause, e.g. the system's words for an errno; may be empty
    void tell(CollectorEventKind kind, std::chrono::nanoseconds now,
              std::string_view detail) noexcept {
        tell_loss(kind, now, detail, 0);
    }
    /// The same where the detail does not tell a repetition.
    ///
    /// @param is_news  it is none: the cause is another one than before
    void tell(CollectorEventKind kind, std::chrono::nanoseconds now, std::string_view detail,
              bool is_news) noexcept {
        told_of(kind).is_over = told_of(kind).is_over || is_news;
        tell_loss(kind, now, detail, 0);
    }
    /// The same of an event that has cost so many records. The line has their number before the
    /// cause, which has none.
    void tell_loss(CollectorEventKind kind, std::chrono::nanoseconds now, std::string_view detail,
                   std::uint64_t records) noexcept;
    /// Tells what was counted, when it is time.
    void advance(std::chrono::nanoseconds now) noexcept {
        if (now >= due_at_) [[unlikely]] {
            tell_counted(now);
        }
    }
    /// The end: tells what was counted.
    void end() noexcept { tell_counted({}); }
    /// Lines begin with this name from now on.
    void rename(std::string name) noexcept { name_ = std::move(name); }
    /// The line that told of a final failure; empty: there was none.
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

private:
    /// What the log has of a kind of events.
    struct Told {
        unsigned lines{};                    ///< since `since`; 0: none, or long ago
        std::chrono::nanoseconds since{};    ///< uptime
        bool is_over{};                      ///< the trouble has ended since
        std::string detail{};                ///< of the last event
        std::uint64_t counted{};             ///< events since the last line
        std::uint64_t counted_records{};     ///< lost by these
        bool has_other_details{};            ///< among these
        std::chrono::nanoseconds last_at{};  ///< uptime of the last event
    };
    void count(CollectorEventKind kind) noexcept;
    void tell_or_count(CollectorEventKind kind, std::chrono::nanoseconds now,
                       std::string_view detail, std::uint64_t records);
    void keep_count(Told& told, std::chrono::nanoseconds now, std::string_view detail,
                    std::uint64_t records) noexcept;
    void tell_counted(std::chrono::nanoseconds now) noexcept;
    [[nodiscard]] std::string words_for(CollectorEventKind kind, const Told& told) const;
    [[nodiscard]] Told& told_of(CollectorEventKind kind) noexcept {
        return told_[static_cast<std::size_t>(kind)];
    }

    std::string name_;
    CollectorCounters& counters_;
    CollectorEventHandler handler_;
    bool was_connected_{};
    std::string failure_;
    std::array<Told, kCollectorEventCount> told_{};
    std::chrono::nanoseconds due_at_ = std::chrono::nanoseconds::max();  ///< of what was counted
};

}  // namespace tributary
