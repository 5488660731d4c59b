// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/collector/collector.hpp"
#include "export/collector_events.hpp"
#include "export/export_counters.hpp"
#include "export/export_time.hpp"
#include "export/memory_reserve.hpp"
#include "export/message_format.hpp"
#include "export/message_stages.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"
#include "export/outgoing_message.hpp"
#include "export/record_accounting.hpp"
#include "export/spool/spool_queue.hpp"
#include "export/taken_tables.hpp"
#include "export/transport/pace.hpp"
#include "export/transport/transport.hpp"

namespace tributary {

/// A collector that gets messages of a format, over a transport: the messages on their way, from
/// the first record until their outcome is known.
///
///     open -> waiting -> staged -> sent -> delivered | refused
///                ^          |        |
///                +----------+--------+      the connection was lost: once more, in order
///
/// A message is open as long as records are added to it; there is one for each layout. A staged
/// message is stamped, and goes to the transport next. The transport has a sent one, but it is kept
/// until its arrival is known. All messages wait in the collector's buffer, or in its spool: once
/// that holds a message, all newer ones go behind it, and older ones that are still in memory are
/// written there too.
/// @thread  the export thread
class MessageCollector final : public Collector {
public:
    /// Makes the transport, whose events are this collector's.
    using TransportFactory =
        std::function<std::unique_ptr<Transport>(const CollectorOptions&, CollectorEvents&)>;

    /// @errors  ExportError
    MessageCollector(const CollectorParts& parts, std::unique_ptr<MessageFormat> format,
                     TransportFactory make_transport);

    void advance(ExportTime now) override;
    /// Whether there is room in its buffer, or in its spool, which has room unless its disk
    /// refuses. While memory is short, there is room for one message at a time.
    [[nodiscard]] bool has_room() const noexcept override {
        const bool is_short = messages_.octets() > 0 && MemoryReserve::is_given_out();
        const bool has_memory = messages_.octets() < buffer_ && !spool_queue_.holds_messages();
        return !is_dead_ &&
               (gave_up_ || (!is_short && (spool_queue_.takes_messages() || has_memory)));
    }
    [[nodiscard]] bool is_dead() const noexcept override { return is_dead_; }
    [[nodiscard]] bool has_session() const noexcept override { return transport_->session() != 0; }
    [[nodiscard]] bool is_up() const noexcept override { return transport_->is_proven(); }
    [[nodiscard]] bool has_stalled(ExportTime now) const noexcept override {
        const std::optional<std::chrono::nanoseconds> since = transport_->stalled_since();
        return since && now.uptime - *since >= Transport::kStall;
    }
    void leave(ExportTime now) override;
    [[nodiscard]] bool is_waiting() const noexcept override {
        return messages_.octets() > 0 || has_open() || spool_queue_.holds_messages();
    }
    [[nodiscard]] bool is_full_by_pace() const noexcept override {
        return held_back_ && is_up() && !has_room();
    }
    [[nodiscard]] bool has_own_pace() const noexcept override { return pace_.is_auto(); }
    [[nodiscard]] bool is_held_back() const noexcept override { return held_back_; }
    void begin_end(std::chrono::nanoseconds drain_timeout) noexcept override {
        pace_.begin_end(drain_timeout, messages_.octets());
    }
    void add(const RecordToSend& record, ExportTime now) override;
    void add_batch(const RecordBatch& batch, ExportTime now) override;
    [[nodiscard]] bool has_room_for_batch() const noexcept override {
        return is_up() && messages_.octets() < buffer_ / 2 &&
               (messages_.octets() == 0 || !MemoryReserve::is_given_out());
    }
    [[nodiscard]] std::size_t buffer() const noexcept override { return buffer_; }
    void let_former_go_first(bool goes_first) noexcept override { former_goes_first_ = goes_first; }
    void set_older_in_spool(bool are_there) noexcept override { older_in_spool_ = are_there; }
    void note_spooled(std::size_t octets) noexcept override { pace_.add(octets); }
    [[nodiscard]] bool copy_to_spool(ExportTime now) override;
    /// Closes the open messages; the last words are a report.
    [[nodiscard]] bool flush(ExportTime now) override;
    void send_what_can_leave(ExportTime now) override;
    [[nodiscard]] std::chrono::nanoseconds refusal_wait() const noexcept override {
        return transport_->refusal_wait();
    }
    /// Whether there are closed messages that have not arrived.
    [[nodiscard]] bool has_unsent() const noexcept override {
        return messages_.octets() > 0 || spool_queue_.holds_messages();
    }
    void abandon(ExportTime now) override;
    [[nodiscard]] bool keeps_records() const noexcept override { return keeps_records_; }
    void hand_back(const RecordBatchHandler& taker, ExportTime now) override;
    void end_and_hand_back(const RecordBatchHandler& taker, ExportTime now) override;
    void close() override;
    void show_state() noexcept override {
        account_.connected.set(is_up() ? 1 : 0);
        show_gauges();
    }

    /// Limits and address may change while the session, its spool and its account go on. Files of
    /// its address that have changed are read.
    [[nodiscard]] std::unique_ptr<CollectorChange> prepare_change(
        const CollectorOptions& today, const CollectorOptions& wanted) override;
    /// Limits change at once. Messages sent to the former address have kMovePatience to be
    /// acknowledged; meanwhile nothing is sent, and then all goes to the other address.
    void change(std::unique_ptr<CollectorChange> prepared) noexcept override;
    static constexpr std::chrono::seconds kMovePatience{5};

    [[nodiscard]] bool holds(std::size_t table) const noexcept override;
    [[nodiscard]] std::unique_ptr<CollectorTables> prepare_tables(
        const MeteringProcess& metering, const TableChoice& choice) override;
    /// Records of tables that it takes no more, and that wait here, are still sent.
    void take_tables(std::unique_ptr<CollectorTables> prepared) noexcept override;

    void try_now() noexcept override { transport_->try_now(); }
    void hurry() noexcept override {
        is_ending_ = true;
        transport_->try_now();
    }
    void log_takes_over(ExportTime now) override;
    /// Grows with every message that arrives.
    [[nodiscard]] std::uint64_t progress() const noexcept override { return progress_; }
    [[nodiscard]] std::uint64_t signs_of_life() const noexcept override {
        return progress_ + sessions_;
    }
    [[nodiscard]] const std::string& error() const noexcept override { return events_.failure(); }

private:
    struct Change;
    struct NextTables;

    [[nodiscard]] AppendResult append(const std::byte* record, OutgoingMessage& open) noexcept;
    [[nodiscard]] bool has_room_for_entry(OutgoingMessage& open) const noexcept;
    [[nodiscard]] bool has_open() const noexcept {
        return std::ranges::any_of(
            open_, [](const OutgoingMessage& open) { return !open.entries.empty(); });
    }
    void close_all(ExportTime now) noexcept;
    void close_message(OutgoingMessage& open, ExportTime now) noexcept;
    void keep_closed(OutgoingMessage& open, ExportTime now);
    void settle_is_dead() noexcept { is_dead_ = abandoned_ || transport_->failed(); }
    void refill(ExportTime now);
    void look_after_pauses() noexcept;
    void go_on_with_move(ExportTime now) noexcept;
    void show_gauges() noexcept;
    void keep_for_next_process(ExportTime now);
    void settle_last(ExportTime now);
    void end_transport();
    void release(RecordBatch& message) noexcept;
    void follow_session() noexcept;
    void take_back_staged() noexcept;
    void collect_outcomes(ExportTime now);
    void settle_by_item(ExportTime now);
    void settle_record(const RecordEntry* entry, const RecordTally& tally,
                       std::optional<ExportLoss> loss,
                       std::optional<std::chrono::nanoseconds> opened_at, ExportTime now) noexcept;
    void settle_items(OutgoingMessage& message, std::span<const ItemOutcome> items,
                      ExportTime now) noexcept;
    void note_rest_on_disk(OutgoingMessage& rest) noexcept;
    void pump(ExportTime now);
    void stage(ExportTime now);
    void log_pace(ExportTime now);
    [[nodiscard]] bool stage_ahead(const MessageFormat::Ahead& made, ExportTime now) noexcept;
    void make_report(ExportTime now) noexcept;
    void add_report(ExportTime now);
    [[nodiscard]] ExportNumbers export_numbers() const;
    void account_sent(std::size_t count) noexcept;
    void lose(OutgoingMessage& message, ExportLoss cause) noexcept;
    void lose_numbers(const OutgoingMessage& message, std::string_view cause) noexcept;
    void lose_items(MessageView record, std::span<const ItemOutcome> items,
                    ExportLoss of_record) noexcept;
    void lose_all(ExportLoss cause) noexcept;
    void lose_what_failed() noexcept;
    void forget_first(MessageStages::Stage& stage) noexcept;
    [[nodiscard]] ExportLoss cause_of_abandoning() const noexcept;

    RecordAccounting& accounting_;
    std::size_t account_index_;
    CollectorCounters& account_;
    CollectorEvents events_;
    TransportFactory make_transport_;
    std::unique_ptr<Transport> transport_;
    /// To the next address: moves there when the former one has nothing left; nullptr: it stays.
    std::unique_ptr<Transport> next_transport_;
    std::string next_name_;                                ///< describe() of the next address
    std::optional<std::chrono::nanoseconds> moves_since_;  ///< uptime
    std::unique_ptr<MessageFormat> format_;
    SpoolQueue spool_queue_;
    GroupSpool* group_spool_;  ///< nullptr: there is none
    Pace pace_;
    std::function<PreExportLosses()> metering_totals_;
    std::set<std::string> taken_;  ///< names of the tables that it takes, or has ever taken
    bool keeps_records_;
    std::vector<std::size_t> kept_octets_;  ///< by layout, of each record; 0: it is not kept
    bool is_file_;
    bool abandoned_{};
    bool is_dead_{};  ///< that, or the transport has failed
    bool is_ending_{};
    bool gave_up_{};                         ///< all goes to the spool
    bool held_back_{};                       ///< messages wait for their pace
    bool is_in_batch_{};                     ///< in add_batch()
    bool former_goes_first_{};               ///< nothing is sent meanwhile
    std::optional<SpoolPlace> batch_place_;  ///< of the batch that further messages are made of
    bool older_in_spool_{};                  ///< in that of the group
    bool kept_for_next_process_{};
    std::size_t refilled_octets_{};  ///< from the spool, since advance() began
    std::chrono::nanoseconds flush_interval_;
    std::size_t buffer_;  ///< octets that messages may have from their closing until they arrive

    std::vector<OutgoingMessage> open_;  ///< by layout
    MessageStages messages_;

    std::uint64_t session_{};  ///< the transport's, as last seen
    bool last_report_made_{};
    std::uint64_t progress_{};
    std::uint64_t sessions_{};
    std::uint64_t delivered_data_records_{};  ///< of flows, as collectors count them
};

}  // namespace tributary
