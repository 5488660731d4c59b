// SPDX-License-Identifier: Apache-2.0
#include "export/collector_events.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

namespace tributary {

std::string_view phrase_of(CollectorEventKind kind) {
    constexpr std::array<std::string_view, kCollectorEventCount> kPhrases{
        "ready",
        "no connection",
        "connection lost",
        "name not resolved",
        "nobody listens there, or it cannot be reached; messages under way are lost, and records "
        "wait",
        "unreachable, records wait",
        "message too large, its records are lost",
        "write failed, export ends",
        "libfixbuf refused an options record, its message is lost",
        "has the records from now on",
        "records go to the spool",
        "the spool is empty again",
        "the spool is full, its oldest records are lost",
        "what the spool held is lost, because it was made for another configuration",
        "the spool failed",
        "records come faster than they may leave, and wait for the pace",
        "a file was not finished as it should be",
        "found a file of a former run",
        "the spool holds records of a former run",
        "the next file cannot be opened now, and this one goes on",
        "no collector can be reached, and records wait",
        "each connection ends right after the first messages; the collector may not understand "
        "them, or expect something else at this port (export.collectors[].profile is for "
        "collectors that need other messages)",
        "connected, but takes nothing; messages wait",
        "the spool's disk takes records again",
        "the kernel cannot send several messages as one, so each leaves alone, which takes more of "
        "the CPU",
        "ready again"};
    return kPhrases.at(static_cast<std::size_t>(kind));
}

namespace {

bool is_always_logged(CollectorEventKind kind) {
    return kind == CollectorEventKind::write_failed || kind == CollectorEventKind::former_file;
}

/// Whether each such event is a change, because its opposite lies before it.
bool is_change(CollectorEventKind kind) {
    using enum CollectorEventKind;
    return kind == connected || kind == reached_again || kind == connection_lost ||
           kind == takes_over || kind == none_reached || kind == spool_used ||
           kind == spool_emptied || kind == spool_works || kind == spool_found;
}

/// Whether the details of such events differ although the failure is the same: each names its file.
bool names_a_file(CollectorEventKind kind) { return kind == CollectorEventKind::file_not_finished; }

/// The failures that an event ends. If one of them comes again, it is a change.
std::span<const CollectorEventKind> ended_by(CollectorEventKind kind) {
    using enum CollectorEventKind;
    static constexpr std::array kByConnection{connect_failed, name_unknown, refused, unreachable};
    static constexpr std::array kByUse{spool_full};
    static constexpr std::array kByDisk{spool_failed};
    switch (kind) {
        case connected:
        case reached_again:
            return kByConnection;
        case spool_used:
        case spool_emptied:
            return kByUse;
        case spool_works:
            return kByDisk;
        default:
            return {};
    }
}

/// Whether counted events of one kind must be logged before an event of the other, because the
/// order of the lines would mislead otherwise.
bool is_related(CollectorEventKind kind, CollectorEventKind counted) {
    return kind == counted || (is_change(kind) && is_change(counted)) ||
           std::ranges::count(ended_by(kind), counted) > 0;
}

/// The kind with counted events whose last event is the oldest; nullptr: no kind has any.
template <class LogState, std::size_t count>
LogState* first_counted(std::array<LogState, count>& all) noexcept {
    LogState* first = nullptr;
    for (LogState& state : all) {
        if (state.counted > 0 && (first == nullptr || state.last_at < first->last_at)) {
            first = &state;
        }
    }
    return first;
}

}  // namespace

std::string describe(const CollectorOptions& collector) {
    if (collector.transport == TransportKind::file) {
        return "file " + collector.path;
    }
    if (collector.transport == TransportKind::kafka) {
        return "kafka " + collector.kafka.brokers + " topic " + collector.kafka.topic;
    }
    const char* const transport = collector.transport == TransportKind::tls   ? "tls "
                                  : collector.transport == TransportKind::tcp ? "tcp "
                                                                              : "udp ";
    const bool bare_ipv6 = collector.host.find(':') != std::string::npos;
    return std::string(transport) + (bare_ipv6 ? "[" + collector.host + "]" : collector.host) +
           ":" + std::to_string(collector.port);
}

CollectorEvents::CollectorEvents(std::string name, CollectorCounters& counters,
                                 CollectorEventHandler handler)
    : name_(std::move(name)), counters_(counters), handler_(std::move(handler)) {
    if (!handler_) {
        handler_ = [](const CollectorEvent&) {};
    }
}

void CollectorEvents::report_loss(CollectorEventKind kind, std::chrono::nanoseconds now,
                                  std::string_view detail, std::uint64_t records) noexcept {
    count(kind);
    if (kind == CollectorEventKind::write_failed) {
        failure_ = "write failed";  // short enough for a string to hold without memory of its own
    }
    try {
        log_or_count(kind, now, detail, records);
    } catch (const std::bad_alloc&) {
        keep_count(state_of(kind), now, detail, records);  // logged when there is memory
    }
}

void CollectorEvents::log_or_count(CollectorEventKind kind, std::chrono::nanoseconds now,
                                   std::string_view detail, std::uint64_t records) {
    advance(now);
    LogState& state = state_of(kind);
    if (state.counted == 0 && now - state.since >= kRepeatAfter) {
        state.lines = 0;
    }
    const bool is_same = state.detail == detail || names_a_file(kind);
    const bool is_repetition = !is_change(kind) && !state.is_over && is_same;
    if (state.lines > 0 && kind == CollectorEventKind::held_back) {
        return;
    }
    if (state.lines > 0 && (is_repetition || state.lines >= kMostLines) &&
        !is_always_logged(kind)) {
        keep_count(state, now, detail, records);
        return;
    }
    LogState next{.lines = state.lines + 1,
                  .since = state.lines > 0 ? state.since : now,
                  .detail = std::string(detail),
                  .counted_records = records,
                  .last_at = now};
    std::string text = words_for(kind, next);
    next.counted_records = 0;
    if (kind == CollectorEventKind::write_failed) {
        failure_ = text;
    }
    const bool counted_comes_first = std::ranges::any_of(states_, [&](const LogState& each) {
        const auto counted = static_cast<CollectorEventKind>(&each - states_.data());
        return each.counted > 0 && is_related(kind, counted);
    });
    if (counted_comes_first) {
        log_counted(now);
    }
    next.lines = state.lines + 1;  // with the line of the counted events
    state = std::move(next);
    for (const CollectorEventKind ended : ended_by(kind)) {
        state_of(ended).is_over = true;
    }
    handler_({kind, std::move(text)});
}

/// If there is no memory for the cause, the line has the last cause that there was memory for.
void CollectorEvents::keep_count(LogState& state, std::chrono::nanoseconds now,
                                 std::string_view detail, std::uint64_t records) noexcept {
    if (state.lines == 0 && state.counted == 0) {
        state.since = now;
    }
    if (state.detail != detail) {
        const auto kind = static_cast<CollectorEventKind>(&state - states_.data());
        state.has_other_details = state.lines > 0 && !names_a_file(kind);
        try {
            state.detail = detail;
        } catch (const std::bad_alloc&) {
            state.has_other_details = true;
        }
    }
    ++state.counted;
    state.counted_records += records;
    state.last_at = now;
    due_at_ = std::min(due_at_, state.since + kRepeatAfter);
}

/// Logs all that was counted, the last event last, so that the last line is the present state.
/// Lines without memory are logged a minute later.
void CollectorEvents::log_counted(std::chrono::nanoseconds now) noexcept {
    due_at_ = std::chrono::nanoseconds::max();
    for (LogState* first = first_counted(states_); first != nullptr;
         first = first_counted(states_)) {
        const auto kind = static_cast<CollectorEventKind>(first - states_.data());
        try {
            handler_({kind, words_for(kind, *first)});
        } catch (const std::bad_alloc&) {
            due_at_ = now + kRepeatAfter;
            return;
        }
        const bool begins_anew = now - first->since >= kRepeatAfter;
        *first = {.lines = begins_anew ? 1 : first->lines + 1,
                  .since = begins_anew ? now : first->since,
                  .detail = std::move(first->detail),
                  .last_at = first->last_at};
    }
}

/// The line of an event, or, where events were counted, of these. The first of them may not have
/// been logged.
std::string CollectorEvents::words_for(CollectorEventKind kind, const LogState& state) const {
    std::string cause;
    if (state.counted_records > 0) {
        cause = std::to_string(state.counted_records) +
                (state.counted > 0 && state.lines > 0 ? " records more" : " records");
    }
    if (!state.detail.empty()) {
        cause += (cause.empty() ? "" : "; ") + state.detail;
    }
    std::string text = name_ + ": " + std::string(phrase_of(kind));
    if (!cause.empty()) {
        text += " (" + cause + ")";
    }
    const std::uint64_t first = state.lines == 0 && state.counted > 0 ? 1 : 0;
    const std::uint64_t more = state.counted - first;
    if (more > 0 && state.counted_records == 0) {
        text += more == 1 ? ", once more" : ", " + std::to_string(more) + " times more";
        text += state.has_other_details ? ", also for other causes" : "";
    }
    return text;
}

void CollectorEvents::count(CollectorEventKind kind) noexcept {
    switch (kind) {
        case CollectorEventKind::connected:
            counters_.connected.set(1);
            counters_.reconnects.add(was_connected_ ? 1 : 0);
            was_connected_ = true;
            return;
        case CollectorEventKind::reached_again:
            counters_.connected.set(1);
            return;
        case CollectorEventKind::refused:
            counters_.refused.add();
            counters_.connected.set(0);
            return;
        case CollectorEventKind::takes_over:
        case CollectorEventKind::none_reached:
        case CollectorEventKind::spool_used:
        case CollectorEventKind::spool_emptied:
        case CollectorEventKind::spool_full:
        case CollectorEventKind::held_back:
        case CollectorEventKind::ends_each:  // each of them is counted as lost
        case CollectorEventKind::former_file:
        case CollectorEventKind::spool_found:
        case CollectorEventKind::spool_works:
        case CollectorEventKind::sent_singly:
            return;
        case CollectorEventKind::write_failed:
            counters_.failed.set(1);
            counters_.connected.set(0);
            break;
        case CollectorEventKind::connect_failed:
        case CollectorEventKind::connection_lost:
            counters_.connected.set(0);
            break;
        default:
            break;
    }
    counters_.errors.add();
}

}  // namespace tributary
