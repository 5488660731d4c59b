// SPDX-License-Identifier: Apache-2.0
// What becomes of the items that a session has sent, when some of them have not arrived.
#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "export/collector/message_collector.hpp"
#include "export/record_items.hpp"

namespace tributary {
namespace {

std::optional<ExportLoss> loss_of(ItemOutcome outcome) noexcept {
    switch (outcome) {
        case ItemOutcome::refused:
            return ExportLoss::send_failed;
        case ItemOutcome::unconfirmed:
            return ExportLoss::unconfirmed;
        default:
            return std::nullopt;
    }
}

/// The items of one flow record: two where a biflow was split. Or one item of many records, which
/// have its outcome in common.
struct ItemsOfRecords {
    RecordTally tally;
    bool has_delivered{};
    bool has_refused{};
    bool has_unconfirmed{};
    bool has_not_sent{};

    void add(const RecordItem& item, ItemOutcome outcome) noexcept {
        tally += item.tally;
        has_delivered = has_delivered || outcome == ItemOutcome::delivered;
        has_refused = has_refused || outcome == ItemOutcome::refused;
        has_unconfirmed = has_unconfirmed || outcome == ItemOutcome::unconfirmed;
        has_not_sent = has_not_sent || outcome == ItemOutcome::not_sent;
    }
    /// Whether it is lost, since one of its items is.
    ///
    /// @param goes_whole  it may go to another collector, which would get it whole: an item that
    ///                    has arrived would then arrive twice
    [[nodiscard]] std::optional<ExportLoss> loss(bool goes_whole) const noexcept {
        if (has_refused) {
            return ExportLoss::send_failed;
        }
        const bool is_half_there = goes_whole && has_delivered && has_not_sent;
        return has_unconfirmed || is_half_there ? std::optional(ExportLoss::unconfirmed)
                                                : std::nullopt;
    }
};

/// Reads the items of the next record, or of the next ones.
///
/// @param read  items before them
ItemsOfRecords next_records(RecordItems& items, std::span<const ItemOutcome> outcomes,
                            std::size_t& read) noexcept {
    ItemsOfRecords records;
    RecordItem item;
    while (items.next(item)) {
        records.add(item, outcomes[read++]);
        RecordItems behind(items.rest());
        if (!behind.next(item) || item.tally.records > 0) {
            break;
        }
    }
    return records;
}

/// Moves the items of records that were not sent to the front.
///
/// @param from  the records' items
/// @param to    octets that are kept already
/// @return      octets that are kept now
std::size_t keep_not_sent(std::span<std::byte> octets, MessageView from,
                          std::span<const ItemOutcome> outcomes, RecordTally tally,
                          std::size_t to) noexcept {
    RecordItems items(from);
    for (const ItemOutcome outcome : outcomes) {
        const MessageView before = items.rest();
        static_cast<void>(items.next());
        const std::size_t length = before.size() - items.rest().size();
        if (outcome == ItemOutcome::not_sent) {
            std::memmove(octets.data() + to, before.data(), length);
            set_tally(octets.subspan(to, length), tally);
            tally = {};
            to += length;
        }
    }
    return to;
}

/// Places of entries in a message.
struct EntryMove {
    std::size_t from{};
    std::size_t to{};  ///< not behind `from`
    std::size_t count{};
};

/// Moves entries, and the records that are kept with them, to the front.
///
/// @param kept_octets  of each record; 0: none is kept
void move_entries(OutgoingMessage& message, const EntryMove& move,
                  std::size_t kept_octets) noexcept {
    const auto at = [](std::size_t place) { return static_cast<std::ptrdiff_t>(place); };
    std::copy_n(message.entries.begin() + at(move.from), move.count,
                message.entries.begin() + at(move.to));
    if (kept_octets > 0) {
        std::memmove(message.records.data() + move.to * kept_octets,
                     message.records.data() + move.from * kept_octets, move.count * kept_octets);
    }
}

}  // namespace

/// Counts what became of each record, and keeps those that the collector does not have.
void MessageCollector::settle_by_item(ExportTime now) {
    auto message = messages_.sent.begin();
    const auto settle = [&](std::span<const ItemOutcome> items) {
        const auto settled = message++;
        settle_items(*settled, items, now);
        if (settled->octets.empty()) {
            release(*settled);
            messages_.drop(messages_.sent, settled);
        }
    };
    transport_->settle_by_item(std::ref(settle), now.uptime);  // std::function takes no memory
    follow_session();
}

void MessageCollector::settle_items(OutgoingMessage& message, std::span<const ItemOutcome> items,
                                    ExportTime now) noexcept {
    const bool is_inherited = message.entries.empty();
    const std::size_t kept_octets = kept_octets_[message.layout];
    RecordItems rest(message.octets);
    RecordTally inherited;  // that stays
    std::size_t octets = 0;
    std::size_t kept = 0;
    std::size_t read = 0;
    std::uint32_t sent = 0;
    std::size_t index = 0;
    while (read < items.size()) {
        const MessageView before = rest.rest();
        const std::size_t first = read;
        const ItemsOfRecords records = next_records(rest, items, read);
        const std::size_t length = before.size() - rest.rest().size();
        const std::size_t count = is_inherited ? 0 : records.tally.records;
        const std::optional<ExportLoss> loss = records.loss(keeps_records_);
        if (!loss && records.has_not_sent) {
            octets = keep_not_sent(message.octets, before.first(length),
                                   items.subspan(first, read - first), records.tally, octets);
            sent += static_cast<std::uint32_t>(
                std::ranges::count(items.subspan(first, read - first), ItemOutcome::not_sent));
            inherited += records.tally;
            move_entries(message, {.from = index, .to = kept, .count = count}, kept_octets);
            kept += count;
            index += count;
            continue;
        }
        if (loss) {
            lose_items(before.first(length), items.subspan(first, read - first), *loss);
        }
        if (is_inherited) {
            settle_record(nullptr, records.tally, loss, message.opened_at, now);
        }
        for (const RecordEntry& entry : std::span(message.entries).subspan(index, count)) {
            settle_record(&entry, {}, loss, message.opened_at, now);
        }
        index += count;
    }
    message.data_records = sent;
    message.entries.resize(kept);
    message.records.resize(kept * kept_octets);
    message.inherited = is_inherited ? inherited : RecordTally{};
    messages_.shorten(message, octets);
    if (read > sent && octets > 0) {
        note_rest_on_disk(message);
    }
}

/// What stays is another message than the one on the disk. In the group's spool the whole batch
/// stays there: a kill would lose the rest otherwise.
void MessageCollector::note_rest_on_disk(OutgoingMessage& rest) noexcept {
    if (group_spool_ == nullptr) {
        spool_queue_.shorten(rest);
    } else if (rest.place) {
        rest.place->has_more = true;
    }
}

/// Notes the numbers of a lost record's items that the collector does not have for sure.
///
/// @param of_record  for items that are given up because another item was lost
void MessageCollector::lose_items(MessageView record, std::span<const ItemOutcome> items,
                                  ExportLoss of_record) noexcept {
    RecordItems rest(record);
    for (const ItemOutcome outcome : items) {
        const MessageView before = rest.rest();
        static_cast<void>(rest.next());
        const MessageView item = before.first(before.size() - rest.rest().size());
        if (outcome != ItemOutcome::delivered) {
            format_->lose_numbers(item, name_of(loss_of(outcome).value_or(of_record)),
                                  account_.numbers);
        }
    }
}

/// Counts the outcome of a record.
///
/// @param entry  nullptr: they are records of a former process
/// @param tally  of these
void MessageCollector::settle_record(const RecordEntry* entry, const RecordTally& tally,
                                     std::optional<ExportLoss> loss,
                                     std::optional<std::chrono::nanoseconds> opened_at,
                                     ExportTime now) noexcept {
    if (loss) {
        if (entry != nullptr) {
            accounting_.lost(account_index_, *entry, *loss);
        } else {
            accounting_.lost(account_index_, {}, tally, *loss);
        }
        return;
    }
    ++progress_;
    if (entry == nullptr) {
        account_.records.add(tally);
        return;
    }
    accounting_.delivered(account_index_, *entry);
    if (opened_at) {
        account_.latency.add(now.uptime - *opened_at, 1);
    }
}

}  // namespace tributary
