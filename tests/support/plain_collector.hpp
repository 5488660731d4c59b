// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "export/collector/collector.hpp"
#include "export/collector/group_spool.hpp"
#include "flowcache/record/flow_record.hpp"

// A collector that is made of nothing but the interface, for the tests of CollectorGroup.
namespace tributary::test {

/// The other side of a PlainCollector: what it has got, and how it behaves.
struct PlainReceiver {
    std::vector<std::uint64_t> ports;  ///< source ports of the flows, in the order of arrival
    std::vector<std::size_t> layouts;  ///< of each
    bool is_there = true;              ///< it can be reached
    bool takes = true;                 ///< and takes records; otherwise they wait
    bool refuses{};                    ///< all that comes
};

/// Gives records, as they are, to a PlainReceiver.
class PlainCollector final : public Collector {
public:
    static constexpr std::size_t kRecordsThatWait = 1000;

    PlainCollector(const CollectorParts& parts, PlainReceiver& receiver)
        : accounting_(parts.accounting),
          account_(parts.account),
          spool_(parts.group_spool),
          layouts_(parts.metering.layouts()),
          receiver_(receiver) {}

    void advance(ExportTime /*now*/) override {
        sessions_ += std::exchange(was_there_, receiver_.is_there) != receiver_.is_there ? 1 : 0;
        while (!is_dead_ && receiver_.is_there && receiver_.takes && !waiting_.empty()) {
            settle(waiting_.front());
            waiting_.pop_front();
        }
    }
    [[nodiscard]] bool has_room() const noexcept override {
        return !is_dead_ && waiting_records() < kRecordsThatWait;
    }
    [[nodiscard]] bool is_dead() const noexcept override { return is_dead_; }
    [[nodiscard]] bool is_up() const noexcept override { return receiver_.is_there && !is_dead_; }
    [[nodiscard]] bool has_session() const noexcept override { return is_up(); }
    [[nodiscard]] bool is_waiting() const noexcept override { return !waiting_.empty(); }
    [[nodiscard]] std::size_t buffer() const noexcept override {
        return kRecordsThatWait * sizeof(FlowRecordCore);
    }

    void add(const RecordToSend& record, ExportTime now) override {
        if (is_dead_) {
            accounting_.lost(account_, record.entry, ExportLoss::collector_away);
            return;
        }
        RecordBatch one;
        one.layout = record.layout;
        one.entries.push_back(record.entry);
        one.records.assign(record.bytes, record.bytes + octets_of(record.layout));
        one.opened_at = now.uptime;
        waiting_.push_back(std::move(one));
    }
    void add_batch(const RecordBatch& batch, ExportTime /*now*/) override {
        waiting_.push_back(batch);
    }
    [[nodiscard]] bool keeps_records() const noexcept override { return true; }
    void hand_back(const RecordBatchHandler& taker, ExportTime /*now*/) override {
        for (RecordBatch& batch : waiting_) {
            taker(batch);
        }
        waiting_.clear();
    }
    void end_and_hand_back(const RecordBatchHandler& taker, ExportTime now) override {
        is_dead_ = true;
        hand_back(taker, now);
    }
    [[nodiscard]] bool copy_to_spool(ExportTime now) override {
        for (RecordBatch& batch : waiting_) {
            if (!batch.place && !spool_->copy(batch, now)) {
                return false;
            }
        }
        return true;
    }
    void send_what_can_leave(ExportTime now) override { advance(now); }
    [[nodiscard]] bool flush(ExportTime now) override {
        advance(now);
        return waiting_.empty();
    }
    void abandon(ExportTime /*now*/) override {
        is_dead_ = true;
        for (RecordBatch& batch : waiting_) {
            accounting_.lost(account_, batch.entries, {}, ExportLoss::collector_away);
            release(batch);
        }
        waiting_.clear();
    }
    void close() override {}
    [[nodiscard]] std::unique_ptr<CollectorChange> prepare_change(
        const CollectorOptions& /*today*/, const CollectorOptions& /*wanted*/) override {
        return nullptr;
    }
    void change(std::unique_ptr<CollectorChange> /*prepared*/) noexcept override {}
    [[nodiscard]] std::unique_ptr<CollectorTables> prepare_tables(
        const MeteringProcess& metering, const TableChoice& /*choice*/) override {
        auto prepared = std::make_unique<NextTables>();
        prepared->layouts = metering.layouts();
        return prepared;
    }
    void take_tables(std::unique_ptr<CollectorTables> prepared) noexcept override {
        layouts_ = std::move(static_cast<NextTables&>(*prepared).layouts);
    }
    [[nodiscard]] std::uint64_t progress() const noexcept override {
        return receiver_.ports.size();
    }
    [[nodiscard]] std::uint64_t signs_of_life() const noexcept override {
        return progress() + sessions_;
    }
    [[nodiscard]] const std::string& error() const noexcept override { return no_error_; }
    void show_state() noexcept override {
        accounting_.account(account_).connected.set(is_up() ? 1 : 0);
    }
    void log_takes_over(ExportTime /*now*/) override {}

private:
    struct NextTables final : CollectorTables {
        std::vector<RecordLayout> layouts;
    };

    [[nodiscard]] std::size_t octets_of(std::size_t layout) const {
        return record_size(layouts_.at(layout));
    }
    [[nodiscard]] std::size_t waiting_records() const noexcept {
        std::size_t records = 0;
        for (const RecordBatch& batch : waiting_) {
            records += batch.entries.size();
        }
        return records;
    }
    void settle(RecordBatch& batch) {
        for (std::size_t i = 0; i < batch.entries.size(); ++i) {
            if (receiver_.refuses) {
                accounting_.lost(account_, batch.entries[i], ExportLoss::send_refused);
                continue;
            }
            const auto* const core = reinterpret_cast<const FlowRecordCore*>(
                batch.records.data() + i * octets_of(batch.layout));
            receiver_.ports.push_back(core->key.source_port.value);
            receiver_.layouts.push_back(batch.layout);
            accounting_.delivered(account_, batch.entries[i]);
        }
        release(batch);
    }
    void release(RecordBatch& batch) {
        if (spool_ != nullptr) {
            spool_->release(batch);
        }
    }

    RecordAccounting& accounting_;
    std::size_t account_;
    GroupSpool* spool_;
    std::vector<RecordLayout> layouts_;
    PlainReceiver& receiver_;
    std::deque<RecordBatch> waiting_;
    bool is_dead_{};
    bool was_there_{};
    std::uint64_t sessions_{};
    std::string no_error_;
};

/// Makes a PlainCollector for the collectors of these indexes, and others as usual.
struct PlainAmong {
    std::vector<std::pair<std::size_t, PlainReceiver*>> plain;

    std::unique_ptr<Collector> operator()(const CollectorParts& parts) const {
        for (const auto& [index, receiver] : plain) {
            if (index == parts.option) {
                return std::make_unique<PlainCollector>(parts, *receiver);
            }
        }
        return make_collector(parts);
    }
};

}  // namespace tributary::test
