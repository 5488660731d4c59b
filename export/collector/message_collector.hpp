// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "export/collector_events.hpp"
#include "export/export_counters.hpp"
#include "export/export_time.hpp"
#include "export/ipfix/biflow_splitter.hpp"
#include "export/ipfix/ipfix_encoder.hpp"
#include "export/ipfix/template_scheduler.hpp"
#include "export/memory_reserve.hpp"
#include "export/message.hpp"
#include "export/message_stages.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"
#include "export/outgoing_message.hpp"
#include "export/record_accounting.hpp"
#include "export/spool/spool_queue.hpp"
#include "export/transport/pace.hpp"
#include "export/transport/transport.hpp"

namespace tributary {

/// A flow record on its way to a collector.
struct RecordToSend {
    const std::byte* bytes{};  ///< of the layout given at construction, aligned to 8
    RecordEntry entry;
};

/// Everything that concerns one collector: encoder, transport, and the messages on their way. It
/// reports each record that it takes once to the RecordAccounting.
///
///     open -> waiting -> staged -> sent -> delivered | refused
///                ^          |        |
///                +----------+--------+      the connection was lost: once more, in order
///
/// A staged message has its number and time, and goes to the transport next. The kernel has a sent
/// one, but it is kept until its arrival is known. All messages wait in the collector's buffer, or
/// in its spool: once that holds a message, all newer ones go behind it, and older ones that are
/// still in memory are written there too.
/// @thread  the export thread
class MessageCollector {
public:
    /// @param accounting  outlives the session
    /// @errors  ExportError
    MessageCollector(const ExportOptions& options, const MeteringProcess& metering,
                     RecordAccounting& accounting, CollectorPlace place,
                     CollectorEventHandler handler);

    /// Does all that is due, by time or by the collector: connection, templates, waiting messages.
    void advance(ExportTime now);
    /// Whether there is room in its buffer, or in its spool, which has room unless its disk
    /// refuses. While memory is short, there is room for one message at a time.
    [[nodiscard]] bool has_room() const noexcept {
        const bool is_short = messages_.octets() > 0 && MemoryReserve::is_given_out();
        const bool has_memory = messages_.octets() < buffer_ && !spool_queue_.holds_messages();
        return !is_dead() &&
               (gave_up_ || (!is_short && (spool_queue_.takes_messages() || has_memory)));
    }
    /// It has failed for good, or was given up: records given to it are lost.
    [[nodiscard]] bool is_dead() const noexcept { return abandoned_ || transport_->failed(); }
    /// Whether there is a session, so that messages may be under way.
    [[nodiscard]] bool has_session() const noexcept { return transport_->session() != 0; }
    /// Whether messages can leave now, and the collector takes them, as far as the transport can
    /// tell.
    [[nodiscard]] bool is_up() const noexcept { return transport_->is_proven(); }
    /// Whether it has taken nothing for Transport::kStall although messages have left.
    [[nodiscard]] bool has_stalled(ExportTime now) const noexcept {
        const std::optional<std::chrono::nanoseconds> since = transport_->stalled_since();
        return since && now.uptime - *since >= Transport::kStall;
    }
    /// Ends the session of a collector that takes nothing. Messages that have not arrived wait
    /// here.
    void leave(ExportTime now);
    /// Whether messages wait that the collector has to take first.
    [[nodiscard]] bool is_waiting() const noexcept {
        return messages_.octets() > 0 || !open_.entries.empty() || spool_queue_.holds_messages();
    }
    /// Whether it has no room because messages wait for their pace, and for nothing else.
    [[nodiscard]] bool is_full_by_pace() const noexcept {
        return held_back_ && is_up() && !has_room();
    }
    /// Whether that passes soon, because the pace is automatic.
    [[nodiscard]] bool has_own_pace() const noexcept { return pace_.is_auto(); }
    /// Whether messages wait for their pace.
    [[nodiscard]] bool is_held_back() const noexcept { return held_back_; }
    /// The end begins: only records in rings and caches still come.
    void begin_end(std::chrono::nanoseconds drain_timeout) noexcept {
        pace_.begin_end(drain_timeout, messages_.octets());
    }
    /// Takes a record, when it has room. One record too many does no harm, and is lost if there is
    /// no memory for it.
    void add(const RecordToSend& record, ExportTime now);
    /// A batch of records from the group's spool follows, until end_batch().
    void begin_batch(ExportTime now);
    /// The batch was added. Its place on the disk is given up when its last message is settled.
    ///
    /// @param place  nothing: it has none
    void end_batch(const std::optional<SpoolPlace>& place, ExportTime now) noexcept;
    /// Whether there is room in memory for records of the group's spool: the other half of the
    /// buffer is for new records.
    [[nodiscard]] bool has_room_for_batch() const noexcept {
        return is_up() && messages_.octets() < buffer_ / 2 &&
               (messages_.octets() == 0 || !MemoryReserve::is_given_out());
    }
    [[nodiscard]] std::size_t buffer() const noexcept { return buffer_; }
    /// Whether records older than the new ones are in the group's spool.
    void set_older_in_spool(bool are_there) noexcept { older_in_spool_ = are_there; }
    /// So many octets of new records went to the group's spool.
    void note_spooled(std::size_t octets) noexcept { pace_.add(octets); }
    /// Copies messages that wait here to the group's spool, unless they are there.
    ///
    /// @return  false: the disk refuses some of it
    [[nodiscard]] bool copy_to_spool(ExportTime now);
    /// Closes the open message, however full, and sends what can leave; when all records are
    /// accounted for, the last options records.
    ///
    /// @return  nothing is left here
    [[nodiscard]] bool flush(ExportTime now);
    /// Sends what can leave now.
    void send_what_can_leave(ExportTime now);
    /// How long a refusal of messages that have left may take.
    [[nodiscard]] std::chrono::nanoseconds refusal_wait() const noexcept {
        return transport_->refusal_wait();
    }
    /// Whether there are closed messages that have not arrived.
    [[nodiscard]] bool has_unsent() const noexcept {
        return messages_.octets() > 0 || spool_queue_.holds_messages();
    }
    /// Nothing is sent any more. All messages here, and all new records, are lost, or go to the
    /// spool.
    void abandon(ExportTime now);
    /// Whether hand_back() can return records.
    [[nodiscard]] bool keeps_records() const noexcept { return record_bytes_ != 0; }
    /// Returns every record that has not arrived, the oldest first; the caller accounts for them
    /// then. Only where keeps_records(), and without a session.
    [[nodiscard]] MessageStages::Stage hand_back(ExportTime now);
    /// The same at the end, also with a session: nothing is sent any more, and all new records are
    /// lost.
    [[nodiscard]] MessageStages::Stage end_and_hand_back(ExportTime now);
    /// The end: nothing is left here. Closes the transport, and may wait for a file to be finished.
    void close();
    /// Makes the account's gauges those of this session: another one may have set them before.
    void show_state() noexcept {
        account_.connected.set(has_session() ? 1 : 0);
        show_gauges();
    }

    /// A change of a collector's limits and address while the session, its spool and its account go
    /// on.
    struct Move {
        CollectorOptions options;
        std::string name;                      ///< describe() of these
        std::unique_ptr<Transport> transport;  ///< nullptr: the address stays
    };
    /// @param wanted  differs from today's options in keys that fixed_changes() ignores
    /// @errors  ExportError: there is no way to the other address; std::bad_alloc
    [[nodiscard]] Move prepare_move(const CollectorOptions& today, const CollectorOptions& wanted);
    /// Limits change at once. Messages sent to the former address have kMovePatience to be
    /// acknowledged; meanwhile nothing is sent, and then all goes to the other address.
    void move(Move prepared) noexcept;
    static constexpr std::chrono::seconds kMovePatience{5};
    /// TLS: the files of its present or next address, if they have changed since they were read;
    /// else nullptr.
    /// @errors  ExportError: they are unusable
    [[nodiscard]] std::shared_ptr<const TlsContext> read_tls_files_anew() const {
        return (next_.transport != nullptr ? *next_.transport : *transport_).read_files_anew();
    }
    /// Connections of that address begin with these from now on.
    void begin_tls_with(std::shared_ptr<const TlsContext> files) noexcept {
        (next_.transport != nullptr ? *next_.transport : *transport_).begin_with(std::move(files));
    }

    /// Ends a pause between two tries to connect.
    void try_now() noexcept { transport_->try_now(); }
    /// The end has begun: from now on it connects more often.
    void hurry() noexcept {
        is_ending_ = true;
        transport_->try_now();
    }
    /// Logs that this collector has the records from now on.
    void log_takes_over(ExportTime now);

    /// Grows with every message that arrives.
    [[nodiscard]] std::uint64_t progress() const noexcept { return progress_; }
    /// Grows with that, and with every session that begins.
    [[nodiscard]] std::uint64_t signs_of_life() const noexcept { return progress_ + sessions_; }
    /// The log line of a final failure; empty: there was none.
    [[nodiscard]] const std::string& error() const noexcept { return events_.failure(); }

private:
    [[nodiscard]] AppendResult append(const std::byte* record) noexcept;
    [[nodiscard]] bool has_room_for_entry() noexcept;
    void close_message(ExportTime now) noexcept;
    void keep_closed(ExportTime now);
    void refill(ExportTime now);
    void look_after_pauses() noexcept;
    void go_on_with_move(ExportTime now) noexcept;
    void show_gauges() noexcept;
    void keep_for_next_process(ExportTime now);
    void settle_last(ExportTime now);
    void end_transport();
    void release(OutgoingMessage& message) noexcept;
    void follow_session() noexcept;
    void take_back_staged() noexcept;
    void collect_outcomes(ExportTime now);
    void pump(ExportTime now);
    void stage(ExportTime now);
    void log_pace(ExportTime now);
    [[nodiscard]] bool stage_template(const TemplateScheduler::TemplateMessage& made,
                                      ExportTime now) noexcept;
    void make_options(ExportTime now) noexcept;
    void add_options(ExportTime now);
    [[nodiscard]] OptionsNumbers options_numbers() const;
    void account_sent(std::size_t count) noexcept;
    void lose(OutgoingMessage& message, ExportLoss cause) noexcept;
    void lose_all(ExportLoss cause) noexcept;
    void lose_what_failed() noexcept;
    void forget_first(MessageStages::Stage& stage) noexcept;
    [[nodiscard]] ExportLoss cause_of_abandoning() const noexcept;

    RecordAccounting& accounting_;
    std::size_t account_index_;
    CollectorCounters& account_;
    CollectorEvents events_;
    std::unique_ptr<Transport> transport_;
    Move next_;  ///< with a transport: moves there when the former one has nothing left
    std::optional<std::chrono::nanoseconds> moves_since_;  ///< uptime
    std::optional<BiflowSplitter> splitter_;  ///< where the collector gets uniflows of biflows
    IpfixEncoder encoder_;
    TemplateScheduler templates_;
    SpoolQueue spool_queue_;
    SpoolQueue* group_spool_;  ///< nullptr: there is none
    Pace pace_;
    std::function<PreExportLosses()> metering_totals_;
    MessageNumbering numbering_;
    std::size_t record_bytes_;  ///< kept of each record; 0: none is
    bool is_file_;
    bool abandoned_{};
    bool is_ending_{};
    bool gave_up_{};         ///< all goes to the spool
    bool held_back_{};       ///< messages wait for their pace
    bool is_in_batch_{};     ///< between begin_batch() and end_batch()
    bool older_in_spool_{};  ///< in that of the group
    bool kept_for_next_process_{};
    std::size_t refilled_octets_{};  ///< from the spool, since advance() began
    std::chrono::nanoseconds flush_interval_;
    std::size_t buffer_;  ///< octets that messages may have from their closing until they arrive

    OutgoingMessage open_;  ///< the content of the encoder's open message
    MessageStages messages_;

    std::uint64_t session_{};   ///< the transport's, as last seen
    bool last_options_made_{};  ///< the last options records are made
    std::uint64_t progress_{};
    std::uint64_t sessions_{};
    std::uint64_t delivered_data_records_{};  ///< of flows, as collectors count them
};

}  // namespace tributary
