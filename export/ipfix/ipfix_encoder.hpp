// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "export/export_error.hpp"
#include "export/ipfix/fixbuf_session.hpp"
#include "export/ipfix/message_builder.hpp"
#include "export/ipfix/record_template.hpp"
#include "export/ipfix/template_ids.hpp"
#include "export/message.hpp"
#include "export/message_format.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/key_descriptor.hpp"

namespace tributary {

/// A closed message, whose header has neither number nor time yet: MessageNumbering writes them.
struct EncodedMessage {
    MessageView octets;       ///< valid until the encoder's next append(); empty: it has no record
    std::uint32_t records{};  ///< data records in it
    Timestamp latest_end{};   ///< of these records
};

/// What a data record needs in a message.
struct RecordNeed {
    std::size_t shape{};            ///< index of its template
    std::size_t octets{};           ///< of the data record, without a set header
    std::size_t template_octets{};  ///< that its template record does not exceed
};

/// Which fields of a template are the flow's key.
struct TemplateKeys {
    std::uint16_t template_id{};
    std::uint64_t indicator{};  ///< flowKeyIndicator (IE 173): bit n for the field n, from 0
};

/// Makes IPFIX messages out of flow records, one message at a time:
///
///     append()* -> close() -> append()* ...
///
/// Data records are written straight into the message (MessageBuilder). libfixbuf has the registry
/// of elements, and encodes the templates.
///
/// Template messages are separate and available at any time. append() may add one to them: it has
/// to be sent before the message with the record. All templates are encoded before the first record
/// is. A plain one is announced at once, any other after the first record of its shape: with every
/// group chosen there are hundreds, and a network needs a few of them.
/// @thread  one; nothing is shared between encoders
class IpfixEncoder {
public:
    /// @param message_limit  octets that no message exceeds, at most 65535
    /// @param first_id       of the layout's templates, see first_template_id()
    /// @param table          of the records
    /// @errors  ExportError: libfixbuf refuses the templates, or a record does not fit the limit
    IpfixEncoder(const ExportOptions& options, const RecordLayout& layout,
                 std::size_t message_limit, std::uint16_t first_id = kFirstTemplateId,
                 const TableElements& table = {});
    /// @param record  of the layout given at construction, aligned to 8
    [[nodiscard]] AppendResult append(const std::byte* record) noexcept;
    /// Appends two records that stay together in one message: both of them, or none.
    [[nodiscard]] AppendResult append_pair(const std::byte* first,
                                           const std::byte* second) noexcept;
    /// Closes the open message.
    [[nodiscard]] EncodedMessage close() noexcept;

    /// What a record needs in a message.
    ///
    /// @param record  of the layout given at construction, aligned to 8
    [[nodiscard]] RecordNeed need_of(const std::byte* record) const noexcept;
    /// Shapes are 0 .. shapes() - 1.
    [[nodiscard]] std::size_t shapes() const noexcept { return templates_.size(); }

    /// Grows when the first record of a shape that is not plain is appended, and never shrinks.
    [[nodiscard]] std::size_t template_messages() const noexcept { return announced_.size(); }
    /// @param index  0 .. template_messages() - 1
    /// @return  without number and time; valid until the next append()
    [[nodiscard]] MessageView template_message(std::size_t index) const noexcept {
        return announced_[index];
    }
    /// Announces the templates that a message of an encoder with the same fingerprint needs.
    ///
    /// @return  data records in it; nothing: it has sets of other templates, or of no whole records
    std::optional<std::uint32_t> announce_for(MessageView message) noexcept;
    /// Equal for encoders whose messages and templates match, in every run.
    [[nodiscard]] std::uint64_t fingerprint() const noexcept { return fingerprint_; }

    /// Of the templates in these messages, in their order.
    [[nodiscard]] std::span<const TemplateKeys> announced_keys() const noexcept { return keys_; }
    /// The name of the table whose records it encodes; empty: it has none.
    [[nodiscard]] const std::string& table() const noexcept { return table_; }

private:
    void check_sizes(std::size_t message_limit) const;
    void encode_templates(const FixbufSession::Settings& settings);
    [[nodiscard]] bool add(const std::byte* record, std::size_t shape) noexcept;
    [[nodiscard]] std::uint64_t make_fingerprint(std::uint32_t observation_domain) const noexcept;
    void announce(std::size_t shape) noexcept;

    std::string table_;
    RecordLayout layout_;
    RecordShapes shapes_;
    std::vector<RecordTemplate> templates_;  ///< by shape
    MessageBuilder message_;
    std::vector<std::vector<std::byte>> announced_;  ///< messages, those of the plain shapes first
    std::vector<TemplateKeys> keys_;
    std::uint64_t fingerprint_{};
    /// By shape, the message of its template, until that is announced.
    std::vector<std::vector<std::byte>> kept_back_;
    Timestamp latest_end_{};  ///< of the open message's records
};

}  // namespace tributary
