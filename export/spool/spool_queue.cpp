// SPDX-License-Identifier: Apache-2.0
#include "export/spool/spool_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "export/file_descriptor.hpp"

namespace tributary {
namespace {

/// What can differ in messages or records that are not of this content.
const char* what_is_not(const SpoolContent& content) noexcept {
    if (content.record_bytes > 0) {
        return "its records were made for other fields";
    }
    // Messages of other formats than IPFIX are complete by themselves, whatever their fields are.
    return content.format.empty()
               ? "its messages were made for other fields, or are of another format"
               : "its messages are of another format or transport, or delimited was another";
}

}  // namespace

SpoolQueue::SpoolQueue(const SpoolOptions& spool, std::size_t account, const SpoolContent& content,
                       RecordAccounting& accounting, CollectorEvents& events)
    : account_index_(account),
      accounting_(accounting),
      account_(accounting.account(account)),
      events_(events),
      max_octets_(spool.max_octets),
      place_("directory " + spool.directory),
      other_content_(what_is_not(content)) {
    if (spool.is_on()) {
        spool_ = std::make_unique<Spool>(spool, content);
        use_is_logged_ = spool_->has_untaken();
    }
}

/// Counts the records of former processes, and only then lets their files change.
void SpoolQueue::take_over() noexcept {
    account_.spool_max_octets.set(max_octets_);
    account_.inherited.add(spool_->inherited());
    for (const Spool::Account& former : spool_->take_damaged()) {
        account_.inherited.add(former.tally);
        lose(former, ExportLoss::spool_damaged);
    }
    spool_->adopt();
}

void SpoolQueue::advance(ExportTime now) {
    if (!is_on()) {
        return;
    }
    if (!std::exchange(is_taken_over_, true)) {
        take_over();
        if (const std::uint64_t found = spool_->inherited().records; found > 0) {
            log_count(CollectorEventKind::spool_found, now, "", found, "");
        }
    }
    if (retry_at_ && now.uptime >= *retry_at_) {
        retry_at_.reset();
    }
    const std::uint64_t unusable = give_up(&Spool::drop_unusable, ExportLoss::spool_unusable);
    if (unusable > 0) {
        log_disk(CollectorEventKind::spool_unusable, now, other_content_, unusable);
    }
    log_damage(now);
    account_.spool_octets.set(spool_->octets());
}

bool SpoolQueue::store(OutgoingMessage& message, MessageStages& older, ExportTime now) {
    return copy_all(older, now) && store(message, now);
}

bool SpoolQueue::store(OutgoingMessage& message, ExportTime now) {
    if (!write(message, false, now)) {
        return false;
    }
    if (!std::exchange(use_is_logged_, true)) {
        log_disk(CollectorEventKind::spool_used, now, {});
    }
    message.clear();
    return true;
}

/// Writes messages that stay in memory; the spool has nothing newer then. @return  all are written
bool SpoolQueue::copy_all(MessageStages& messages, ExportTime now) {
    if (holds_messages()) {
        return true;  // they were written before
    }
    const auto copy = [&](OutgoingMessage& message) {
        return message.place || message.is_made_anew() || write(message, true, now);
    };
    return std::ranges::all_of(messages.oldest_first(), [&](MessageStages::Stage* stage) {
        return std::ranges::all_of(*stage, copy);
    });
}

bool SpoolQueue::write(OutgoingMessage& message, bool stays_in_memory, ExportTime now) {
    if (!takes_messages()) {
        return false;
    }
    while (!spool_->has_room_for(message) && spool_->octets() > 0) {
        std::uint64_t lost = 0;
        spool_->drop_oldest([&](const Spool::Account& oldest) {
            lost += oldest.is_damaged ? 0 : oldest.tally.records;
            lose(oldest, ExportLoss::spool_full);
        });
        if (lost > 0) {
            log_full(now, lost);
        }
    }
    spool_->keep_numbers(accounting_.keeps_states());
    if (spool_->append(message, stays_in_memory)) {
        if (std::exchange(has_refused_, false)) {
            log_disk(CollectorEventKind::spool_works, now, {});
        }
        return true;
    }
    log_disk(CollectorEventKind::spool_failed, now, words_for(errno));
    has_refused_ = true;
    retry_at_ = now.uptime + kRetryAfter;
    return false;
}

std::optional<OutgoingMessage> SpoolQueue::take(ExportTime now) noexcept {
    std::optional<OutgoingMessage> message = take_if_possible();
    if (message) {
        find_layout(*message);
    }
    lose_damaged();
    log_damage(now);
    log_unusable(now);
    if (!spool_->has_untaken() && std::exchange(use_is_logged_, false)) {
        log_disk(CollectorEventKind::spool_emptied, now, {});
    }
    return message;
}

/// Returns nothing if there is no memory for a message: the spool still has the message, and the
/// accounts of the damage before it.
std::optional<OutgoingMessage> SpoolQueue::take_if_possible() noexcept {
    try {
        return spool_->take();
    } catch (const std::bad_alloc&) {
        return std::nullopt;
    }
}

/// Where layouts have one mark in common, that does not tell which one a message has. What this
/// process has written is of the table of its records' queue, which must not go before their
/// outcome is known.
void SpoolQueue::find_layout(OutgoingMessage& message) const noexcept {
    if (!message.entries.empty()) {
        const auto table = accounting_.table_of(message.entries.front().queue);
        message.layout = table.value_or(message.layout);
    }
}

void SpoolQueue::lose_damaged() noexcept {
    for (const Spool::Account& damaged : spool_->take_damaged()) {
        lose(damaged, damaged.is_unusable ? ExportLoss::spool_unusable : ExportLoss::spool_damaged);
        unusable_ += damaged.is_unusable ? damaged.tally.records : 0;
    }
}

void SpoolQueue::log_unusable(ExportTime now) noexcept {
    if (const std::uint64_t records = std::exchange(unusable_, 0); records > 0) {
        log_disk(CollectorEventKind::spool_unusable, now, other_content_, records);
    }
}

/// Logs damage once the number of lost records is known: at the end of its file. Without memory for
/// the text the next call does so.
void SpoolQueue::log_damage(ExportTime now) noexcept {
    const bool is_known = lost_ != logged_lost_ || !spool_->has_untaken();
    if (!is_known || (damaged_ == spool_->damaged() && lost_ == logged_lost_)) {
        return;
    }
    try {
        events_.report(CollectorEventKind::spool_failed, now.uptime, words_for_damage());
    } catch (const std::bad_alloc&) {
        return;
    }
    damaged_ = spool_->damaged();
    logged_lost_ = lost_;
}

/// @errors  std::bad_alloc
std::string SpoolQueue::words_for_damage() const {
    std::string text = "a part of it is damaged";
    if (lost_ > 0) {
        text += ", " + std::to_string(lost_) + " records are lost since the start";
    }
    if (estimated_ > 0) {
        text += ", of which " + std::to_string(estimated_) +
                " are an estimate from the octets that cannot be read";
    }
    return text + "; " + place_;
}

/// Logs an event of the spool, with its directory; without memory for the text the event alone.
///
/// @param lost  number of records; 0: none
void SpoolQueue::log_disk(CollectorEventKind kind, ExportTime now, const std::string& cause,
                          std::uint64_t lost) noexcept {
    std::string text;
    try {
        text = cause.empty() ? place_ : cause + "; " + place_;
    } catch (const std::bad_alloc&) {
        text.clear();
    }
    events_.report_loss(kind, now.uptime, text, lost);
}

/// Logs which limit is reached.
void SpoolQueue::log_full(ExportTime now, std::uint64_t lost) noexcept {
    const char* const key =
        account_index_ == kGroupSpool ? "export.spool.max-size" : "its spool.max-size";
    std::string limit;
    try {
        limit = std::string(key) + " is " + std::to_string(max_octets_) + " octets";
    } catch (const std::bad_alloc&) {
        limit.clear();
    }
    log_disk(CollectorEventKind::spool_full, now, limit, lost);
}

/// Logs a number; without memory for the text the event alone.
void SpoolQueue::log_count(CollectorEventKind kind, ExportTime now, const char* before,
                           std::uint64_t count, const char* after) noexcept {
    std::string text;
    try {
        text = before + std::to_string(count) + after;
    } catch (const std::bad_alloc&) {
        text.clear();
    }
    log_disk(kind, now, text);
}

void SpoolQueue::refuse(OutgoingMessage& message, ExportTime now) noexcept {
    Spool::Account account{.tally = message.inherited,
                           .entries = std::move(message.entries),  // without memory
                           .is_damaged = true};
    read_numbers(message, account);
    for (const RecordEntry& entry : account.entries) {
        account.tally += entry.tally();
    }
    lose(account, ExportLoss::spool_damaged);
    release(message);
    log_damage(now);
}

/// Without memory for them, they are not known.
void SpoolQueue::read_numbers(const OutgoingMessage& message,
                              Spool::Account& account) const noexcept {
    try {
        spool_->read_numbers(message, account.ranges);
    } catch (const std::bad_alloc&) {
        account.ranges.clear();
    }
}

void SpoolQueue::shorten(OutgoingMessage& rest) noexcept {
    // The place of a file that was given up stays, for cause_of_loss().
    if (rest.place && spool_->has(*rest.place) && !spool_->shorten(*rest.place, rest)) {
        release(rest);
    }
}

void SpoolQueue::release(RecordBatch& message) noexcept {
    if (message.place && is_on()) {
        spool_->done(*message.place);
    }
    message.place.reset();
}

void SpoolQueue::set_max_octets(std::uint64_t octets) noexcept {
    max_octets_ = octets;
    if (is_on()) {
        spool_->set_max_octets(octets);
        account_.spool_max_octets.set(octets);
    }
}

void SpoolQueue::keep_for_next_process(MessageStages& in_memory, const LossHandler& loses,
                                       ExportTime now) {
    static_cast<void>(copy_all(in_memory, now));
    MessageStages::Stage messages = in_memory.take_all();
    for (OutgoingMessage& message : messages) {
        const Spool::Account account{.tally = message.inherited,
                                     .entries = std::move(message.entries)};  // without memory
        if (message.place && spool_->is_kept(*message.place)) {
            keep(account);
        } else {
            const ExportLoss cause = cause_of_loss(message.place);
            loses(message, cause);
            lose_records(account, cause);
        }
    }
    // The account first: it takes no memory, and the text does.
    const std::uint64_t removed = give_up(&Spool::drop_removed, ExportLoss::spool_damaged);
    spool_->visit_untaken([this](const Spool::Account& account) { keep(account); });
    account_.spool_octets.set(spool_->octets());
    if (removed > 0) {
        log_count(CollectorEventKind::spool_failed, now, "files with ", removed,
                  " records were removed");
    }
    log_damage(now);
}

/// Gives up files of the spool. @return  records that are lost
std::uint64_t SpoolQueue::give_up(void (Spool::*drop)(const Spool::AccountHandler&),
                                  ExportLoss cause) {
    struct {
        SpoolQueue& overflow;
        ExportLoss cause;
        std::uint64_t records;
    } given_up{*this, cause, 0};
    // The handler refers to one object, because a larger handler takes memory.
    (*spool_.*drop)([&given_up](const Spool::Account& account) {
        given_up.records += account.tally.records;
        given_up.overflow.lose(account, given_up.cause);
    });
    return given_up.records;
}

/// Why a message in memory is not in the spool at the end.
ExportLoss SpoolQueue::cause_of_loss(const std::optional<SpoolPlace>& place) const noexcept {
    if (!place) {
        return ExportLoss::write_failed;
    }
    return spool_->has(*place) ? ExportLoss::spool_damaged : ExportLoss::spool_full;
}

/// The sum of a former process's records is this collector's; this process's records are in
/// RecordAccounting, too.
void SpoolQueue::keep(const Spool::Account& account) noexcept {
    if (account.is_damaged) {
        lose(account, ExportLoss::spool_damaged);
        return;
    }
    for (const RecordEntry& record : account.entries) {
        accounting_.spooled(account_index_, record);
    }
    accounting_.spooled(account_index_, account.unread);
    account_.spooled.add(account.inherited());
}

/// Damaged records are lost by the damage, whatever the cause for the others is.
void SpoolQueue::lose(const Spool::Account& account, ExportLoss cause) noexcept {
    const ExportLoss why = account.is_damaged ? ExportLoss::spool_damaged : cause;
    lose_numbers(account, why);
    lose_records(account, why);
    if (account.is_damaged) {
        lost_ += account.tally.records;
        estimated_ += account.is_estimate ? account.tally.records : 0;
        account_.spool_estimated.add(account.is_estimate ? account.tally.records : 0);
    }
}

void SpoolQueue::lose_numbers(const Spool::Account& account, ExportLoss why) noexcept {
    for (const NumberRange& range : account.ranges) {
        account_.numbers.add(range, name_of(why));
    }
    if (account.ranges.empty()) {
        account_.numbers.add_unlisted(account.tally.records);
    }
}

void SpoolQueue::lose_records(const Spool::Account& account, ExportLoss why) noexcept {
    accounting_.lost(account_index_, account.entries, account.inherited(), why);
    accounting_.lost(account_index_, account.unread, why);
}

}  // namespace tributary
