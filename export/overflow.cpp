// SPDX-License-Identifier: Apache-2.0
#include "export/overflow.hpp"

#include <cerrno>
#include <utility>

#include "export/socket.hpp"

namespace tributary {

Overflow::Overflow(const ExportOptions& options, std::size_t index, std::uint64_t fingerprint,
                   DeliveryBook& book, CollectorEvents& events)
    : index_(index), book_(book), events_(events) {
    const SpoolOptions& spool = options.collectors.at(index).spool;
    if (!spool.is_on()) {
        return;
    }
    spool_ = std::make_unique<Spool>(spool, fingerprint);
    told_used_ = spool_->has_untaken();
    for (const RecordEntry& record : spool_->untaken_entries()) {
        book_.inherited(index_, record);
    }
    lose(spool_->drop_unusable(), ExportLoss::spool_unusable);
}

void Overflow::push(OutgoingMessage& message, ExportTime now) {
    if (!std::exchange(told_used_, true)) {
        events_.tell(CollectorEventKind::spool_used, now.uptime, {});
    }
    if (!write(message, false, now)) {
        lose(message.entries, ExportLoss::write_failed);
    }
    message.clear();
}

void Overflow::copy(OutgoingMessage& message, ExportTime now) {
    if (!message.place && !message.is_made_anew) {
        static_cast<void>(write(message, true, now));
    }
}

bool Overflow::write(OutgoingMessage& message, bool stays_in_memory, ExportTime now) {
    while (!spool_->has_room_for(message) && spool_->octets() > 0) {
        lose(spool_->drop_oldest(), ExportLoss::spool_full);
        events_.tell(CollectorEventKind::spool_full, now.uptime, {});
    }
    if (spool_->append(message, stays_in_memory)) {
        return true;
    }
    events_.tell(CollectorEventKind::spool_failed, now.uptime, words_for(errno));
    return false;
}

std::optional<OutgoingMessage> Overflow::take(ExportTime now) {
    std::optional<OutgoingMessage> message = spool_->take();
    if (std::exchange(damaged_, spool_->damaged()) != spool_->damaged()) {
        events_.tell(CollectorEventKind::spool_failed, now.uptime, "a part of it is damaged");
    }
    if (!spool_->has_untaken() && std::exchange(told_used_, false)) {
        events_.tell(CollectorEventKind::spool_emptied, now.uptime, {});
    }
    return message;
}

void Overflow::release(OutgoingMessage& message) noexcept {
    if (message.place) {
        spool_->done(*message.place);
        message.place.reset();
    }
}

void Overflow::keep_for_next_process(const std::vector<OutgoingMessage>& in_memory) {
    for (const OutgoingMessage& message : in_memory) {
        if (message.place && spool_->has(*message.place)) {
            keep(message.entries);
        } else {
            lose(message.entries,
                 message.place ? ExportLoss::spool_full : ExportLoss::write_failed);
        }
    }
    keep(spool_->untaken_entries());
}

void Overflow::keep(const std::vector<RecordEntry>& records) noexcept {
    for (const RecordEntry& record : records) {
        book_.spooled(index_, record);
    }
}

void Overflow::lose(const std::vector<RecordEntry>& records, ExportLoss cause) noexcept {
    for (const RecordEntry& record : records) {
        book_.lost(index_, record, cause);
    }
}

}  // namespace tributary
