// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "export/export_error.hpp"
#include "export/message.hpp"
#include "export/options.hpp"
#include "flowcache/flow_record.hpp"

namespace tributary {

enum class AppendResult : std::uint8_t {
    added,
    message_full,  ///< not added: close() this message, then append again
    failed,        ///< not added, and the records of the message that was open are gone with it
};

/// A closed message, whose header has neither number nor time yet: MessageNumbering writes them.
struct EncodedMessage {
    MessageView octets;       ///< good until the encoder's next append(); empty: it has no record
    std::uint32_t records{};  ///< data records in it
    Timestamp latest_end{};   ///< of these records
};

/// Makes IPFIX messages out of flow records, one message at a time:
///
///     append()* -> close() -> append()* ...
///
/// Template messages stand apart from that and can be had at any time. append() may add one to
/// them: it has to be sent before the message that the record is in.
/// @thread  one; nothing is shared between encoders
class IpfixEncoder {
public:
    /// @param message_limit  octets that no message exceeds, at most 65535
    /// @errors  ExportError: libfixbuf refuses the templates, or a record does not fit the limit
    IpfixEncoder(const ExportOptions& options, const RecordLayout& layout,
                 std::size_t message_limit);
    IpfixEncoder(const IpfixEncoder&) = delete;
    IpfixEncoder& operator=(const IpfixEncoder&) = delete;
    ~IpfixEncoder();

    /// @param record  of the layout given at construction, aligned to 8
    [[nodiscard]] AppendResult append(const std::byte* record) noexcept;
    /// Closes the open message.
    [[nodiscard]] EncodedMessage close() noexcept;

    /// Grows when the first record of a shape that is not plain is appended, and never shrinks.
    [[nodiscard]] std::size_t template_messages() const noexcept;
    /// @param index  0 .. template_messages() - 1
    /// @return  without number and time; good until the next append()
    [[nodiscard]] MessageView template_message(std::size_t index) const noexcept;

private:
    class Fixbuf;
    std::unique_ptr<Fixbuf> fixbuf_;
};

}  // namespace tributary
