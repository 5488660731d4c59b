// SPDX-License-Identifier: Apache-2.0
#include "daemon/table/table_exchange.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <thread>

#include "flowcache/record/flow_hasher.hpp"

namespace tributary {

bool ExchangeQueues::have_all_ended() const noexcept {
    for (std::size_t queue = 0; queue < states_.size(); ++queue) {
        if (progress(queue) != kEnded) {
            return false;
        }
    }
    return true;
}

/// Sends what all tables have, as far as there is room, and says how far this queue has come.
///
/// @return  whether nothing is left to be sent
bool ExchangeQueues::push_all(std::size_t queue) noexcept {
    std::size_t unsent = 0;
    std::uint64_t first = kEnded;
    for (OrderedExtracts* const table : tables_[queue]) {
        unsent += table->push_extracts();
        first = std::min(first, table->first_unsent());
    }
    if (unsent > 0) {
        set_progress(queue, first);
    }
    return unsent == 0;
}

/// Accounts what has come to this queue. @return  whether there was something
bool ExchangeQueues::account_all(std::size_t queue) noexcept {
    bool were_there = false;
    for (OrderedExtracts* const table : tables_[queue]) {
        were_there = table->account_extracts() || were_there;
    }
    return were_there;
}

/// Counts as refused what is not sent.
void ExchangeQueues::refuse_all(std::size_t queue) noexcept {
    for (OrderedExtracts* const table : tables_[queue]) {
        table->refuse_unsent();
    }
}

void ExchangeQueues::send(std::size_t queue, std::uint64_t next_number) noexcept {
    while (!push_all(queue)) {
        if (is_abandoned()) [[unlikely]] {
            refuse_all(queue);
            break;
        }
        if (!account_all(queue)) {
            std::this_thread::yield();
        }
    }
    set_progress(queue, next_number);
    static_cast<void>(account_all(queue));
}

TableExchange::TableExchange(const DeclaredTable& table, const TableSpreading& spreading,
                             ExchangeQueues& queues)
    : table_(table),
      spreading_(spreading),
      owners_(FlowHasher::random(), table.options(), table.layout(),
              static_cast<std::uint16_t>(spreading.queues)),
      queues_(queues) {}

void TableExchange::add_inbox(std::optional<unsigned> numa_node, PageUse pages) {
    Inbox& inbox = inboxes_.emplace_back(inbox_bytes(table(), spreading_), numa_node, pages);
    const std::size_t octets = ExtractRing::bytes_needed(slot_octets(), spreading_.slots);
    for (std::size_t sender = 0; sender < spreading_.queues; ++sender) {
        inbox.rings.emplace_back(inbox.memory.bytes().data() + sender * octets, slot_octets(),
                                 spreading_.slots);
    }
}

bool TableExchange::is_empty() const noexcept {
    bool are_empty = true;
    for (std::size_t owner = 0; owner < inboxes_.size(); ++owner) {
        are_empty = are_empty && inbox(owner).records == 0;
    }
    std::atomic_thread_fence(std::memory_order_acquire);  // pairs with SpreadTableQueue::end_some()
    return are_empty;
}

RingFill TableExchange::inbox(std::size_t owner) const noexcept {
    RingFill sum;
    for (const ExtractRing& ring : inboxes_[owner].rings) {
        const RingFill fill = ring.fill();
        sum.records += fill.records;
        sum.room += fill.room;
    }
    return sum;
}

void ExchangeQueues::set_clock(std::size_t queue, Timestamp now) noexcept {
    std::atomic<Timestamp::rep>& clock = states_[queue].clock;
    const Timestamp said{Timestamp::duration{clock.load(std::memory_order_relaxed)}};
    if (now < said || now >= said + kClockStep) {
        clock.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    }
}

Timestamp ExchangeQueues::latest_clock() const noexcept {
    Timestamp::rep latest = 0;
    for (const QueueState& state : states_) {
        latest = std::max(latest, state.clock.load(std::memory_order_relaxed));
    }
    return Timestamp{Timestamp::duration{latest}};
}

ExtractSender::ExtractSender(TableExchange& exchange, std::size_t queue)
    : exchange_(exchange),
      queue_(queue),
      slot_octets_(exchange.slot_octets()),
      octets_(kBurstPackets * slot_octets_),
      lists_(exchange.spreading().queues) {}

void ExtractSender::add(const PacketView& packet, const PacketFields& fields,
                        std::uint64_t number) noexcept {
    std::byte* const at = slot(count_);
    auto* const extract = new (at) PacketExtract;
    extract->take(packet, fields, number);
    std::byte* const gathered = at + sizeof(PacketExtract);
    exchange_.table().gather(packet, fields, gathered);
    PacketView view = packet;
    view.captured = {gathered, slot_octets_ - sizeof(PacketExtract)};
    List& list = lists_[exchange_.owners().of(view, fields)];
    list.places[list.count] = static_cast<std::uint8_t>(count_);
    ++list.count;
    numbers_[count_] = number;
    ++count_;
}

std::size_t ExtractSender::push() noexcept {
    std::size_t unsent = 0;
    for (std::size_t owner = 0; owner < lists_.size(); ++owner) {
        List& list = lists_[owner];
        if (list.sent == list.count) {
            continue;
        }
        const std::uint8_t* const places = list.places.data() + list.sent;
        list.sent += exchange_.ring(queue_, owner)
                         .push(list.count - list.sent, [&](std::size_t i, std::byte* to) {
                             std::memcpy(to, slot(places[i]), slot_octets_);
                         });
        unsent += list.count - list.sent;
    }
    return unsent;
}

std::uint64_t ExtractSender::first_unsent() const noexcept {
    std::uint64_t first = ExchangeQueues::kEnded;
    for (const List& list : lists_) {
        if (list.sent < list.count) {
            first = std::min(first, numbers_[list.places[list.sent]]);
        }
    }
    return first;
}

void ExtractSender::clear() noexcept {
    count_ = 0;
    for (List& list : lists_) {
        list.count = 0;
        list.sent = 0;
    }
}

ExtractInbox::ExtractInbox(TableExchange& exchange, std::size_t queue)
    : exchange_(exchange),
      queue_(queue),
      gathered_octets_(exchange.table().gathered_octets()),
      looks_(exchange.spreading().queues) {}

void ExtractInbox::begin_round(Timestamp now) noexcept {
    latest_ = std::max(now, exchange_.queues().latest_clock());
    const bool has_gone_back = clock_ > latest_ + kTurn;
    clock_ = has_gone_back ? latest_ : std::max(clock_, latest_);
    sender_ = 0;
    left_ = kBurstPackets;
}

std::size_t ExtractInbox::fill() noexcept {
    count_ = 0;
    if (exchange_.spreading().order == SpreadOrder::capture) {
        fill_by_number();
    } else {
        fill_by_arrival();
    }
    return count_;
}

void ExtractInbox::fill_by_arrival() noexcept {
    while (sender_ < looks_.size() && count_ < kBurstPackets) {
        const std::size_t most = std::min(left_, kBurstPackets - count_);
        Look& look = looks_[sender_];
        look = {.slots = exchange_.ring(sender_, queue_).look(most)};
        const std::size_t found = look.slots.count();
        for (std::size_t i = 0; i < found; ++i) {
            take(look);
        }
        left_ -= found;
        if (found < most || left_ == 0) {
            ++sender_;
            left_ = kBurstPackets;
        }
    }
}

void ExtractInbox::look_into(std::size_t sender) noexcept {
    Look& look = looks_[sender];
    // Before the ring: see progress().
    const std::uint64_t progress = exchange_.queues().progress(sender);
    look = {.slots = exchange_.ring(sender, queue_).look(kBurstPackets), .floor = progress};
    const std::size_t found = look.slots.count();
    if (found > 0) {
        const std::uint64_t last = extract_in(look.slots[found - 1]).number;
        look.next = extract_in(look.slots[0]).number;
        look.floor = found < kBurstPackets ? std::max(progress, last + 1) : last + 1;
    }
}

/// The ring whose next extract is the next one of all.
///
/// @return  nullptr: there is none, or one with a lower number may still come
ExtractInbox::Look* ExtractInbox::next_by_number() noexcept {
    Look* least = nullptr;
    std::uint64_t floor = ExchangeQueues::kEnded;
    for (Look& look : looks_) {
        if (look.taken == look.slots.count()) {
            floor = std::min(floor, look.floor);
        } else if (least == nullptr || look.next < least->next) {
            least = &look;
        }
    }
    return least == nullptr || least->next >= floor ? nullptr : least;
}

void ExtractInbox::fill_by_number() noexcept {
    for (std::size_t sender = 0; sender < looks_.size(); ++sender) {
        look_into(sender);
    }
    while (count_ < kBurstPackets) {
        Look* const next = next_by_number();
        if (next == nullptr) {
            return;
        }
        take(*next);
    }
}

void ExtractInbox::take(Look& look) noexcept {
    const std::byte* const slot = look.slots[look.taken];
    PacketView& packet = packets_[count_];
    extract_in(slot).give({slot + sizeof(PacketExtract), gathered_octets_}, packet,
                          fields_[count_]);
    const bool is_by_number = exchange_.spreading().order == SpreadOrder::capture;
    if (!is_by_number && packet.clock > latest_ + kTurn) [[unlikely]] {
        // Its queue's clock may have gone ahead since the round began, as with its first packets.
        latest_ = std::max(latest_, exchange_.queues().latest_clock());
    }
    if (is_by_number || packet.clock <= latest_ + kTurn) {
        clock_ = std::max(clock_, packet.clock);
    }
    packet.clock = clock_;
    packet.seen_at = std::min(packet.seen_at, clock_);  // stamped before the clock went back
    ++count_;
    ++look.taken;
    if (look.taken < look.slots.count()) {
        look.next = extract_in(look.slots[look.taken]).number;
    }
}

void ExtractInbox::release() noexcept {
    for (std::size_t sender = 0; sender < looks_.size(); ++sender) {
        Look& look = looks_[sender];
        if (look.slots.count() > 0) {
            exchange_.ring(sender, queue_).end_look(look.taken);
            look = {};
        }
    }
}

std::size_t ExtractInbox::drop_all() noexcept {
    std::size_t dropped = 0;
    for (std::size_t sender = 0; sender < looks_.size(); ++sender) {
        ExtractRing& ring = exchange_.ring(sender, queue_);
        for (std::size_t count = ring.look(kBurstPackets).count(); count > 0;
             count = ring.look(kBurstPackets).count()) {
            ring.end_look(count);
            dropped += count;
        }
    }
    return dropped;
}

}  // namespace tributary
