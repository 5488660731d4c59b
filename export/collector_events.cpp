// SPDX-License-Identifier: Apache-2.0
#include "export/collector_events.hpp"

#include <new>
#include <utility>

namespace tributary {

std::string_view phrase_of(CollectorEventKind kind) {
    constexpr std::array<std::string_view, kCollectorEventCount> kPhrases{
        "ready",
        "no connection",
        "connection lost",
        "name not resolved",
        "nobody listens there, or it cannot be reached; what was under way is lost, and records "
        "wait",
        "unreachable, records wait",
        "message too large, its records are lost; lower mtu",
        "write failed, export ends",
        "libfixbuf refused a record, its message is lost",
        "has the records from now on",
        "records go to the spool",
        "the spool is empty again",
        "the spool is full, its oldest records are lost",
        "what the spool held is lost, because its records were made for other fields than today's",
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
        "connected, but takes nothing; messages wait"};
    return kPhrases.at(static_cast<std::size_t>(kind));
}

namespace {

bool always_told(CollectorEventKind kind) {
    return kind == CollectorEventKind::connected || kind == CollectorEventKind::connection_lost ||
           kind == CollectorEventKind::write_failed || kind == CollectorEventKind::takes_over ||
           kind == CollectorEventKind::former_file;
}

}  // namespace

std::string describe(const CollectorOptions& collector) {
    if (collector.transport == TransportKind::file) {
        return "file " + collector.path;
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
    : name_(std::move(name)), counters_(counters), handler_(std::move(handler)) {}

void CollectorEvents::tell(CollectorEventKind kind, std::chrono::nanoseconds now,
                           std::string_view detail, bool is_news) noexcept {
    count(kind);
    if (kind == CollectorEventKind::write_failed) {
        failure_ = "write failed";  // short enough for a string to hold without memory of its own
    }
    try {
        tell_others(kind, now, detail, is_news);
    } catch (const std::bad_alloc&) {
        // It is counted; a line more or less is not worth the end of the export.
    }
}

void CollectorEvents::tell_others(CollectorEventKind kind, std::chrono::nanoseconds now,
                                  std::string_view detail, bool is_news) {
    Muted& muted = muted_.at(static_cast<std::size_t>(kind));
    if (muted.told && !is_news && !always_told(kind) && now - muted.told_at < kRepeatAfter) {
        ++muted.since;
        return;
    }
    std::string text = name_ + ": " + std::string(phrase_of(kind));
    if (!detail.empty()) {
        text += " (" + std::string(detail) + ")";
    }
    if (muted.since > 0) {
        text += ", and " + std::to_string(muted.since) + " times before";
    }
    muted = {.told = true, .told_at = now};
    if (kind == CollectorEventKind::write_failed) {
        failure_ = text;
    }
    if (handler_) {
        handler_({kind, std::move(text)});
    }
}

void CollectorEvents::count(CollectorEventKind kind) noexcept {
    switch (kind) {
        case CollectorEventKind::connected:
            counters_.connected.set(1);
            counters_.reconnects.add(was_connected_ ? 1 : 0);
            was_connected_ = true;
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
            return;
        case CollectorEventKind::write_failed:
            counters_.failed.set(1);
            counters_.connected.set(0);
            break;
        case CollectorEventKind::connection_lost:
            counters_.connected.set(0);
            break;
        default:
            break;
    }
    counters_.errors.add();
}

}  // namespace tributary
