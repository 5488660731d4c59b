// SPDX-License-Identifier: Apache-2.0
#include "export/collector/message_collector.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "export/collector/group_spool.hpp"

namespace tributary {
namespace {

/// Octets that are kept of each record, by layout.
std::vector<std::size_t> octets_to_keep(const MeteringProcess& metering, bool are_kept) {
    std::vector<std::size_t> octets;
    for (const RecordLayout& layout : metering.layouts()) {
        octets.push_back(are_kept ? record_size(layout) : 0);
    }
    return octets;
}

/// An open message for each layout.
std::vector<OutgoingMessage> open_messages(std::size_t layouts) {
    std::vector<OutgoingMessage> open(layouts);
    for (std::size_t layout = 0; layout < layouts; ++layout) {
        open[layout].layout = layout;
    }
    return open;
}

/// The names of some tables.
std::set<std::string> names_of(const TakenTables& taken, const MeteringProcess& metering) {
    std::set<std::string> names;
    const std::vector<std::string> all = table_names(metering);
    for (std::size_t table = 0; table < all.size(); ++table) {
        if (taken.has(table)) {
            names.insert(all[table]);
        }
    }
    return names;
}

}  // namespace

/// What prepare_tables() has made.
struct MessageCollector::NextTables final : CollectorTables {
    std::unique_ptr<MessageFormat::Tables> format;
    SpoolFingerprints in_spool;
    std::set<std::string> taken;
    std::vector<std::size_t> kept_octets;
    std::vector<OutgoingMessage> open;

    NextTables(std::unique_ptr<MessageFormat::Tables> made, const SpoolContent& content)
        : format(std::move(made)), in_spool(content) {}
};

MessageCollector::MessageCollector(const CollectorParts& parts,
                                   std::unique_ptr<MessageFormat> format,
                                   TransportFactory make_transport)
    : accounting_(parts.accounting),
      account_index_(parts.account),
      account_(parts.accounting.account(parts.account)),
      events_(parts.collector(), account_, parts.handler),
      make_transport_(std::move(make_transport)),
      transport_(make_transport_(parts.collector(), events_)),
      format_(std::move(format)),
      spool_queue_(parts.collector().spool, parts.account, format_->spool_content(),
                   parts.accounting, events_),
      group_spool_(parts.group_spool),
      pace_(parts.collector()),
      metering_totals_(parts.metering.totals),
      taken_(
          names_of(taken_tables(parts.collector(), table_names(parts.metering)), parts.metering)),
      keeps_records_(parts.group_spool != nullptr),
      kept_octets_(octets_to_keep(parts.metering, keeps_records_)),
      is_file_(parts.collector().transport == TransportKind::file),
      flush_interval_(parts.options.flush_interval),
      buffer_(parts.collector().buffer),
      open_(open_messages(kept_octets_.size())) {
    settle_is_dead();
}

bool MessageCollector::holds(std::size_t table) const noexcept {
    const auto is_of_table = [table](const OutgoingMessage& message) {
        return message.layout == table && !message.is_made_anew();
    };
    return !open_[table].entries.empty() || spool_queue_.holds_messages() ||
           std::ranges::any_of(messages_.waiting, is_of_table) ||
           std::ranges::any_of(messages_.staged, is_of_table) ||
           std::ranges::any_of(messages_.sent, is_of_table);
}

std::unique_ptr<CollectorTables> MessageCollector::prepare_tables(const MeteringProcess& metering,
                                                                  const TableChoice& choice) {
    std::unique_ptr<MessageFormat::Tables> made = format_->prepare_tables(metering, choice);
    SpoolContent content = format_->spool_content();
    content.further = made->in_spool;
    auto prepared = std::make_unique<NextTables>(std::move(made), content);
    prepared->taken = names_of(choice.taken, metering);
    prepared->kept_octets = octets_to_keep(metering, keeps_records_);
    prepared->open = open_messages(prepared->kept_octets.size());
    return prepared;
}

void MessageCollector::take_tables(std::unique_ptr<CollectorTables> prepared) noexcept {
    auto& next = static_cast<NextTables&>(*prepared);
    format_->take_tables(std::move(next.format));
    spool_queue_.set_content(std::move(next.in_spool));
    taken_.merge(next.taken);
    kept_octets_ = std::move(next.kept_octets);
    // Those of tables that do not stay are empty.
    std::ranges::move(open_, next.open.begin());
    open_ = std::move(next.open);
}

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
    const bool nothing_waits = !has_open() && messages_.waiting.empty();
    if (is_dead_ || (clock_unknown && nothing_waits)) {
        return;  // offline, the clock starts with the first packet
    }
    if (messages_.staged.empty()) {
        format_->refresh_if_due(now.uptime);
    }
    for (OutgoingMessage& open : open_) {
        const std::chrono::nanoseconds opened_at = open.opened_at.value_or(now.uptime);
        if (!open.entries.empty() && now.uptime - opened_at >= flush_interval_) {
            close_message(open, now);
        }
    }
    pump(now);
}

void MessageCollector::add(const RecordToSend& record, ExportTime now) {
    if (is_dead_) {
        accounting_.lost(account_index_, record.entry, cause_of_abandoning());
        return;
    }
    OutgoingMessage& open = open_[record.layout];
    AppendResult result = append(record.bytes, open);
    if (result == AppendResult::message_full && !open.entries.empty()) {
        close_message(open, now);
        if (messages_.waiting.size() >= Transport::kMostMessages) {
            pump(now);
        }
        result = append(record.bytes, open);
    }
    if (result == AppendResult::message_full) {  // an empty one: there is no memory
        accounting_.lost(account_index_, record.entry, ExportLoss::buffer_full);
        return;
    }
    if (open.entries.empty()) {
        open.opened_at = now.uptime;
        last_report_made_ = false;
    }
    open.entries.push_back(record.entry);  // memory is kept from message to message
    if (keeps_records_) {
        open.records.insert(open.records.end(), record.bytes,
                            record.bytes + kept_octets_[record.layout]);
    }
    if (is_dead_) [[unlikely]] {
        lose_what_failed();  // it has failed just now
    }
}

/// Reserves room for the account of one more record in the open message.
///
/// @return  false: there is no memory
bool MessageCollector::has_room_for_entry(OutgoingMessage& open) const noexcept {
    constexpr std::size_t kFirstRecords = 16;
    const std::size_t records = open.entries.size();
    const std::size_t kept = kept_octets_[open.layout];
    if (records < open.entries.capacity() && (records + 1) * kept <= open.records.capacity())
        [[likely]] {
        return true;
    }
    try {
        const std::size_t wanted = std::max(kFirstRecords, 2 * records);
        open.entries.reserve(wanted);
        open.records.reserve(wanted * kept);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

AppendResult MessageCollector::append(const std::byte* record, OutgoingMessage& open) noexcept {
    if (!has_room_for_entry(open)) [[unlikely]] {
        return AppendResult::message_full;
    }
    return format_->append(record, open);
}

void MessageCollector::close_all(ExportTime now) noexcept {
    for (OutgoingMessage& open : open_) {
        if (!open.entries.empty()) {
            close_message(open, now);
        }
    }
}

/// Closes an open message. Where there is no memory for it, its records are lost, as in a full
/// buffer.
void MessageCollector::close_message(OutgoingMessage& open, ExportTime now) noexcept {
    if (batch_place_) {
        open.place = group_spool_->share(*batch_place_);
    }
    try {
        keep_closed(open, now);
    } catch (const std::bad_alloc&) {
        lose(open, ExportLoss::buffer_full);
        release(open);
        open.clear();
    }
}

/// @errors  std::bad_alloc: the message's records are still in its account
void MessageCollector::keep_closed(OutgoingMessage& open, ExportTime now) {
    format_->close(open, now);
    if (is_in_batch_) {
        open.opened_at.reset();  // its records were in a spool
    } else {
        pace_.add(open.octets.size());
    }
    const bool is_full = gave_up_ || messages_.octets() >= buffer_;
    const bool needs_spool = spool_queue_.is_on() && (is_full || spool_queue_.holds_messages());
    if (needs_spool && spool_queue_.store(open, messages_, now)) {
        return;
    }
    if (gave_up_ || spool_queue_.holds_messages()) {  // in memory it would overtake them
        lose(open, ExportLoss::write_failed);
        open.clear();
        return;
    }
    messages_.add_last(messages_.waiting, open);
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
    format_->restart_session();
    if (session != 0 && transport_->restarts_numbers()) {
        format_->restart_numbers();
    }
}

void MessageCollector::take_back_staged() noexcept {
    for (const OutgoingMessage& message : messages_.staged) {
        format_->take_back(message);
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
    while (session_ != 0 && next_transport_ == nullptr && !former_goes_first_) {
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

/// Stages the next messages: what has to go ahead, then records. A message that
/// waits for its pace is not staged; it gets its number and time when it leaves.
void MessageCollector::stage(ExportTime now) {
    const std::size_t most = is_up() ? Transport::kMostMessages : 1;
    while (messages_.staged.size() < most) {
        if (!pace_.allows()) {
            held_back_ = !messages_.waiting.empty() || format_->report_is_due(now.uptime);
            log_pace(now);
            return;
        }
        if (!messages_.waiting.empty()) {
            format_->refresh_if_due(now.uptime);
            format_->prepare_for(messages_.waiting.front());
        }
        const auto made = format_->next_ahead(now.uptime);
        if (made && !stage_ahead(*made, now)) {
            format_->take_back_ahead();
            return;
        }
        if (made) {
            continue;
        }
        if (format_->report_is_due(now.uptime)) {
            make_report(now);
        }
        if (messages_.waiting.empty()) {
            return;
        }
        OutgoingMessage& message = messages_.waiting.front();
        format_->stamp(message, now);
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
bool MessageCollector::stage_ahead(const MessageFormat::Ahead& made, ExportTime now) noexcept {
    try {
        OutgoingMessage message;
        message.kind = MessageKind::ahead;
        message.octets.assign(made.octets.begin(), made.octets.end());
        message.data_records = made.records;
        messages_.add_last(messages_.staged, message);
    } catch (const std::bad_alloc&) {
        return false;
    }
    OutgoingMessage& staged = messages_.staged.back();
    format_->stamp(staged, now);
    pace_.take(staged.octets.size());
    return true;
}

/// Queues a report before everything else. Without memory it stays due.
void MessageCollector::make_report(ExportTime now) noexcept {
    try {
        add_report(now);
    } catch (const std::bad_alloc&) {
        format_->want_report();
    }
}

void MessageCollector::add_report(ExportTime now) {
    MessageFormat::Report made = format_->make_report(export_numbers(), now.uptime);
    if (!made.complete) {
        events_.report(CollectorEventKind::encoding_failed, now.uptime, {});
    }
    for (auto each = made.messages.rbegin(); each != made.messages.rend(); ++each) {
        OutgoingMessage message;
        message.kind = MessageKind::report;
        message.octets = std::move(each->octets);
        message.data_records = each->records;
        messages_.add_first(messages_.waiting, message);
    }
}

/// The counts for the next report: of all messages before it.
ExportNumbers MessageCollector::export_numbers() const {
    ExportNumbers numbers;
    numbers.metering = metering_totals_ ? metering_totals_() : PreExportLosses{};
    for (const std::string& table : taken_) {
        numbers.not_sent += numbers.metering.lost_of(table);
    }
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
    if (outcomes.by_item > 0) {
        settle_by_item(now);
    }
}

}  // namespace tributary
