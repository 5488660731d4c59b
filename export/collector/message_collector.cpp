// SPDX-License-Identifier: Apache-2.0
#include "export/collector/message_collector.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "export/ipfix/encoder_options.hpp"

namespace tributary {
namespace {

std::optional<BiflowSplitter> splitter_for(const CollectorOptions& collector,
                                           const RecordLayout& layout) {
    const bool splits = collector.direction == FlowDirection::uniflow && layout.reverse_at != 0;
    return splits ? std::optional<BiflowSplitter>(layout) : std::nullopt;
}

/// The metering process as this collector gets it described.
MeteringProcess metering_for(MeteringProcess metering,
                             const std::optional<BiflowSplitter>& splitter) {
    metering.layout = splitter ? splitter->layout() : metering.layout;
    return metering;
}

}  // namespace

MessageCollector::MessageCollector(const ExportOptions& options, const MeteringProcess& metering,
                                   RecordAccounting& accounting, CollectorPlace place,
                                   CollectorEventHandler handler)
    : accounting_(accounting),
      account_index_(place.account),
      account_(accounting.account(place.account)),
      events_(options.collectors.at(place.option), account_, std::move(handler)),
      transport_(make_transport(options.collectors[place.option], events_)),
      splitter_(splitter_for(options.collectors[place.option], metering.layout)),
      encoder_(encoder_options(options, options.collectors[place.option], metering),
               metering_for(metering, splitter_).layout,
               message_limit(options.collectors[place.option])),
      templates_(encoder_options(options, options.collectors[place.option], metering),
                 options.collectors[place.option].transport, metering_for(metering, splitter_),
                 message_limit(options.collectors[place.option]), encoder_),
      spool_queue_(options.collectors[place.option].spool, place.account,
                   {.fingerprint = encoder_.fingerprint()}, accounting, events_),
      group_spool_(place.group_spool),
      pace_(options.collectors[place.option]),
      metering_totals_(metering.totals),
      record_bytes_(options.mode == ExportMode::failover ? record_size(metering.layout) : 0),
      is_file_(options.collectors[place.option].transport == TransportKind::file),
      flush_interval_(options.flush_interval),
      buffer_(options.collectors[place.option].buffer) {}

void MessageCollector::advance(ExportTime now) {
    refilled_octets_ = 0;
    events_.advance(now.uptime);
    spool_queue_.advance(now);
    look_after_pauses();
    transport_->advance(now.uptime);
    collect_outcomes(now);
    go_on_with_move(now);
    follow_session();
    lose_what_failed();
    show_gauges();
    const bool clock_unknown = now.wall < kFirstTimestamp;
    const bool nothing_waits = open_.entries.empty() && messages_.waiting.empty();
    if (is_dead() || (clock_unknown && nothing_waits)) {
        return;  // offline, the clock starts with the first packet
    }
    if (messages_.staged.empty()) {
        templates_.refresh_if_due(now.uptime);
    }
    const std::chrono::nanoseconds opened_at = open_.opened_at.value_or(now.uptime);
    if (!open_.entries.empty() && now.uptime - opened_at >= flush_interval_) {
        close_message(now);
    }
    pump(now);
}

void MessageCollector::add(const RecordToSend& record, ExportTime now) {
    if (is_dead()) {
        accounting_.lost(account_index_, record.entry, cause_of_abandoning());
        return;
    }
    AppendResult result = append(record.bytes);
    if (result == AppendResult::message_full && !open_.entries.empty()) {
        close_message(now);
        if (messages_.waiting.size() >= Transport::kMostMessages) {
            pump(now);
        }
        result = append(record.bytes);
    }
    if (result == AppendResult::message_full) {  // an empty one: there is no memory
        accounting_.lost(account_index_, record.entry, ExportLoss::buffer_full);
        return;
    }
    if (open_.entries.empty()) {
        open_.opened_at = now.uptime;
        last_options_made_ = false;
    }
    open_.entries.push_back(record.entry);  // memory is kept from message to message
    if (record_bytes_ != 0) {
        open_.records.insert(open_.records.end(), record.bytes, record.bytes + record_bytes_);
    }
    lose_what_failed();  // if it has failed just now
}

/// Reserves room for the account of one more record in the open message.
///
/// @return  false: there is no memory
bool MessageCollector::has_room_for_entry() noexcept {
    constexpr std::size_t kFirstRecords = 16;
    const std::size_t records = open_.entries.size();
    if (records < open_.entries.capacity() &&
        (records + 1) * record_bytes_ <= open_.records.capacity()) [[likely]] {
        return true;
    }
    try {
        const std::size_t wanted = std::max(kFirstRecords, 2 * records);
        open_.entries.reserve(wanted);
        open_.records.reserve(wanted * record_bytes_);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

AppendResult MessageCollector::append(const std::byte* record) noexcept {
    if (!has_room_for_entry()) [[unlikely]] {
        return AppendResult::message_full;
    }
    if (!splitter_) {
        return encoder_.append(record);
    }
    const BiflowSplitter::Uniflows uniflows = splitter_->split(record);
    return uniflows.second == nullptr ? encoder_.append(uniflows.first)
                                      : encoder_.append_pair(uniflows.first, uniflows.second);
}

/// Closes the open message. Where there is no memory for it, its records are lost, as in a full
/// buffer.
void MessageCollector::close_message(ExportTime now) noexcept {
    try {
        keep_closed(now);
    } catch (const std::bad_alloc&) {
        lose(open_, ExportLoss::buffer_full);
        release(open_);
        open_.clear();
    }
}

/// @errors  std::bad_alloc: the message's records are still in its account
void MessageCollector::keep_closed(ExportTime now) {
    const EncodedMessage closed = encoder_.close();
    open_.octets.assign(closed.octets.begin(), closed.octets.end());
    open_.data_records = closed.records;
    open_.latest_end = closed.latest_end;
    if (is_in_batch_) {
        open_.opened_at.reset();  // its records were in a spool
    } else {
        pace_.add(open_.octets.size());
    }
    const bool is_full = gave_up_ || messages_.octets() >= buffer_;
    const bool needs_spool = spool_queue_.is_on() && (is_full || spool_queue_.holds_messages());
    if (needs_spool && spool_queue_.store(open_, messages_, now)) {
        return;
    }
    if (gave_up_ || spool_queue_.holds_messages()) {  // in memory it would overtake them
        lose(open_, ExportLoss::write_failed);
        open_.clear();
        return;
    }
    messages_.add_last(messages_.waiting, open_);
}

/// Detects the end of the transport's session, or a new one.
void MessageCollector::follow_session() noexcept {
    const std::uint64_t session = transport_->session();
    if (session == session_) {
        return;
    }
    messages_.drop_made_anew();
    take_back_staged();
    messages_.put_back(messages_.sent);
    session_ = session;
    sessions_ += is_up() ? 1 : 0;  // by UDP one begins whether the collector listens or not
    templates_.restart();
    if (session != 0 && transport_->restarts_numbers()) {
        numbering_.restart();
    }
}

void MessageCollector::take_back_staged() noexcept {
    for (const OutgoingMessage& message : messages_.staged) {
        numbering_.take_back(message.data_records);
    }
    messages_.put_back(messages_.staged);
}

/// Sends as much as can leave now.
void MessageCollector::pump(ExportTime now) {
    held_back_ = false;
    const bool waits_for_pace = is_up();
    const bool holds_spool = spool_queue_.holds_messages() || older_in_spool_;
    pace_.advance(now.uptime, {.octets = waits_for_pace ? messages_.octets() : 0,
                               .holds_spool = waits_for_pace && holds_spool});
    while (session_ != 0 && next_.transport == nullptr) {
        refill(now);
        stage(now);
        if (messages_.staged.empty()) {
            return;
        }
        std::array<MessageView, Transport::kMostMessages> views;
        std::size_t count = 0;
        for (const OutgoingMessage& message : messages_.staged) {
            views.at(count++) = message.octets;
        }
        const SendResult result = transport_->send(std::span(views).first(count), now.uptime);
        account_sent(result.taken);
        if (result.rest == SendStatus::lost) {
            lose(messages_.staged.front(),
                 transport_->failed() ? ExportLoss::write_failed : ExportLoss::send_failed);
            forget_first(messages_.staged);
        }
        collect_outcomes(now);
        const std::uint64_t session = session_;
        follow_session();
        lose_what_failed();
        if (result.rest == SendStatus::would_block && session_ == session) {
            return;
        }
    }
}

/// Stages the next messages: templates that the collector does not have, then data. A message that
/// waits for its pace is not staged; it gets its number and time when it leaves.
void MessageCollector::stage(ExportTime now) {
    const std::size_t most = is_up() ? Transport::kMostMessages : 1;
    while (messages_.staged.size() < most) {
        if (!pace_.allows()) {
            held_back_ = !messages_.waiting.empty() || templates_.options_are_due(now.uptime);
            log_pace(now);
            return;
        }
        if (!messages_.waiting.empty()) {
            templates_.refresh_if_due(now.uptime);
        }
        const auto made = templates_.next_template(now.uptime);
        if (made && !stage_template(*made, now)) {
            templates_.take_back_template();
            return;
        }
        if (made) {
            continue;
        }
        if (templates_.options_are_due(now.uptime)) {
            make_options(now);
        }
        if (messages_.waiting.empty()) {
            return;
        }
        templates_.count_data();
        OutgoingMessage& message = messages_.waiting.front();
        numbering_.stamp(message.octets, message.data_records, now.wall, message.latest_end);
        pace_.take(message.octets.size());
        MessageStages::move_first(messages_.waiting, messages_.staged);
    }
}

/// A burst that leaves evenly is not logged; a burst that takes half of the buffer is.
void MessageCollector::log_pace(ExportTime now) {
    if (held_back_ && messages_.octets() > buffer_ / 2) {
        events_.report(CollectorEventKind::held_back, now.uptime, {});
    }
}

/// @return  false: there is no memory
bool MessageCollector::stage_template(const TemplateScheduler::TemplateMessage& made,
                                      ExportTime now) noexcept {
    try {
        OutgoingMessage message;
        message.is_made_anew = true;
        message.octets.assign(made.octets.begin(), made.octets.end());
        message.data_records = made.records;
        messages_.add_last(messages_.staged, message);
    } catch (const std::bad_alloc&) {
        return false;
    }
    OutgoingMessage& staged = messages_.staged.back();
    numbering_.stamp(staged.octets, staged.data_records, now.wall, {});
    pace_.take(staged.octets.size());
    return true;
}

/// Queues options records before everything else. Without memory they stay due.
void MessageCollector::make_options(ExportTime now) noexcept {
    try {
        add_options(now);
    } catch (const std::bad_alloc&) {
        templates_.want_options();
    }
}

void MessageCollector::add_options(ExportTime now) {
    OptionsEncoder::Messages made = templates_.make_options(options_numbers(), now.uptime);
    if (!made.complete) {
        events_.report(CollectorEventKind::encoding_failed, now.uptime, {});
    }
    for (auto each = made.messages.rbegin(); each != made.messages.rend(); ++each) {
        OutgoingMessage message;
        message.octets = std::move(each->octets);
        message.data_records = each->records;
        message.is_made_anew = true;
        messages_.add_first(messages_.waiting, message);
    }
}

/// The counts for the next options records: of all messages before them.
OptionsNumbers MessageCollector::options_numbers() const {
    OptionsNumbers numbers;
    numbers.metering = metering_totals_ ? metering_totals_() : PreExportLosses{};
    numbers.not_sent = numbers.metering.lost;
    for (const RecordCounter& cause : account_.lost) {
        numbers.not_sent += cause.read();
    }
    if (group_spool_ != nullptr) {  // records lost there reach no collector of the group
        for (const RecordCounter& cause : accounting_.account(kGroupSpool).lost) {
            numbers.not_sent += cause.read();
        }
    }
    numbers.exported_messages = account_.messages.read() + messages_.staged.size();
    numbers.exported_octets = account_.octets.read();
    numbers.exported_records = delivered_data_records_;
    for (const OutgoingMessage& message : messages_.staged) {
        numbers.exported_octets += message.octets.size();
        numbers.exported_records += message.flow_records();
    }
    for (const OutgoingMessage& message : messages_.sent) {
        numbers.exported_records += message.flow_records();
    }
    return numbers;
}

void MessageCollector::account_sent(std::size_t count) noexcept {
    for (; count > 0; --count) {
        account_.messages.add();
        account_.octets.add(messages_.staged.front().octets.size());
        MessageStages::move_first(messages_.staged, messages_.sent);
    }
}

/// Reads the outcomes of messages that were sent.
void MessageCollector::collect_outcomes(ExportTime now) {
    const SendOutcomes outcomes = transport_->collect_outcomes(now.uptime);
    for (std::size_t i = 0; i < outcomes.delivered; ++i) {
        const OutgoingMessage& message = messages_.sent.front();
        for (const RecordEntry& record : message.entries) {
            accounting_.delivered(account_index_, record);
        }
        if (message.opened_at) {
            account_.latency.add(now.uptime - *message.opened_at, message.entries.size());
        }
        account_.records.add(message.inherited);
        delivered_data_records_ += message.flow_records();
        ++progress_;
        forget_first(messages_.sent);
    }
    for (std::size_t i = 0; i < outcomes.refused; ++i) {
        lose(messages_.sent.front(), ExportLoss::send_refused);
        forget_first(messages_.sent);
    }
}

}  // namespace tributary
