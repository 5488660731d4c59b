// SPDX-License-Identifier: Apache-2.0
// How a session ends, which records are lost then, and how soon a lost connection is tried again.
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "export/collector/message_collector.hpp"

namespace tributary {

bool MessageCollector::flush(ExportTime now) {
    if (gave_up_) {
        keep_for_next_process(now);
    }
    if (abandoned_ || gave_up_) {
        return true;
    }
    close_all(now);
    send_what_can_leave(now);
    if (!is_waiting() && !std::exchange(last_report_made_, true)) {
        format_->want_report();
        send_what_can_leave(now);
    }
    return !is_waiting() && !held_back_;
}

void MessageCollector::send_what_can_leave(ExportTime now) {
    pump(now);
    collect_outcomes(now);
    lose_what_failed();
    show_gauges();
}

void MessageCollector::abandon(ExportTime now) {
    settle_last(now);
    next_transport_.reset();
    if (spool_queue_.is_on()) {
        transport_ = std::make_unique<NoTransport>();
        settle_is_dead();
        follow_session();
        gave_up_ = true;
        show_gauges();
        return;
    }
    lose_all(cause_of_abandoning());
    end_transport();
}

/// Messages that have left without a refusal are not lost: no refusal can be received any more.
void MessageCollector::settle_last(ExportTime now) {
    transport_->end_now(now.uptime);
    collect_outcomes({.wall = now.wall, .uptime = now.uptime + transport_->refusal_wait()});
}

/// Ends it at once: records counted as lost must not arrive, nor their outcome be reported later.
void MessageCollector::end_transport() {
    abandoned_ = true;
    if (!is_file_) {
        transport_ = std::make_unique<NoTransport>();
    }
    settle_is_dead();
    show_gauges();
}

void MessageCollector::end_and_hand_back(const RecordBatchHandler& taker, ExportTime now) {
    settle_last(now);
    next_transport_.reset();
    end_transport();
    follow_session();
    hand_back(taker, now);
}

/// Leaves all that is here in the spool, and accounts for it.
void MessageCollector::keep_for_next_process(ExportTime now) {
    if (std::exchange(kept_for_next_process_, true)) {
        return;
    }
    close_all(now);
    spool_queue_.keep_for_next_process(
        messages_,
        [this](const OutgoingMessage& message, ExportLoss cause) {
            lose_numbers(message, name_of(cause));
        },
        now);
    show_gauges();
}

void MessageCollector::close() {
    transport_ = std::make_unique<NoTransport>();
    show_gauges();
    events_.end();
}

void MessageCollector::show_gauges() noexcept {
    account_.waiting_octets.set(messages_.octets());
    if (const std::optional<RecordNumber> next = format_->next_number()) {
        account_.numbers.set_next(*next);
    }
    account_.pace.set(pace_.rate());
    const std::chrono::nanoseconds next =
        transport_->next_try().value_or(std::chrono::nanoseconds{});
    account_.next_try.set(static_cast<std::uint64_t>(next.count()));
}

void MessageCollector::hand_back(const RecordBatchHandler& taker, ExportTime now) {
    close_all(now);
    take_back_staged();
    MessageStages::Stage messages = messages_.take_all();
    for (; !messages.empty(); messages.pop_front()) {
        lose_numbers(messages.front(), kRenumbered);
        taker(messages.front());
    }
}

void MessageCollector::leave(ExportTime now) {
    transport_->leave(now.uptime);
    collect_outcomes(now);
    follow_session();
}

void MessageCollector::log_takes_over(ExportTime now) {
    events_.report(CollectorEventKind::takes_over, now.uptime, {});
}

/// Counts a message's records as lost. The message stays where it is, without records.
void MessageCollector::lose(OutgoingMessage& message, ExportLoss cause) noexcept {
    lose_numbers(message, name_of(cause));
    accounting_.lost(account_index_, message.entries, std::exchange(message.inherited, {}), cause);
    message.entries.clear();
    message.records.clear();
}

/// Notes that the collector will not get the numbers of a message's records, if they have numbers.
void MessageCollector::lose_numbers(const OutgoingMessage& message,
                                    std::string_view cause) noexcept {
    if (message.is_made_anew() || !format_->next_number()) {
        return;
    }
    const MessageView octets =
        message.octets.empty() ? format_->open_octets(message.layout) : message.octets;
    if (octets.empty()) {  // there was no memory to close it
        account_.numbers.add_unlisted(message.entries.size());
        return;
    }
    format_->lose_numbers(octets, cause, account_.numbers);
}

void MessageCollector::lose_all(ExportLoss cause) noexcept {
    for (MessageStages::Stage* const stage : messages_.oldest_first()) {
        for (OutgoingMessage& message : *stage) {
            lose(message, cause);
            release(message);
        }
    }
    messages_.clear();
    for (OutgoingMessage& open : open_) {
        lose(open, cause);
        format_->discard(open);
    }
}

/// After a final failure no message waits here, unless another collector may take it over.
void MessageCollector::lose_what_failed() noexcept {
    settle_is_dead();
    if (transport_->failed() && !keeps_records_ && is_waiting()) {
        lose_all(ExportLoss::write_failed);
    }
}

void MessageCollector::forget_first(MessageStages::Stage& stage) noexcept {
    release(stage.front());
    messages_.drop_first(stage);
}

ExportLoss MessageCollector::cause_of_abandoning() const noexcept {
    return transport_->failed() ? ExportLoss::write_failed : ExportLoss::collector_away;
}

/// The more waits, the shorter are the pauses between tries.
void MessageCollector::look_after_pauses() noexcept {
    const bool fills =
        messages_.octets() >= buffer_ / 2 || spool_queue_.holds_messages() || older_in_spool_;
    using Patience = Transport::Patience;
    const Patience usual = fills ? Patience::pressed : Patience::usual;
    transport_->set_patience(is_ending_ ? Patience::last : usual);
}

}  // namespace tributary
