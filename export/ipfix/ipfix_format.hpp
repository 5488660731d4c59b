// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "export/ipfix/biflow_splitter.hpp"
#include "export/ipfix/ipfix_encoder.hpp"
#include "export/ipfix/template_scheduler.hpp"
#include "export/message.hpp"
#include "export/message_format.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"

namespace tributary {

/// Records as IPFIX messages for one collector, in one observation domain. A message has records of
/// one layout, in sets of several templates; sequence numbers count the records of all. Templates
/// go ahead of the records that need them, options records are the report.
///
/// There is an encoder for each table, so that templates and fingerprints do not depend on the
/// tables that the collector takes. Templates and options records are of these tables alone, until
/// a message of another one leaves: it was on its way, or in a spool, when the tables changed.
///
/// @source  RFC 7011
/// @thread  the export thread
class IpfixFormat final : public MessageFormat {
public:
    /// @param options        of the export
    /// @param collector      one of its collectors
    /// @param metering       has the tables
    /// @param message_limit  octets that no message of the tables that the collector takes exceeds
    /// @errors  ExportError
    IpfixFormat(const ExportOptions& options, const CollectorOptions& collector,
                const MeteringProcess& metering, std::size_t message_limit);

    [[nodiscard]] AppendResult append(const std::byte* record,
                                      OutgoingMessage& open) noexcept override;
    void close(OutgoingMessage& open, ExportTime now) override;
    void discard(OutgoingMessage& open) noexcept override;
    [[nodiscard]] std::unique_ptr<Tables> prepare_tables(const MeteringProcess& metering,
                                                         const TableChoice& choice) override;
    void take_tables(std::unique_ptr<Tables> prepared) noexcept override;
    void prepare_for(const OutgoingMessage& message) noexcept override {
        if (!message.is_made_anew()) {
            templates_.prepare_for(message.layout);
        }
    }
    void stamp(OutgoingMessage& message, ExportTime now) noexcept override;
    void take_back(const OutgoingMessage& message) noexcept override {
        numbering_.take_back(message.data_records);
    }
    void restart_session() noexcept override { templates_.restart(); }
    void restart_numbers() noexcept override { numbering_.restart(); }
    void refresh_if_due(std::chrono::nanoseconds now) noexcept override {
        templates_.refresh_if_due(now);
    }
    [[nodiscard]] std::optional<Ahead> next_ahead(std::chrono::nanoseconds now) noexcept override {
        return templates_.next_template(now);
    }
    void take_back_ahead() noexcept override { templates_.take_back_template(); }
    [[nodiscard]] bool report_is_due(std::chrono::nanoseconds now) const noexcept override {
        return templates_.options_are_due(now);
    }
    void want_report() noexcept override { templates_.want_options(); }
    [[nodiscard]] Report make_report(const ExportNumbers& numbers,
                                     std::chrono::nanoseconds now) override {
        return templates_.make_options(numbers, now);
    }
    [[nodiscard]] SpoolContent spool_content() const override;
    [[nodiscard]] bool readmit(const OutgoingMessage& message) noexcept override;

private:
    /// The records of one layout.
    struct Encoding {
        std::optional<BiflowSplitter> splitter;  ///< where the collector gets uniflows of biflows
        IpfixEncoder encoder;
        /// Why the records do not fit the limit, and so the collector cannot take the table; empty:
        /// they do.
        std::string fault;
    };
    using Encodings = std::vector<std::unique_ptr<Encoding>>;
    struct NextTables;

    /// A table as it is encoded.
    struct Place {
        std::size_t table;  ///< its index
        std::size_t turn;   ///< as in first_template_id()
    };
    [[nodiscard]] std::unique_ptr<Encoding> make_encoding(const MeteringProcess& metering,
                                                          const Place& place,
                                                          std::size_t message_limit) const;
    [[nodiscard]] std::unique_ptr<Encoding> make_spare_encoding(const MeteringProcess& metering,
                                                                const Place& place) const;
    [[nodiscard]] Encodings make_encodings(const MeteringProcess& metering,
                                           const TableChoice& choice,
                                           const std::vector<std::size_t>& turns) const;

    [[nodiscard]] static SpoolLayout in_spool(const Encoding* encoding) noexcept;

    ExportOptions own_;           ///< of the encoders
    CollectorOptions collector_;  ///< as it was made
    std::size_t message_limit_;
    /// By table: how many have had its place before. By TCP and in files it stays 0, because there
    /// templates are withdrawn.
    std::vector<std::size_t> turns_;
    bool has_turns_;
    Encodings encodings_;  ///< by table; nullptr: the place is free
    TemplateScheduler templates_;
    MessageNumbering numbering_;
};

}  // namespace tributary
