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
    [[nodiscard]] SendStatus send(MessageView message,
                                  std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] bool last_was_refused(std::chrono::nanoseconds) noexcept override {
        return false;
    }
    [[nodiscard]] bool failed() const noexcept override { return failed_; }

private:
    CollectorEvents& events_;
    FileDescriptor file_;
    off_t whole_octets_{};
    bool told_{};
    bool failed_{};
};

}  // namespace tributary
