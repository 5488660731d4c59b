// SPDX-License-Identifier: Apache-2.0
#include "daemon/table/table_queue.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>
#include <utility>

#include "daemon/pipeline/record_ring.hpp"
#include "daemon/table/table_exchange.hpp"
#include "flowcache/flow_cache.hpp"
#include "flowcache/hooked_groups.hpp"
#include "flowcache/keyed_burst.hpp"
#include "flowcache/record/with_record_size.hpp"
#include "flowcache/running_flows.hpp"
#include "flowcache/table/burst_keys.hpp"

namespace tributary {
namespace {

/// Records of declared tables have what is declared alone.
template <std::size_t kRecordBytes>
using TableCache = FlowCache<kRecordBytes, NoHookedGroups>;

template <std::size_t kRecordBytes>
class SizedTableQueue : public TableQueue {
public:
    SizedTableQueue(const TableQueueParts& parts, FlowHasher hasher,
                    BurstFilling filling = BurstFilling::at_once)
        : table_(parts.table.compiled()),
          keys_(table_),
          reads_keys_(table_.has_own_fields() || table_.extractor() != nullptr),
          filters_(parts.filters),
          memory_(Cache::bytes_needed(parts.table.options()), parts.numa_node, parts.pages),
          ring_(parts.table.layout(), parts.ring_slots, parts.numa_node, parts.pages,
                parts.table.index()),
          sink_(ring_, parts.when_ring_full),
          cache_(parts.table.options(), parts.table.layout(), hasher, memory_.bytes(),
                 counters.cache),
          keyed_(cache_.burst(filling)),
          watcher_(parts.watcher) {
        if (watcher_ != nullptr) {
            constexpr std::size_t kOne = 1;
            flows_.replace_holders(kOne);
            watcher_->attach(flows_);
        }
    }
    ~SizedTableQueue() override {
        if (watcher_ != nullptr) {
            flows_.replace_holders(0);
            watcher_->detach();
        }
    }

    void match(const FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept override {
        keyed_.clear();
        if (!packets.empty()) {
            counters.metered.add(packets.size());
            add_matching(burst, packets);
        }
    }
    void account(const FrameBurst& burst,
                 std::span<const KeyedPacket> /*packets*/) noexcept override {
        const std::span<KeyedPacket> matching = keyed_.finish();
        go_on_rescheduling();
        counters.matched.add(matching.size());
        account_watched(cache_, matching, sink_, watcher_);
        cache_.expire_some(burst.now, kExpiryBudget, sink_);
        sink_.hand_over();
    }
    void end_some(const FrameBurst& burst) noexcept override { end_some_at(burst.now); }
    [[nodiscard]] bool has_work() noexcept override {
        const std::uint64_t ended = counters.cache.read_ended();
        const bool has_ended = std::exchange(ended_, ended) != ended;
        return has_ended || is_rescheduling_ || cache_.has_waiting() || sink_.has_waiting();
    }
    [[nodiscard]] bool drain(Timestamp now) noexcept override {
        return cache_.end_all(now, sink_) && sink_.hand_over();
    }
    [[nodiscard]] bool end_some(CacheScan& scan, std::size_t most,
                                Timestamp now) noexcept override {
        return scan.end_some(cache_, most, now, sink_);
    }
    [[nodiscard]] bool copy_some(CacheScan& scan, std::size_t most,
                                 RecordCopies& copies) noexcept override {
        return scan.copy_some(cache_, most, [&](const auto& record) { return copies.add(record); });
    }
    void set_timeouts(const Timeouts& timeouts) noexcept override {
        cache_.set_timeouts(timeouts);
        rescheduling_ = {};
        is_rescheduling_ = true;
    }
    [[nodiscard]] RecordSource& records() noexcept override { return ring_; }
    [[nodiscard]] RingFill ring() const noexcept override { return ring_.fill(); }
    [[nodiscard]] bool huge_pages() const noexcept override { return memory_.huge_pages(); }

protected:
    using Cache = TableCache<kRecordBytes>;

    [[nodiscard]] KeyedBurst& keyed() noexcept { return keyed_; }
    [[nodiscard]] Cache& cache() noexcept { return cache_; }
    [[nodiscard]] RingSink<kRecordBytes>& sink() noexcept { return sink_; }
    void end_some_at(Timestamp now) noexcept {
        if (ending_.end_some(cache_, kEndedAtATime, now, sink_)) {
            ending_ = {};  // another queue's packets may have begun flows behind the scan
        }
        const bool is_handed_over = sink_.hand_over();
        set_ended(cache_.is_empty() && is_handed_over);
    }
    /// nullptr: there is none.
    [[nodiscard]] FlowWatcher* watcher() const noexcept { return watcher_; }
    void go_on_rescheduling() noexcept {
        if (is_rescheduling_) [[unlikely]] {
            is_rescheduling_ = !rescheduling_.schedule_some(cache_, kRescheduledAtATime);
        }
    }
    /// Entries that a change of timeouts visits beside a burst, at a few dozen nanoseconds each.
    static constexpr std::size_t kRescheduledAtATime = 8;
    /// The same where the table is taken away; its packets cost nothing any more.
    static constexpr std::size_t kEndedAtATime = 16;

    /// The frames that pass all filters; nothing: one of them cannot decide yet.
    [[nodiscard]] std::optional<PacketMask> passed_frames(const FrameBurst& burst) const noexcept {
        PacketMask passed = mask_of_all(burst.frames);
        if (filters_ == nullptr) {
            return passed;
        }
        for (const FilterSlot& slot : *filters_) {
            PacketSelector* const filter = slot.get();
            if (filter == nullptr || !filter->is_ready()) [[unlikely]] {
                return std::nullopt;
            }
            passed &= filter->select(burst.frames);
        }
        return passed;
    }

protected:
    /// Calls `use` with each packet that passes the filters.
    template <class Use>
    void for_each_passed(const FrameBurst& burst, std::span<const KeyedPacket> packets,
                         Use use) noexcept {
        const std::optional<PacketMask> passed = passed_frames(burst);
        if (!passed) [[unlikely]] {
            counters.filter_not_ready.add(packets.size());
            return;
        }
        if (filters_ == nullptr) {
            std::ranges::for_each(packets, use);
            return;
        }
        std::uint64_t filtered = 0;
        for (const KeyedPacket& packet : packets) {
            if ((*passed & mask_of(burst.index_of(*packet.packet))) == 0) {
                ++filtered;
            } else {
                use(packet);
            }
        }
        counters.filtered.add(filtered);
    }
    /// Whether a packet has the table's fields of the user's own.
    [[nodiscard]] bool has_fields(const KeyedPacket& packet) const noexcept {
        return !table_.has_own_fields() || table_.has_fields(*packet.packet, *packet.fields);
    }

private:
    void add_matching(const FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept {
        if (!reads_keys_) {
            for_each_passed(burst, packets, [this](const KeyedPacket& packet) {
                keyed_.add(*packet.packet, *packet.fields);
            });
            return;
        }
        keys_.clear();
        if (filters_ == nullptr) {
            keys_.add(packets);
        } else {
            for_each_passed(burst, packets, [this](const KeyedPacket& packet) {
                keys_.add(std::span(&packet, 1));
            });
        }
        const PacketMask with_fields = keys_.read();
        const auto count = static_cast<std::size_t>(std::popcount(with_fields));
        counters.without_field.add(keys_.packets().size() - count);
        keyed_.add(keys_.packets(), with_fields, keys_.octets(0), keys_.stride());
    }

    const CompiledTable& table_;
    BurstKeys keys_;
    bool reads_keys_;  ///< keys go beyond FlowKey, or packets may lack a field
    const std::deque<FilterSlot>* filters_;
    NumaMemory memory_;
    RecordRing<kRecordBytes> ring_;
    RingSink<kRecordBytes> sink_;
    Cache cache_;
    KeyedBurst keyed_;
    std::uint64_t ended_ = 0;  ///< flows, at the last has_work()
    CacheScan rescheduling_;   ///< after a change of timeouts
    bool is_rescheduling_ = false;
    CacheScan ending_;  ///< of end_some_at()
    CacheFlows<Cache> flows_{cache_};
    FlowWatcher* watcher_;
};

/// The part of a table that is spread by key: the records of those keys that this queue owns.
template <std::size_t kRecordBytes>
class SpreadTableQueue final : public SizedTableQueue<kRecordBytes>, OrderedExtracts {
    using Base = SizedTableQueue<kRecordBytes>;

public:
    SpreadTableQueue(const TableQueueParts& parts, FlowHasher hasher)
        : Base(parts, hasher, BurstFilling::one_by_one),
          exchange_(*parts.exchange),
          queue_(parts.queue),
          is_by_number_(parts.exchange->spreading().order == SpreadOrder::capture),
          sender_(*parts.exchange, parts.queue),
          inbox_(*parts.exchange, parts.queue) {
        if (is_by_number_) {
            queues().add(queue_, *this);
        }
    }

    void match(const FrameBurst& /*burst*/,
               std::span<const KeyedPacket> /*packets*/) noexcept override {}
    void account(const FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept override {
        sender_.clear();
        if (!packets.empty()) {
            this->counters.metered.add(packets.size());
            send_matching(burst, packets);
        }
        this->counters.matched.add(sender_.count());
        Base::go_on_rescheduling();
        if (is_by_number_) {
            if (queues().is_last(queue_, *this)) {
                queues().send(queue_, burst.next_number);
            }
        } else {
            queues().set_clock(queue_, burst.now);  // before the extracts: see ExtractInbox::take()
            this->counters.refused_ring_full.add(sender_.push());
            account_round(burst.now);
            if (!had_extracts_) {
                Base::cache().expire_some(inbox_.clock(), kExpiryBudget, Base::sink());
            }
        }
        Base::sink().hand_over();
    }
    void end_some(const FrameBurst& burst) noexcept override {
        this->set_ended(false);
        // With TableExchange::is_empty(): a thread that sees the ring empty sees this.
        std::atomic_thread_fence(std::memory_order_release);
        queues().set_clock(queue_, burst.now);
        account_round(burst.now);
        Base::end_some_at(std::max(burst.now, inbox_.clock()));
    }
    [[nodiscard]] bool has_work() noexcept override {
        return Base::has_work() || had_extracts_;  // where some came, more may
    }
    [[nodiscard]] bool drain(Timestamp now) noexcept override {
        queues().set_progress(queue_, ExchangeQueues::kEnded);
        const bool was_last = queues().have_all_ended() || queues().is_abandoned();
        do {
            if (!is_by_number_) {
                inbox_.begin_round(now);
            }
        } while (account_extracts());
        if (!was_last) {
            Base::sink().hand_over();
            return false;
        }
        return Base::drain(std::max(now, inbox_.clock()));
    }
    void refuse_rest() noexcept override {
        this->counters.refused_owner_ended.add(inbox_.drop_all());
    }
    [[nodiscard]] bool end_some(CacheScan& scan, std::size_t most,
                                Timestamp now) noexcept override {
        return Base::end_some(scan, most, std::max(now, inbox_.clock()));
    }

private:
    void send_matching(const FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept {
        std::uint64_t without_field = 0;
        Base::for_each_passed(burst, packets, [&](const KeyedPacket& packet) {
            if (!Base::has_fields(packet)) {
                ++without_field;
                return;
            }
            const std::uint64_t number =
                is_by_number_ ? burst.numbers[burst.index_of(*packet.packet)] : 0;
            sender_.add(*packet.packet, *packet.fields, number);
        });
        this->counters.without_field.add(without_field);
    }
    [[nodiscard]] ExchangeQueues& queues() const noexcept { return exchange_.queues(); }
    [[nodiscard]] std::size_t push_extracts() noexcept override { return sender_.push(); }
    [[nodiscard]] std::uint64_t first_unsent() const noexcept override {
        return sender_.first_unsent();
    }
    void refuse_unsent() noexcept override {
        this->counters.refused_ring_full.add(sender_.push());
        sender_.clear();
    }
    /// Live: one round of the inbox.
    void account_round(Timestamp now) noexcept {
        inbox_.begin_round(now);
        had_extracts_ = account_extracts();
    }
    /// Accounts what is in the inbox: live of one round, else all whose turn has come.
    ///
    /// @return  whether there was something
    bool account_extracts() noexcept override {
        bool were_there = false;
        for (std::size_t count = inbox_.fill(); count > 0; count = inbox_.fill()) {
            were_there = true;
            KeyedBurst& keyed = Base::keyed();
            keyed.clear();
            for (std::size_t place = 0; place < count; ++place) {
                keyed.add(inbox_.packet(place), inbox_.fields(place));
            }
            account_watched(Base::cache(), keyed.finish(), Base::sink(), Base::watcher());
            Base::cache().expire_some(inbox_.clock(), kExpiryBudget, Base::sink());
            inbox_.release();
        }
        inbox_.release();
        if (were_there) {
            Base::sink().hand_over();
        }
        return were_there;
    }

    TableExchange& exchange_;
    std::size_t queue_;
    bool is_by_number_;
    ExtractSender sender_;
    ExtractInbox inbox_;
    bool had_extracts_ = false;  ///< live: in the last round
};

}  // namespace

std::array<std::size_t, 2> table_memory(const TableQueueParts& parts) noexcept {
    return with_record_size(parts.table.layout(), [&](auto size) {
        return std::array{TableCache<size()>::bytes_needed(parts.table.options()),
                          RecordRing<size()>::bytes_needed(parts.ring_slots)};
    });
}

std::unique_ptr<TableQueue> make_table_queue(const TableQueueParts& parts, FlowHasher hasher) {
    return with_record_size(parts.table.layout(), [&](auto size) -> std::unique_ptr<TableQueue> {
        if (parts.exchange != nullptr) {
            return std::make_unique<SpreadTableQueue<size()>>(parts, hasher);
        }
        return std::make_unique<SizedTableQueue<size()>>(parts, hasher);
    });
}

}  // namespace tributary
