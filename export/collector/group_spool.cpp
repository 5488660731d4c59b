// SPDX-License-Identifier: Apache-2.0
#include "export/collector/group_spool.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "export/spool/spooled_records.hpp"

namespace tributary {

namespace {

SpoolContent content_of(const MeteringProcess& metering) {
    const std::vector<RecordLayout> layouts = metering.layouts();
    SpoolContent content{.fingerprint = fingerprint_of(layouts.front()),
                         .record_bytes = record_size(layouts.front())};
    for (std::size_t table = 1; table < layouts.size(); ++table) {
        SpoolLayout& further = content.further.emplace_back(SpoolLayout{.is_there = false});
        if (metering.has(table)) {
            const TableElements elements = metering.elements_of(table);
            further = {.fingerprint = fingerprint_of(layouts[table], elements.key, elements.name),
                       .record_bytes = record_size(layouts[table])};
        }
    }
    return content;
}

/// The spool reads and writes the octets of a message.
void swap_records(OutgoingMessage& batch) noexcept { batch.octets.swap(batch.records); }

}  // namespace

GroupSpool::GroupSpool(const ExportOptions& options, const MeteringProcess& metering,
                       RecordAccounting& accounting, CollectorEventHandler handler)
    : flush_interval_(options.flush_interval),
      accounting_(accounting),
      events_("failover", accounting.account(kGroupSpool), std::move(handler)),
      spool_queue_(options.spool, kGroupSpool, content_of(metering), accounting, events_),
      kinds_(make_kinds(metering, {})) {}

/// Those of tables that do not stay; of free places they have no memory.
std::vector<GroupSpool::Kind> GroupSpool::make_kinds(const MeteringProcess& metering,
                                                     const TakenTables& staying) const {
    const std::vector<RecordLayout> layouts = metering.layouts();
    std::vector<Kind> kinds(layouts.size());
    for (std::size_t table = 0; table < kinds.size(); ++table) {
        Kind& kind = kinds[table];
        kind.layout = layouts[table];
        kind.record_bytes = record_size(layouts[table]);
        kind.batch.layout = table;
        if (is_on() && metering.has(table) && !staying.has(table)) {
            kind.batch.records.reserve(kBatchOctets);
            kind.batch.entries.reserve(kBatchOctets / kind.record_bytes);
        }
    }
    return kinds;
}

std::unique_ptr<GroupSpool::Tables> GroupSpool::prepare_tables(const MeteringProcess& metering,
                                                               const TakenTables& staying) const {
    return std::unique_ptr<Tables>(new Tables{.kinds = make_kinds(metering, staying),
                                              .staying = staying,
                                              .content = SpoolFingerprints(content_of(metering))});
}

void GroupSpool::take_tables(std::unique_ptr<Tables> prepared) noexcept {
    for (std::size_t table = 0; table < kinds_.size(); ++table) {
        if (prepared->staying.has(table)) {
            prepared->kinds[table] = std::move(kinds_[table]);
        }
    }
    kinds_ = std::move(prepared->kinds);
    spool_queue_.set_content(std::move(prepared->content));
}

void GroupSpool::add(const RecordToSend& record, ExportTime now) noexcept {
    Kind& kind = kinds_[record.layout];
    if (kind.batch.entries.empty()) {
        kind.batch.opened_at = now.uptime;
    }
    kind.batch.entries.push_back(record.entry);
    kind.batch.records.insert(kind.batch.records.end(), record.bytes,
                              record.bytes + kind.record_bytes);
    kind.batch.latest_end =
        std::max(kind.batch.latest_end, latest_packet(record.bytes, kind.layout));
    accounting_.stored(record.entry);
}

/// The oldest batch in memory. nullptr: there is none.
const GroupSpool::Kind* GroupSpool::next_batch() const noexcept {
    const Kind* next = nullptr;
    for (const Kind& kind : kinds_) {
        const bool is_older = next == nullptr || kind.batch.opened_at < next->batch.opened_at;
        next = !kind.batch.entries.empty() && is_older ? &kind : next;
    }
    return next;
}

bool GroupSpool::is_due(ExportTime now) const noexcept {
    const Kind* const next = next_batch();
    return next != nullptr &&
           now.uptime - next->batch.opened_at.value_or(now.uptime) >= flush_interval_;
}

bool GroupSpool::write(ExportTime now) {
    return std::ranges::all_of(
        kinds_, [&](Kind& kind) { return kind.batch.entries.empty() || store(kind.batch, now); });
}

/// @return  false: the disk refuses it, and it is as it was
bool GroupSpool::store(OutgoingMessage& batch, ExportTime now) {
    batch.data_records = static_cast<std::uint32_t>(batch.entries.size());
    swap_records(batch);
    const bool is_stored = spool_queue_.store(batch, now);
    swap_records(batch);
    return is_stored;
}

/// The time that a batch on the disk has to have. Collectors need not keep it.
void GroupSpool::note_latest_end(RecordBatch& batch) const noexcept {
    const Kind& kind = kinds_[batch.layout];
    for (std::size_t at = 0; at + kind.record_bytes <= batch.records.size();
         at += kind.record_bytes) {
        batch.latest_end =
            std::max(batch.latest_end, latest_packet(batch.records.data() + at, kind.layout));
    }
}

bool GroupSpool::copy(RecordBatch& batch, ExportTime now) {
    note_latest_end(batch);
    OutgoingMessage copied;
    static_cast<RecordBatch&>(copied) = std::move(batch);
    copied.data_records = static_cast<std::uint32_t>(copied.entries.size());
    RecordBatch former;
    former.place = copied.place;
    swap_records(copied);
    const bool is_copied = spool_queue_.copy(copied, now);
    swap_records(copied);
    batch = std::move(static_cast<RecordBatch&>(copied));
    if (is_copied) {
        release(former);
    }
    return is_copied;
}

/// The index of a batch of several messages; if it is none, the number of these batches.
std::size_t GroupSpool::find_shared(const SpoolPlace& place) const noexcept {
    const auto found = std::ranges::find_if(shared_, [&place](const SharedBatch& each) {
        return each.place.file == place.file && each.place.at == place.at;
    });
    return static_cast<std::size_t>(found - shared_.begin());
}

std::optional<SpoolPlace> GroupSpool::share(const SpoolPlace& place) noexcept {
    const std::size_t index = find_shared(place);
    if (index == shared_.size()) {
        try {
            shared_.push_back({.place = place});
        } catch (const std::bad_alloc&) {
            return std::nullopt;
        }
    }
    ++shared_[index].others;
    SpoolPlace of_message = place;
    of_message.has_more = true;
    return of_message;
}

void GroupSpool::release(RecordBatch& batch) noexcept {
    const std::size_t index = batch.place ? find_shared(*batch.place) : shared_.size();
    if (index == shared_.size()) {
        spool_queue_.release(batch);
        return;
    }
    batch.place.reset();
    if (--shared_[index].others == 0) {
        shared_.erase(shared_.begin() + static_cast<std::ptrdiff_t>(index));
    }
}

std::size_t GroupSpool::send_to(Collector& collector, ExportTime now) {
    if (!holds_on_disk()) {
        const Kind* const next = next_batch();
        if (next == nullptr) {
            return 0;
        }
        OutgoingMessage& batch = kinds_[next->batch.layout].batch;
        const std::size_t octets = batch.records.size();
        hand_over(batch, collector, now);
        batch.clear();
        return octets;
    }
    std::optional<OutgoingMessage> batch = take(now);
    if (!batch) {
        return 0;
    }
    swap_records(*batch);
    hand_over(*batch, collector, now);
    return batch->records.size();
}

/// The oldest batch on the disk that can be sent. Nothing: there is none, or no memory for it.
std::optional<OutgoingMessage> GroupSpool::take(ExportTime now) {
    while (holds_on_disk()) {
        std::optional<OutgoingMessage> batch = spool_queue_.take(now);
        if (!batch || make_entries(*batch)) {
            return batch;
        }
        spool_queue_.refuse(*batch, now);
    }
    return std::nullopt;
}

/// A former process's records have no entries yet. Without memory for them, or if the octets are no
/// records, they are lost: they can be read from the disk only once.
///
/// @return  false: they are no records
bool GroupSpool::make_entries(OutgoingMessage& batch) const {
    const Kind& kind = kinds_[batch.layout];
    if (!batch.entries.empty()) {
        return batch.entries.size() * kind.record_bytes == batch.octets.size();
    }
    if (tally_of_all(batch.octets, kind.layout) != batch.inherited) {
        return false;
    }
    try {
        batch.entries.reserve(batch.data_records);
    } catch (const std::bad_alloc&) {
        return false;
    }
    for (std::size_t at = 0; at < batch.octets.size(); at += kind.record_bytes) {
        const RecordTally tally = tally_of(batch.octets.data() + at, kind.layout);
        batch.entries.push_back({.number = kNoQueue,
                                 .queue = kNoQueue,
                                 .packets = tally.packets,
                                 .octets = tally.octets});
    }
    batch.inherited = {};
    return true;
}

void GroupSpool::hand_over(const RecordBatch& batch, Collector& collector, ExportTime now) {
    for (const RecordEntry& entry : batch.entries) {
        accounting_.handed_over(entry);
    }
    collector.add_batch(batch, now);
}

void GroupSpool::take_back(RecordBatch& batch, ExportTime now) {
    for (const RecordEntry& entry : batch.entries) {
        accounting_.stored(entry);
    }
    note_latest_end(batch);
    OutgoingMessage taken;
    static_cast<RecordBatch&>(taken) = std::move(batch);
    taken.data_records = static_cast<std::uint32_t>(taken.entries.size());
    swap_records(taken);
    const bool is_kept =
        taken.place && !taken.place->has_more && spool_queue_.is_kept(*taken.place);
    if (!is_kept || !keep(taken)) {
        store_again(taken, now);
    }
}

/// Keeps the entries of records that are on the disk already, for the end.
///
/// @return  false: there is no memory, and nothing has changed
bool GroupSpool::keep(OutgoingMessage& batch) {
    try {
        kept_.add_last(kept_.waiting, batch);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

/// A place with more records than these is not kept: the next process would send the others once
/// more.
void GroupSpool::store_again(OutgoingMessage& batch, ExportTime now) {
    RecordBatch former;
    former.place = std::exchange(batch.place, std::nullopt);
    if (!batch.entries.empty() && !spool_queue_.store(batch, now)) {
        accounting_.lost(kGroupSpool, batch.entries, {}, ExportLoss::write_failed);
    }
    release(former);
}

void GroupSpool::keep_for_next_process(ExportTime now) {
    if (!is_on()) {
        return;
    }
    for (Kind& kind : kinds_) {
        if (!kind.batch.entries.empty() && !store(kind.batch, now)) {
            accounting_.lost(kGroupSpool, kind.batch.entries, {}, ExportLoss::write_failed);
            kind.batch.clear();
        }
    }
    spool_queue_.keep_for_next_process(
        kept_, [](const OutgoingMessage&, ExportLoss) {}, now);
}

}  // namespace tributary
