// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "export/export_time.hpp"
#include "export/lost_numbers.hpp"
#include "export/message.hpp"
#include "export/metering_process.hpp"
#include "export/outgoing_message.hpp"
#include "export/spool_content.hpp"
#include "export/taken_tables.hpp"
#include "flowcache/record/counter.hpp"

namespace tributary {

enum class AppendResult : std::uint8_t {
    added,
    message_full,  ///< not added: close the message, then append again
};

/// The counts of one collector at one moment, for reports to it.
struct ExportNumbers {
    PreExportLosses metering;
    RecordTally not_sent;  ///< records of its tables that this collector will never get, with what
                           ///< `metering` has lost of these
    std::uint64_t exported_octets{};    ///< of the messages below
    std::uint64_t exported_messages{};  ///< handed to its transport before this one
    std::uint64_t exported_records{};   ///< flow records that it has or that are under way to it
};

/// How the records for one collector become messages. A MessageCollector keeps the messages and
/// moves them to the transport, in this order:
///
///     append()* -> close() -> stamp() -> transport        each message of records
///     prepare_for() -> next_ahead() -> stamp() -> transport
///                                                         before them, what the session needs
///     make_report() -> stamp() -> transport               when report_is_due()
///
/// A message that comes back because its session was lost is stamped again. A message may also go
/// to the spool between close() and stamp(), and be sent by a later process.
/// @thread  the export thread
class MessageFormat {
public:
    MessageFormat() = default;
    MessageFormat(const MessageFormat&) = delete;
    MessageFormat& operator=(const MessageFormat&) = delete;
    virtual ~MessageFormat() = default;

    /// Adds a record to the open message of its layout. The format may keep the octets of open
    /// messages itself, one message of each layout, until close().
    ///
    /// @param record  of the layout `open.layout`, aligned to 8
    /// @return  message_full: nothing has changed. In an empty message: there is no memory
    [[nodiscard]] virtual AppendResult append(const std::byte* record,
                                              OutgoingMessage& open) noexcept = 0;
    /// Completes an open message that has a record: `octets`, `data_records` and `latest_end`. It
    /// may put `entries` and `records` into another order, both into the same one.
    ///
    /// @errors  std::bad_alloc: the message was discarded
    virtual void close(OutgoingMessage& open, ExportTime now) = 0;
    /// The records of the open message were given up.
    virtual void discard(OutgoingMessage& open) noexcept = 0;

    /// What prepare_tables() has made, and take_tables() takes.
    struct Tables {
        Tables() = default;
        Tables(const Tables&) = delete;
        Tables& operator=(const Tables&) = delete;
        virtual ~Tables() = default;

        std::vector<SpoolLayout> in_spool{};  ///< SpoolContent::further from then on
    };
    /// Makes what other tables need, while nothing changes. A table that does not stay has no
    /// message here.
    ///
    /// @param metering  with as many places for tables as before, or more
    /// @errors  ExportError: it cannot write the records of a table that is taken; std::bad_alloc
    [[nodiscard]] virtual std::unique_ptr<Tables> prepare_tables(const MeteringProcess& metering,
                                                                 const TableChoice& /*choice*/) {
        auto prepared = std::make_unique<Tables>();
        prepared->in_spool.resize(metering.further.size());
        return prepared;
    }
    /// These are the tables from now on. Messages with records of staying ones that the collector
    /// takes no more may still be on their way, or come from a spool. Nothing refers to tables that
    /// do not stay any more.
    virtual void take_tables(std::unique_ptr<Tables> /*prepared*/) noexcept {}
    /// Called before next_ahead() with the message of records that leaves next. So next_ahead()
    /// also gives the templates of a table that the collector takes no more, where records of it
    /// are still sent.
    virtual void prepare_for(const OutgoingMessage& /*message*/) noexcept {}

    /// Writes what a message has only when it leaves: its number, its time.
    virtual void stamp(OutgoingMessage& /*message*/, ExportTime /*now*/) noexcept {}
    /// The last stamped message has not left.
    virtual void take_back(const OutgoingMessage& /*message*/) noexcept {}

    /// The collector knows nothing of what came ahead of earlier messages.
    virtual void restart_session() noexcept {}
    /// Numbers begin at 0.
    virtual void restart_numbers() noexcept {}

    /// A message that has to be sent before the next one of records.
    struct Ahead {
        MessageView octets;       ///< valid until the next append()
        std::uint32_t records{};  ///< data records in it
    };
    /// Messages ahead are sent once more, if the collector may have forgotten them.
    virtual void refresh_if_due(std::chrono::nanoseconds /*now*/) noexcept {}
    /// @param now  uptime, here and below
    [[nodiscard]] virtual std::optional<Ahead> next_ahead(
        std::chrono::nanoseconds /*now*/) noexcept {
        return std::nullopt;
    }
    /// The last message of next_ahead() could not be sent: it is the next one again.
    virtual void take_back_ahead() noexcept {}

    /// A closed message without number and time.
    struct Message {
        std::vector<std::byte> octets;
        std::uint32_t records{};
    };
    struct Report {
        std::vector<Message> messages;
        bool complete = true;  ///< no record of it could not be encoded
    };
    [[nodiscard]] virtual bool report_is_due(std::chrono::nanoseconds /*now*/) const noexcept {
        return false;
    }
    /// A report is due at once.
    virtual void want_report() noexcept {}
    /// @errors  std::bad_alloc: nothing is made
    [[nodiscard]] virtual Report make_report(const ExportNumbers& /*numbers*/,
                                             std::chrono::nanoseconds /*now*/) {
        return {};
    }

    /// The number that the next record gets. Nothing: records have none.
    [[nodiscard]] virtual std::optional<RecordNumber> next_number() const noexcept {
        return std::nullopt;
    }
    /// Reads the numbers of records, as ranges in their order.
    ///
    /// @param octets   of a message, or of some whole records of one; a former process may have
    ///                 made it
    /// @param handler  called for each range; an exception that it throws reaches the caller
    /// @return  records whose number cannot be read
    virtual std::uint64_t visit_numbers(MessageView /*octets*/,
                                        const NumberRangeHandler& /*handler*/) const {
        return 0;
    }
    /// Adds the numbers of records to those that are lost. A record whose number cannot be read is
    /// counted there.
    ///
    /// @param octets  as above
    /// @param cause   as in LostRange
    void lose_numbers(MessageView octets, std::string_view cause,
                      LostNumbers& lost) const noexcept {
        const auto lose = [&](const NumberRange& range) { lost.add(range, cause); };
        lost.add_unlisted(visit_numbers(octets, std::ref(lose)));  // std::function takes no memory
    }
    /// Octets of the open message of a layout, where the format keeps them itself.
    [[nodiscard]] virtual MessageView open_octets(std::size_t /*layout*/) const noexcept {
        return {};
    }

    /// What its messages are in a spool.
    [[nodiscard]] virtual SpoolContent spool_content() const = 0;
    /// A message from the spool will be sent.
    ///
    /// @return  false: it cannot be, and nothing has changed
    [[nodiscard]] virtual bool readmit(const OutgoingMessage& /*message*/) noexcept { return true; }
};

}  // namespace tributary
