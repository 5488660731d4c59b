// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "export/collector_events.hpp"
#include "export/export_time.hpp"
#include "export/message_stages.hpp"
#include "export/options.hpp"
#include "export/outgoing_message.hpp"
#include "export/record_accounting.hpp"
#include "export/spool/spool.hpp"
#include "export/spool/spool_fingerprints.hpp"

namespace tributary {

/// Messages that find no room in memory: in a spool if there is one, with the account of records
/// that the spool has to give up. Messages of one collector, or batches of records for any of a
/// group.
/// @thread  the export thread
class SpoolQueue {
public:
    /// Only reads the files of former processes: no counter and no file changes before the first
    /// advance(), so that a collector that is refused leaves no trace.
    ///
    /// @param account  of the collector, or kGroupSpool
    /// @errors  ExportError: the spool cannot be used
    SpoolQueue(const SpoolOptions& spool, std::size_t account, const SpoolContent& content,
               RecordAccounting& accounting, CollectorEvents& events);

    /// Pause of writing after the disk has refused a message.
    static constexpr std::chrono::seconds kRetryAfter{1};

    /// Does all that is due by time; call it before everything else.
    void advance(ExportTime now);
    /// Whether there is a spool.
    [[nodiscard]] bool is_on() const noexcept { return spool_ != nullptr; }
    /// Whether there is one, and its disk has not just refused a message.
    [[nodiscard]] bool takes_messages() const noexcept { return is_on() && !retry_at_; }
    /// Whether a message waits in it, so that later ones have to go behind it.
    [[nodiscard]] bool holds_messages() const noexcept { return is_on() && spool_->has_untaken(); }
    /// Takes a message over, which is cleared. Older messages in memory are then in the spool too.
    ///
    /// @return  false: the disk refuses it, and the message is as it was
    [[nodiscard]] bool store(OutgoingMessage& message, MessageStages& older, ExportTime now);
    /// The same if no older message is in memory, or copy() was called with all of them.
    [[nodiscard]] bool store(OutgoingMessage& message, ExportTime now);
    /// Writes a message that stays in memory. Only while holds_messages() is false.
    ///
    /// @return  false: the disk refuses it
    [[nodiscard]] bool copy(OutgoingMessage& message, ExportTime now) {
        return write(message, true, now);
    }
    /// The oldest message, to be sent now; the spool has it until release(). Nothing if there is no
    /// memory for it.
    [[nodiscard]] std::optional<OutgoingMessage> take(ExportTime now) noexcept;
    /// The collector cannot read a message from the spool: its records are lost.
    void refuse(OutgoingMessage& message, ExportTime now) noexcept;
    /// A part of a message has arrived, or is lost: what is left of it takes its place, if it has
    /// one, so that the next process sends only that. If the disk refuses it, the place is given
    /// up.
    void shorten(OutgoingMessage& rest) noexcept;
    /// The message's outcome is known.
    void release(RecordBatch& message) noexcept;
    /// Whether the next process will find the message at this place.
    [[nodiscard]] bool is_kept(const SpoolPlace& place) const noexcept {
        return is_on() && spool_->is_kept(place);
    }
    /// There is no file, and so no message.
    [[nodiscard]] bool is_empty() const noexcept { return !is_on() || spool_->octets() == 0; }
    /// The spool may take so many octets from now on.
    void set_max_octets(std::uint64_t octets) noexcept;
    /// Messages have other further layouts from now on.
    void set_content(SpoolFingerprints&& content) noexcept {
        if (is_on()) {
            spool_->set_content(std::move(content));
        }
    }
    /// The end: all messages in the spool or in memory stay in the spool for the next process.
    /// Messages that the disk refuses are lost.
    ///
    /// @param loses  gets each message in memory that is lost, whose records are counted here
    using LossHandler = std::function<void(const OutgoingMessage&, ExportLoss)>;
    void keep_for_next_process(MessageStages& in_memory, const LossHandler& loses, ExportTime now);

private:
    void take_over() noexcept;
    [[nodiscard]] bool copy_all(MessageStages& messages, ExportTime now);
    [[nodiscard]] bool write(OutgoingMessage& message, bool stays_in_memory, ExportTime now);
    std::uint64_t give_up(void (Spool::*drop)(const Spool::AccountHandler&), ExportLoss cause);
    [[nodiscard]] std::optional<OutgoingMessage> take_if_possible() noexcept;
    void find_layout(OutgoingMessage& message) const noexcept;
    void log_damage(ExportTime now) noexcept;
    [[nodiscard]] std::string words_for_damage() const;
    void log_disk(CollectorEventKind kind, ExportTime now, const std::string& cause,
                  std::uint64_t lost = 0) noexcept;
    void log_full(ExportTime now, std::uint64_t lost) noexcept;
    void log_count(CollectorEventKind kind, ExportTime now, const char* before, std::uint64_t count,
                   const char* after) noexcept;
    [[nodiscard]] ExportLoss cause_of_loss(const std::optional<SpoolPlace>& place) const noexcept;
    void keep(const Spool::Account& account) noexcept;
    void lose(const Spool::Account& account, ExportLoss cause) noexcept;
    void lose_records(const Spool::Account& account, ExportLoss why) noexcept;
    void lose_numbers(const Spool::Account& account, ExportLoss why) noexcept;
    void read_numbers(const OutgoingMessage& message, Spool::Account& account) const noexcept;
    void lose_damaged() noexcept;
    void log_unusable(ExportTime now) noexcept;

    std::size_t account_index_;
    RecordAccounting& accounting_;
    CollectorCounters& account_;
    CollectorEvents& events_;
    std::unique_ptr<Spool> spool_;
    std::uint64_t max_octets_;   ///< of the spool
    std::string place_;          ///< for lines of the log
    std::string other_content_;  ///< what is not of today's content, for lines of the log
    bool is_taken_over_ = false;
    std::optional<std::chrono::nanoseconds> retry_at_;  ///< uptime; set while it refuses
    bool has_refused_ = false;                          ///< for the last message
    bool use_is_logged_ = false;
    std::uint64_t damaged_ = 0;      ///< as last logged
    std::uint64_t lost_ = 0;         ///< records, by damage
    std::uint64_t logged_lost_ = 0;  ///< of these, as last logged
    std::uint64_t estimated_ = 0;    ///< of these
    std::uint64_t unusable_ = 0;     ///< records lost so, not logged yet
};

}  // namespace tributary
