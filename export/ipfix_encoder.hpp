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
    message_full,  ///< not added: finish() and release() this message, then append again
    failed,        ///< not added, and the records of the message that was open are gone with it
};

/// Makes IPFIX messages out of flow records. It encodes one message at a time:
///
///     append()* -> finish() -> hand the message over -> release() -> append()* ...
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
    /// Closes the open message. Called again before release(), it gives the same records with the
    /// number that they have now, for a session that began meanwhile.
    ///
    /// @param export_time  now; a later record end in the message or a later export time before it
    /// prevails
    /// @return  good until release(); empty when there is no record in it
    /// @source  RFC 7011 §3.1
    [[nodiscard]] MessageView finish(Timestamp export_time) noexcept;
    /// Says that the finished message is sent, or lost for good: sequence numbers go on after its
    /// records.
    void release() noexcept;

    /// Grows when the first record of a shape that is not plain is appended, and never shrinks.
    [[nodiscard]] std::size_t template_messages() const noexcept;
    /// @param index  0 .. template_messages() - 1
    /// @return  good until the next call for the same index
    [[nodiscard]] MessageView template_message(std::size_t index, Timestamp export_time) noexcept;

    /// Starts a transport session: sequence numbers begin at 0. A finished message that is not
    /// released yet becomes the session's first; ask finish() for it again.
    void restart_session() noexcept;

private:
    class Fixbuf;
    std::unique_ptr<Fixbuf> fixbuf_;
};

}  // namespace tributary
