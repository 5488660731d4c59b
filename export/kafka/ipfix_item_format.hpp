// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "export/export_time.hpp"
#include "export/flow_share.hpp"
#include "export/ipfix/biflow_splitter.hpp"
#include "export/ipfix/ipfix_encoder.hpp"
#include "export/message.hpp"
#include "export/message_format.hpp"
#include "export/messages/raw_flow.hpp"
#include "export/messages/templates_ahead.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"
#include "export/outgoing_message.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Makes IPFIX messages of a topic. A reader needs no other message to decode one: its templates
/// are in front of its records. With RecordFormatKind::rawflow each is in a frame for Akvorado
/// (RawFlow).
///
/// All records of a flow have to meet in one partition, in order, and one IPFIX message lies in one
/// partition. So each flow belongs to one of kLanes lanes, by its number, and an open message
/// becomes an item (record_items.hpp), or several, for each lane that has records. A lane's items
/// have its number as their hash, which chooses their partition. The entries of a closed message
/// are in the order of its items. Without a key there is one lane, whose items go to the partitions
/// in turn.
///
/// Sequence numbers and export times are those of the lane: as each stream of an SCTP association
/// does, each lane counts its own data records, from 0 when the process starts. The item's key
/// names the lane, so that a reader finds what is missing or there twice, key by key, however many
/// lanes a partition has. They are written when the message is closed: what is sent again, or waits
/// in a spool, stays as it is.
///
/// There are no options records: readers of a topic share its partitions, so that none would see
/// those of another partition.
/// @source  RFC 7011 §3.1
/// @thread  the export thread
class IpfixItemFormat final : public MessageFormat {
public:
    /// Each partition has as many lanes as the others, or one more. 120 divides evenly among 1 to
    /// 6, 8, 10, 12, 15, 20, 24, 30, 40, 60 and 120 partitions; among 16, 32 or 64 the fullest has
    /// 7 % more than the average. More lanes would be shorter messages, each with its templates.
    static constexpr std::size_t kLanes = 120;
    /// Octets that no IPFIX message exceeds.
    static constexpr std::size_t kMostItem = 60'000;
    /// Octets that no message, of many items, exceeds; a smaller buffer has shorter ones.
    static constexpr std::size_t kMostMessage = std::size_t{512} << 10U;

    /// @param collector  whose `format` is ipfix or rawflow
    /// @errors  ExportError: a record does not fit a message, or RawFlow has no address
    IpfixItemFormat(const ExportOptions& options, const CollectorOptions& collector,
                    const MeteringProcess& metering);

    [[nodiscard]] AppendResult append(const std::byte* record,
                                      OutgoingMessage& open) noexcept override;
    void close(OutgoingMessage& open, ExportTime now) override;
    void discard(OutgoingMessage& open) noexcept override;
    [[nodiscard]] std::unique_ptr<Tables> prepare_tables(const MeteringProcess& metering,
                                                         const TableChoice& choice) override;
    void take_tables(std::unique_ptr<Tables> prepared) noexcept override;
    [[nodiscard]] SpoolContent spool_content() const override;
    [[nodiscard]] bool readmit(const OutgoingMessage& message) noexcept override;

private:
    /// A record of an open message.
    struct Place {
        std::uint16_t lane{};
        std::uint16_t item{};  ///< of the lane's items in this message
    };
    /// What a lane has in an open message.
    struct Lane {
        std::size_t octets{};  ///< that its last item does not exceed; 0: it has no item
        std::uint16_t item{};  ///< number of the last one
    };
    /// The records of one layout, and their open message.
    struct Encoding {
        std::optional<BiflowSplitter> splitter;  ///< where the collector gets uniflows of biflows
        IpfixEncoder encoder;
        RecordLayout layout;       ///< of the records that are appended
        std::size_t record_bytes;  ///< of each
        TemplatesAhead templates{};
        std::size_t learned = 0;  ///< template messages of the encoder

        std::vector<std::byte> records{};  ///< back to back
        std::vector<Place> places{};       ///< of each record
        std::vector<Lane> lanes{};
        /// By lane and shape: in the lane's last item there is such a record.
        std::vector<bool> has_shape{};
        std::size_t octets = 0;  ///< that the message does not exceed
    };
    /// What a record adds to an open message at the most.
    struct Growth {
        std::size_t in_item{};                ///< if it goes into the lane's last item
        std::size_t new_item{};               ///< if it begins one
        std::array<std::size_t, 2> shapes{};  ///< of its one or two data records
        std::size_t data_records{};
    };
    /// Items as they are written.
    struct Writing {
        std::vector<std::byte> octets;
        std::size_t used{};
        std::uint32_t items{};
        Timestamp latest_end{};
    };

    using Encodings = std::vector<std::unique_ptr<Encoding>>;
    struct NextTables;

    [[nodiscard]] Encodings make_encodings(const MeteringProcess& metering,
                                           const TakenTables& staying) const;
    [[nodiscard]] std::unique_ptr<Encoding> make_encoding(const MeteringProcess& metering,
                                                          std::size_t index) const;
    [[nodiscard]] Growth growth_of(Encoding& to, const std::byte* record,
                                   std::size_t lane) const noexcept;
    void encode(Encoding& from, const std::byte* record) noexcept;
    void write_items(Encoding& from, OutgoingMessage& open, ExportTime now);
    void write_item(Encoding& from, std::span<const std::uint32_t> records, Writing& to,
                    ExportTime now);
    static void learn_templates(Encoding& from);
    static void sort_entries(OutgoingMessage& message, const Encoding& from,
                             std::span<const std::uint32_t> order);
    static void reset(Encoding& encoding) noexcept;

    ExportOptions own_;           ///< of the encoders
    CollectorOptions collector_;  ///< as it was made
    std::size_t most_message_;
    std::size_t lanes_;
    std::size_t key_octets_;  ///< 0: there is no key
    std::optional<RawFlow> raw_flow_;
    Encodings encodings_;                      ///< by layout; nullptr: the place is free
    std::vector<MessageNumbering> numbering_;  ///< by lane
    std::vector<std::byte> ipfix_;             ///< kMostItem: a message before its frame
    std::vector<FlowShare> flow_shares_;       ///< by layout
    std::uint32_t turn_{};                     ///< of the next item without a key
};

}  // namespace tributary
