// SPDX-License-Identifier: Apache-2.0
#include "export/collector_session.hpp"

#include <utility>

namespace tributary {

void MessageTally::add(std::size_t queue, const RecordTally& tally) {
    if (shares_.empty() || shares_.back().queue != queue) {
        shares_.push_back({queue, {}});  // the vector keeps its memory from message to message
    }
    shares_.back().tally += tally;
}

CollectorSession::CollectorSession(const ExportOptions& options, const RecordLayout& layout,
                                   ExportCounters& counters, std::size_t index,
                                   CollectorEventHandler handler)
    : layout_(layout),
      counters_(counters),
      account_(counters.collectors.at(index)),
      events_(options.collectors.at(index), account_, std::move(handler)),
      transport_(make_transport(options.collectors[index], events_)),
      encoder_(options, layout, message_limit(options.collectors[index])),
      refusals_come_late_(options.collectors[index].transport == TransportKind::udp),
      flush_interval_(options.flush_interval),
      template_refresh_(options.template_refresh) {}

void CollectorSession::advance(ExportTime now) {
    transport_->advance(now.uptime);
    const bool clock_unknown = now.wall < kFirstTimestamp;
    if (abandoned_ || !in_session() || (clock_unknown && open_.empty())) {
        return;  // offline, the clock starts with the first packet
    }
    if (refusals_come_late_ && waiting_.empty() &&
        now.uptime - templates_at_ >= template_refresh_) {
        next_template_ = 0;
    }
    if (!open_.empty() && now.uptime - opened_at_ >= flush_interval_) {
        complete_ = true;
    }
    static_cast<void>(deliver(now));  // what cannot leave now waits for the next call
    if (now.uptime - sent_at_ >= kRefusalWait) {
        settle_sent(now);
    }
}

bool CollectorSession::ready() const noexcept {
    return transport_->failed() || abandoned_ || (!complete_ && transport_->session() != 0);
}

bool CollectorSession::add(const std::byte* record, std::size_t queue, ExportTime now) {
    const RecordTally tally = tally_of(record, layout_);
    if (transport_->failed() || abandoned_) {
        lose(queue, tally);
        return true;
    }
    if (!ready()) {
        return false;
    }
    AppendResult result = encoder_.append(record);
    if (result == AppendResult::message_full) {
        complete_ = true;
        if (!deliver(now) && !transport_->failed()) {
            return false;
        }
        if (transport_->failed()) {
            lose(queue, tally);
            return true;
        }
        result = encoder_.append(record);
    }
    if (open_.empty()) {
        opened_at_ = now.uptime;
    }
    open_.add(queue, tally);
    if (result != AppendResult::added) {
        count_lost(open_, ExportLoss::encoding_failed);
        events_.tell(CollectorEventKind::encoding_failed, now.uptime, {});
    }
    return true;
}

bool CollectorSession::in_session() noexcept {
    const std::uint64_t session = transport_->session();
    if (session == 0) {
        return false;
    }
    if (session != session_) {
        session_ = session;
        encoder_.restart_session();
        next_template_ = 0;
        waiting_ = {};
    }
    return true;
}

bool CollectorSession::deliver(ExportTime now) {
    if (!in_session()) {
        return false;
    }
    if (!send_templates(now)) {
        if (transport_->failed()) {
            count_lost(open_, ExportLoss::write_failed);
        }
        return false;
    }
    if (!complete_) {
        return true;
    }
    if (waiting_.empty()) {
        waiting_ = encoder_.finish(now.wall);
    }
    const SendStatus status = transmit(waiting_, now);
    if (status == SendStatus::would_block) {
        return false;
    }
    conclude(status, now);
    return !transport_->failed();
}

void CollectorSession::conclude(SendStatus status, ExportTime now) {
    waiting_ = {};
    complete_ = false;
    encoder_.release();
    if (status == SendStatus::lost) {
        count_lost(open_,
                   transport_->failed() ? ExportLoss::write_failed : ExportLoss::send_failed);
    } else if (refusals_come_late_) {
        std::swap(sent_, open_);
        sent_at_ = now.uptime;
    } else {
        count_exported(open_);
    }
}

bool CollectorSession::send_templates(ExportTime now) {
    if (refused_ && complete_ && waiting_.empty()) {
        refused_ = false;
        next_template_ = 0;
    }
    while (next_template_ < encoder_.template_messages()) {
        if (waiting_.empty()) {
            waiting_ = encoder_.template_message(next_template_, now.wall);
        }
        if (next_template_ == 0) {
            templates_at_ = now.uptime;  // a template that comes late puts off no refresh
        }
        if (transmit(waiting_, now) == SendStatus::would_block || transport_->failed()) {
            return false;
        }
        waiting_ = {};
        ++next_template_;
    }
    return true;
}

SendStatus CollectorSession::transmit(MessageView message, ExportTime now) {
    constexpr int kTries = 3;  // a refusal is taken back by the kernel once it is told
    SendStatus status = transport_->send(message, now.uptime);
    for (int tries = 1; status == SendStatus::refused && tries < kTries; ++tries) {
        count_lost(sent_, ExportLoss::send_refused);
        refused_ = true;
        status = transport_->send(message, now.uptime);
    }
    if (status == SendStatus::refused) {
        return SendStatus::would_block;
    }
    if (status == SendStatus::sent) {
        count_exported(sent_);  // no refusal stood in the way: the datagram before has arrived
        account_.messages.add();
        account_.octets.add(message.size());
        ++messages_sent_;
    }
    return status;
}

void CollectorSession::settle_sent(ExportTime now) {
    if (sent_.empty()) {
        return;
    }
    if (transport_->last_was_refused(now.uptime)) {
        count_lost(sent_, ExportLoss::send_refused);
        refused_ = true;
    } else {
        count_exported(sent_);
    }
}

bool CollectorSession::flush(ExportTime now) {
    if (abandoned_) {
        return true;
    }
    complete_ = complete_ || !open_.empty();
    const bool delivered = deliver(now);
    if (now.uptime - sent_at_ >= kRefusalWait) {
        settle_sent(now);
    }
    const bool nothing_under_way = delivered || transport_->session() == 0;
    return nothing_under_way && open_.empty() && sent_.empty();
}

void CollectorSession::abandon(ExportTime now) {
    settle_sent(now);
    count_lost(open_, cause_of_abandoning());
    abandoned_ = true;
}

void CollectorSession::lose(std::size_t queue, const RecordTally& tally) noexcept {
    counters_.queues[queue].lose(cause_of_abandoning(), tally);
}

ExportLoss CollectorSession::cause_of_abandoning() const noexcept {
    return transport_->failed() ? ExportLoss::write_failed : ExportLoss::collector_away;
}

void CollectorSession::count_exported(MessageTally& tally) noexcept {
    for (const MessageTally::Share& share : tally.shares()) {
        counters_.queues[share.queue].exported.add(share.tally);
        account_.records.add(share.tally);
    }
    tally.clear();
}

void CollectorSession::count_lost(MessageTally& tally, ExportLoss cause) noexcept {
    for (const MessageTally::Share& share : tally.shares()) {
        counters_.queues[share.queue].lose(cause, share.tally);
    }
    tally.clear();
}

}  // namespace tributary
