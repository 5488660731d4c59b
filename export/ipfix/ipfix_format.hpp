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
    void check_tables(const TakenTables& taken) const override;
    void set_tables(const TakenTables& taken) noexcept override { templates_.set_tables(taken); }
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

    [[nodiscard]] static std::unique_ptr<Encoding> make_encoding(const ExportOptions& own,
                                                                 const CollectorOptions& collector,
                                                                 const MeteringProcess& metering,
                                                                 std::size_t table,
                                                                 std::size_t message_limit);
    [[nodiscard]] static std::unique_ptr<Encoding> make_spare_encoding(
        const ExportOptions& own, const CollectorOptions& collector,
        const MeteringProcess& metering, std::size_t table, std::size_t message_limit);
    [[nodiscard]] static Encodings make_encodings(const ExportOptions& own,
                                                  const CollectorOptions& collector,
                                                  const MeteringProcess& metering,
                                                  std::size_t message_limit);

    Encodings encodings_;  ///< by table
    TemplateScheduler templates_;
    MessageNumbering numbering_;
};

}  // namespace tributary
