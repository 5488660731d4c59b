// SPDX-License-Identifier: Apache-2.0
#include "export/collector_session.hpp"

#include <array>
#include <utility>

namespace tributary {
namespace {

/// What the collector wants otherwise than the others.
ExportOptions options_for(const ExportOptions& options, const CollectorOptions& collector) {
    ExportOptions own = options;
    own.observation_domain = collector.observation_domain.value_or(options.observation_domain);
    own.timestamps = collector.timestamps.value_or(options.timestamps);
    return own;
}

}  // namespace

CollectorSession::CollectorSession(const ExportOptions& options, const RecordLayout& layout,
                                   ExportCounters& counters, DeliveryBook& book, std::size_t index,
                                   CollectorEventHandler handler)
    : book_(book),
      index_(index),
      account_(counters.collectors.at(index)),
      events_(options.collectors.at(index), account_, std::move(handler)),
      transport_(make_transport(options.collectors[index], events_)),
      encoder_(options_for(options, options.collectors[index]), layout,
               message_limit(options.collectors[index])),
      record_bytes_(options.mode == ExportMode::failover ? record_size(layout) : 0),
      refreshes_templates_(options.collectors[index].transport == TransportKind::udp),
      is_file_(options.collectors[index].transport == TransportKind::file),
      flush_interval_(options.flush_interval),
      template_refresh_(options.template_refresh),
      template_refresh_packets_(options.template_refresh_packets),
      buffer_(options.collectors[index].buffer) {}

void CollectorSession::advance(ExportTime now) {
    transport_->advance(now.uptime);
    settle(now);
    follow_session();
    lose_what_failed();
    const bool clock_unknown = now.wall < kFirstTimestamp;
    const bool nothing_waits = open_.entries.empty() && waiting_.empty();
    if (is_dead() || (clock_unknown && nothing_waits)) {
        return;  // offline, the clock starts with the first packet
    }
    if (staged_.empty() && refresh_is_due(now)) {
        next_template_ = 0;
    }
    if (!open_.entries.empty() && now.uptime - opened_at_ >= flush_interval_) {
        close_message();
    }
    pump(now);
}

void CollectorSession::add(const RecordToSend& record, ExportTime now) {
    if (is_dead()) {
        book_.lost(index_, record.entry, cause_of_abandoning());
        return;
    }
    AppendResult result = encoder_.append(record.bytes);
    if (result == AppendResult::message_full) {
        close_message();
        if (waiting_.size() >= Transport::kMostMessages) {
            pump(now);
        }
        result = encoder_.append(record.bytes);
    }
    if (open_.entries.empty()) {
        opened_at_ = now.uptime;
    }
    open_.entries.push_back(record.entry);  // memory is kept from message to message
    if (record_bytes_ != 0) {
        open_.records.insert(open_.records.end(), record.bytes, record.bytes + record_bytes_);
    }
    if (result != AppendResult::added) {
        lose(open_, ExportLoss::encoding_failed);
        events_.tell(CollectorEventKind::encoding_failed, now.uptime, {});
    }
    lose_what_failed();  // if it was just now
}

void CollectorSession::close_message() {
    const EncodedMessage closed = encoder_.close();
    open_.octets.assign(closed.octets.begin(), closed.octets.end());
    open_.data_records = closed.records;
    open_.latest_end = closed.latest_end;
    kept_octets_ += open_.octets.size();
    waiting_.push_back(std::exchange(open_, fresh_message()));
}

/// Sees whether the transport's session has ended, or a new one begun.
void CollectorSession::follow_session() noexcept {
    const std::uint64_t session = transport_->session();
    if (session == session_) {
        return;
    }
    take_back_staged();
    put_back(sent_);
    session_ = session;
    next_template_ = 0;
    if (session != 0 && transport_->restarts_numbers()) {
        numbering_.restart();
    }
}

void CollectorSession::take_back_staged() noexcept {
    for (const OutgoingMessage& message : staged_) {
        numbering_.take_back(message.data_records);
    }
    put_back(staged_);
}

/// Lets the data of a later stage wait again, in the old order. Templates are made anew.
void CollectorSession::put_back(std::deque<OutgoingMessage>& stage) noexcept {
    for (; !stage.empty(); stage.pop_back()) {
        if (stage.back().holds_templates()) {
            recycle(stage.back());
        } else {
            waiting_.push_front(std::move(stage.back()));
        }
    }
}

/// Sends as much as can leave now.
void CollectorSession::pump(ExportTime now) {
    while (session_ != 0) {
        stage(now);
        if (staged_.empty()) {
            return;
        }
        std::array<MessageView, Transport::kMostMessages> views;
        std::size_t count = 0;
        for (const OutgoingMessage& message : staged_) {
            views.at(count++) = message.octets;
        }
        const SendResult result = transport_->send(std::span(views).first(count), now.uptime);
        account_sent(result.taken);
        if (result.rest == SendStatus::lost) {
            lose(staged_.front(),
                 transport_->failed() ? ExportLoss::write_failed : ExportLoss::send_failed);
            drop_first(staged_);
        }
        settle(now);
        const std::uint64_t session = session_;
        follow_session();
        lose_what_failed();
        if (result.rest == SendStatus::would_block && session_ == session) {
            return;
        }
    }
}

/// Makes ready what is to be sent next: templates that the collector does not know, then data.
void CollectorSession::stage(ExportTime now) {
    while (staged_.size() < Transport::kMostMessages) {
        if (next_template_ < encoder_.template_messages()) {
            stage_template(now);
            continue;
        }
        if (waiting_.empty()) {
            return;
        }
        if (refresh_is_due(now)) {
            next_template_ = 0;
            continue;
        }
        ++data_since_templates_;
        OutgoingMessage& message = waiting_.front();
        numbering_.stamp(message.octets, message.data_records, now.wall, message.latest_end);
        staged_.push_back(std::move(message));
        waiting_.pop_front();
    }
}

bool CollectorSession::refresh_is_due(ExportTime now) const noexcept {
    const bool by_packets =
        template_refresh_packets_ != 0 && data_since_templates_ >= template_refresh_packets_;
    return refreshes_templates_ && (by_packets || now.uptime - templates_at_ >= template_refresh_);
}

void CollectorSession::stage_template(ExportTime now) {
    if (next_template_ == 0) {
        templates_at_ = now.uptime;  // a template that comes late puts off no refresh
        data_since_templates_ = 0;
    }
    const MessageView made = encoder_.template_message(next_template_++);
    OutgoingMessage message = fresh_message();
    message.octets.assign(made.begin(), made.end());
    kept_octets_ += made.size();
    numbering_.stamp(message.octets, 0, now.wall, {});
    staged_.push_back(std::move(message));
}

void CollectorSession::account_sent(std::size_t count) noexcept {
    for (; count > 0; --count) {
        account_.messages.add();
        account_.octets.add(staged_.front().octets.size());
        sent_.push_back(std::move(staged_.front()));
        staged_.pop_front();
    }
}

/// Learns the fate of messages that were sent.
void CollectorSession::settle(ExportTime now) {
    const Fates fates = transport_->settle(now.uptime);
    for (std::size_t i = 0; i < fates.delivered; ++i) {
        for (const RecordEntry& record : sent_.front().entries) {
            book_.delivered(index_, record);
        }
        ++progress_;
        drop_first(sent_);
    }
    for (std::size_t i = 0; i < fates.refused; ++i) {
        lose(sent_.front(), ExportLoss::send_refused);
        drop_first(sent_);
    }
}

bool CollectorSession::flush(ExportTime now) {
    if (abandoned_) {
        return true;
    }
    if (!open_.entries.empty()) {
        close_message();
    }
    pump(now);
    settle(now);
    lose_what_failed();
    return !is_waiting();
}

void CollectorSession::abandon(ExportTime now) {
    settle(now);
    lose_all(cause_of_abandoning());
    if (!is_file_) {
        // Ended at once: what was counted as lost must not arrive, nor its fate be told later.
        transport_ = std::make_unique<NoTransport>();
    }
    abandoned_ = true;
}

void CollectorSession::close() { transport_ = std::make_unique<NoTransport>(); }

std::vector<OutgoingMessage> CollectorSession::hand_back() {
    if (!open_.entries.empty()) {
        close_message();
    }
    take_back_staged();
    std::vector<OutgoingMessage> messages;
    for (std::deque<OutgoingMessage>* const stage : {&sent_, &waiting_}) {
        for (OutgoingMessage& message : *stage) {
            kept_octets_ -= message.octets.size();
            messages.push_back(std::move(message));
        }
        stage->clear();
    }
    return messages;
}

void CollectorSession::tell_takes_over(ExportTime now) {
    events_.tell(CollectorEventKind::takes_over, now.uptime, {});
}

/// Tells of a message's records as lost. The message stays where it is, with none.
void CollectorSession::lose(OutgoingMessage& message, ExportLoss cause) noexcept {
    for (const RecordEntry& record : message.entries) {
        book_.lost(index_, record, cause);
    }
    message.entries.clear();
    message.records.clear();
}

void CollectorSession::lose_all(ExportLoss cause) noexcept {
    for (std::deque<OutgoingMessage>* const stage : {&sent_, &staged_, &waiting_}) {
        for (OutgoingMessage& message : *stage) {
            lose(message, cause);
            recycle(message);
        }
        stage->clear();
    }
    lose(open_, cause);
    static_cast<void>(encoder_.close());
}

/// After a final failure nothing waits here, unless another collector may take it over.
void CollectorSession::lose_what_failed() noexcept {
    if (transport_->failed() && record_bytes_ == 0 && is_waiting()) {
        lose_all(ExportLoss::write_failed);
    }
}

void CollectorSession::drop_first(std::deque<OutgoingMessage>& stage) noexcept {
    recycle(stage.front());
    stage.pop_front();
}

void CollectorSession::recycle(OutgoingMessage& message) noexcept {
    constexpr std::size_t kSpare = 64;
    kept_octets_ -= message.octets.size();
    message.clear();
    if (spare_.size() < kSpare) {
        spare_.push_back(std::move(message));
    }
}

OutgoingMessage CollectorSession::fresh_message() noexcept {
    if (spare_.empty()) {
        return {};
    }
    OutgoingMessage message = std::move(spare_.back());
    spare_.pop_back();
    return message;
}

ExportLoss CollectorSession::cause_of_abandoning() const noexcept {
    return transport_->failed() ? ExportLoss::write_failed : ExportLoss::collector_away;
}

}  // namespace tributary
