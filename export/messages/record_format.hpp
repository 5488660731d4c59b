// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/ipfix/biflow_splitter.hpp"
#include "export/message_format.hpp"
#include "export/messages/framing.hpp"
#include "export/messages/record_encoder.hpp"
#include "export/metering_process.hpp"
#include "export/number_ranges.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// What makes a RecordFormat.
struct RecordFormatParts {
    std::unique_ptr<RecordEncoder> encoder;
    std::unique_ptr<Framing> framing;
    /// Goes ahead of the records of each session; empty: nothing does.
    std::string header{};
};

/// Records one by one as messages for one collector: each is encoded by itself, and a framing puts
/// them one behind the other. A record gets its sequence number when it is appended, from 0, so
/// that a message that is sent a second time has the same numbers. The two uniflows of a biflow
/// that is split have numbers of their own, and are in one message.
///
/// No message needs another one, so that those of a former process, in a spool, can be sent
/// whatever its records had.
/// @thread  the export thread
class RecordFormat final : public MessageFormat {
public:
    /// Octets that no message exceeds: short enough for a spool's frame.
    static constexpr std::size_t kMessageLimit = 65'000;

    /// @param collector  its `direction` decides whether biflows are split
    /// @param metering   has the layouts
    /// @errors  ExportError: a record may be longer than a message
    RecordFormat(RecordFormatParts parts, const CollectorOptions& collector,
                 const MeteringProcess& metering);

    [[nodiscard]] AppendResult append(const std::byte* record,
                                      OutgoingMessage& open) noexcept override;
    void close(OutgoingMessage& open, ExportTime now) override;
    void discard(OutgoingMessage& open) noexcept override;
    [[nodiscard]] std::unique_ptr<Tables> prepare_tables(const MeteringProcess& metering,
                                                         const TableChoice& choice) override;
    void take_tables(std::unique_ptr<Tables> prepared) noexcept override;
    void stamp(OutgoingMessage& /*message*/, ExportTime now) noexcept override {
        parts_.encoder->set_time(now.wall);
    }
    void restart_session() noexcept override { is_header_due_ = !parts_.header.empty(); }
    [[nodiscard]] std::optional<Ahead> next_ahead(std::chrono::nanoseconds now) noexcept override;
    void take_back_ahead() noexcept override { is_header_due_ = true; }
    [[nodiscard]] SpoolContent spool_content() const override;
    [[nodiscard]] bool readmit(const OutgoingMessage& message) noexcept override;

    [[nodiscard]] std::optional<RecordNumber> next_number() const noexcept override;
    std::uint64_t visit_numbers(MessageView octets,
                                const NumberRangeHandler& handler) const override;
    [[nodiscard]] MessageView open_octets(std::size_t layout) const noexcept override {
        return MessageView(open_[layout]->octets).first(open_[layout]->used);
    }

    /// The number of the next record.
    [[nodiscard]] std::uint64_t next_sequence() const noexcept { return sequence_; }

private:
    /// The open message of one layout.
    struct Open {
        std::optional<BiflowSplitter> splitter;
        RecordLayout layout;            ///< of the records that are appended
        std::vector<std::byte> octets;  ///< kMessageLimit
        std::size_t used{};
        std::uint32_t records{};
        Timestamp latest_end{};
    };

    using OpenMessages = std::vector<std::unique_ptr<Open>>;
    struct NextTables;

    [[nodiscard]] OpenMessages make_open(const MeteringProcess& metering,
                                         const TakenTables& staying) const;
    void check(std::size_t most_octets) const;
    void add(Open& to, const FramedRecord& record) noexcept;
    void reset(Open& open) noexcept;

    CollectorOptions collector_;  ///< as it was made
    RecordFormatParts parts_;
    std::size_t most_octets_;  ///< of a framed record
    OpenMessages open_;        ///< by layout; nullptr: the place is free
    std::uint64_t sequence_{};
    bool is_header_due_{};
};

}  // namespace tributary
