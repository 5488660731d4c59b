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
};
inline constexpr std::size_t kCollectorEventCount = 23;

/// Whether all goes as it should, and nothing is to be done.
[[nodiscard]] constexpr bool is_good_news(CollectorEventKind kind) noexcept {
    using enum CollectorEventKind;
    return kind == connected || kind == takes_over || kind == spool_emptied ||
           kind == former_file || kind == spool_found;
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

/// Counts what happens to one collector, and hands it on as events: whatever is good news or ends
/// something at once, other kinds at most once per kRepeatAfter, with the number of those in
/// between.
/// @thread  the export thread
class CollectorEvents {
public:
    static constexpr std::chrono::seconds kRepeatAfter{60};

    /// @param name  that lines of the log begin with: the collector's, or the mode
    CollectorEvents(std::string name, CollectorCounters& counters, CollectorEventHandler handler);
    CollectorEvents(const CollectorOptions& collector, CollectorCounters& counters,
                    CollectorEventHandler handler)
        : CollectorEvents(describe(collector), counters, std::move(handler)) {}

    /// @param now      uptime
    /// @param detail   cause, e.g. the system's words for an errno; may be empty
    /// @param is_news  handed on also when it repeats: the cause is another one than before
    void tell(CollectorEventKind kind, std::chrono::nanoseconds now, std::string_view detail,
              bool is_news = false) noexcept;
    /// Lines begin with this name from now on.
    void rename(std::string name) noexcept { name_ = std::move(name); }
    /// The line that told of a final failure; empty: there was none.
    [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

private:
    struct Muted {
        bool told{};
        std::chrono::nanoseconds told_at{};
        std::uint64_t since{};
    };
    void count(CollectorEventKind kind) noexcept;
    void tell_others(CollectorEventKind kind, std::chrono::nanoseconds now, std::string_view detail,
                     bool is_news);

    std::string name_;
    CollectorCounters& counters_;
    CollectorEventHandler handler_;
    bool was_connected_{};
    std::string failure_;
    std::array<Muted, kCollectorEventCount> muted_{};
};

}  // namespace tributary
