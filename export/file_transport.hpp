// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "export/socket.hpp"
#include "export/transport.hpp"

namespace tributary {

/// Writes messages back to back into a file (RFC 5655). The first error is final: the file is cut
/// back to its last whole message and written no more.
class FileTransport final : public Transport {
public:
    /// @errors  ExportError: the file cannot be created
    FileTransport(const CollectorOptions& collector, CollectorEvents& events);

    void advance(std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] std::uint64_t session() const noexcept override;
    [[nodiscard]] SendResult send(std::span<const MessageView> messages,
                                  std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] Fates settle(std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] bool failed() const noexcept override { return failed_; }

private:
    [[nodiscard]] bool write(MessageView message, std::chrono::nanoseconds now) noexcept;

    CollectorEvents& events_;
    FileDescriptor file_;
    off_t whole_octets_{};
    std::size_t written_{};  ///< messages that settle() has not told of
    bool told_{};
    bool failed_{};
};

}  // namespace tributary
