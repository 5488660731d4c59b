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

CollectorSession::CollectorSession(const ExportOptions& options, const MeteringProcess& metering,
                                   ExportCounters& counters, DeliveryBook& book, std::size_t index,
                                   CollectorEventHandler handler)
    : book_(book),
      index_(index),
      account_(counters.collectors.at(index)),
      events_(options.collectors.at(index), account_, std::move(handler)),
      transport_(make_transport(options.collectors[index], events_)),
      encoder_(options_for(options, options.collectors[index]), metering.layout,
               message_limit(options.collectors[index])),
      announcer_(options_for(options, options.collectors[index]),
                 options.collectors[index].transport, metering,
                 message_limit(options.collectors[index]), encoder_),
      metering_totals_(metering.totals),
      record_bytes_(options.mode == ExportMode::failover ? record_size(metering.layout) : 0),
      is_file_(options.collectors[index].transport == TransportKind::file),
      flush_interval_(options.flush_interval),
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
    if (staged_.empty()) {
        announcer_.refresh_if_due(now.uptime);
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
        told_last_ = false;
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
    drop_made_anew();
    session_ = session;
    announcer_.restart();
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

/// Lets the flow records of a later stage wait again, in the old order.
void CollectorSession::put_back(std::deque<OutgoingMessage>& stage) noexcept {
    for (; !stage.empty(); stage.pop_back()) {
        if (stage.back().is_made_anew) {
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
        if (!waiting_.empty()) {
            announcer_.refresh_if_due(now.uptime);
        }
        if (const auto made = announcer_.next_template(now.uptime)) {
            stage_template(*made, now);
            continue;
        }
        if (announcer_.options_are_due(now.uptime)) {
            make_options(now);
        }
        if (waiting_.empty()) {
            return;
        }
        announcer_.count_data();
        OutgoingMessage& message = waiting_.front();
        numbering_.stamp(message.octets, message.data_records, now.wall, message.latest_end);
        staged_.push_back(std::move(message));
        waiting_.pop_front();
    }
}

void CollectorSession::stage_template(MessageView made, ExportTime now) {
    OutgoingMessage message = fresh_message();
    message.is_made_anew = true;
    message.octets.assign(made.begin(), made.end());
    kept_octets_ += made.size();
    numbering_.stamp(message.octets, 0, now.wall, {});
    staged_.push_back(std::move(message));
}

/// Lets options records wait before everything else.
void CollectorSession::make_options(ExportTime now) {
    OptionsEncoder::Messages made = announcer_.make_options(options_numbers(), now.uptime);
    if (!made.complete) {
        events_.tell(CollectorEventKind::encoding_failed, now.uptime, {});
    }
    for (auto each = made.messages.rbegin(); each != made.messages.rend(); ++each) {
        OutgoingMessage message = fresh_message();
        message.octets = std::move(each->octets);
        message.data_records = each->records;
        message.is_made_anew = true;
        kept_octets_ += message.octets.size();
        waiting_.push_front(std::move(message));
    }
}

/// What the next message can say of all before it.
OptionsNumbers CollectorSession::options_numbers() const {
    OptionsNumbers numbers;
    numbers.metering = metering_totals_ ? metering_totals_() : MeteringTotals{};
    numbers.not_sent = numbers.metering.lost;
    for (const RecordCounter& cause : account_.lost) {
        numbers.not_sent += cause.read();
    }
    numbers.exported_messages = account_.messages.read() + staged_.size();
    numbers.exported_octets = account_.octets.read();
    numbers.exported_records = account_.records.read().records;
    for (const OutgoingMessage& message : staged_) {
        numbers.exported_octets += message.octets.size();
        numbers.exported_records += message.entries.size();
    }
    for (const OutgoingMessage& message : sent_) {
        numbers.exported_records += message.entries.size();
    }
    return numbers;
}

/// Options records that were made for another session.
void CollectorSession::drop_made_anew() noexcept {
    while (!waiting_.empty() && waiting_.front().is_made_anew) {
        drop_first(waiting_);
    }
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
    send_what_can_leave(now);
    if (!is_waiting() && !std::exchange(told_last_, true)) {
        announcer_.want_options();
        send_what_can_leave(now);
    }
    return !is_waiting();
}

void CollectorSession::send_what_can_leave(ExportTime now) {
    pump(now);
    settle(now);
    lose_what_failed();
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
    std::erase_if(messages, [](const OutgoingMessage& message) { return message.is_made_anew; });
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
