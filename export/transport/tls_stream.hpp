// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "export/export_error.hpp"
#include "export/transport/octet_stream.hpp"
#include "export/transport/tls_context.hpp"

namespace tributary {

/// TLS 1.2 or later, by OpenSSL. The collector's certificate must be signed by a known authority,
/// be valid today, and bear the collector's name; nothing is sent before that is verified.
///
/// With TLS 1.3 the client's part of the handshake ends before the server has judged the client's
/// certificate. The server's kernel would acknowledge messages that follow at once even if the
/// server refuses. So the stream is open when the server has sent something (its first session
/// ticket), or nothing for kPatience: a server may send no tickets.
/// @source  RFC 7011 §11, RFC 8446 §4.6.1
/// @cost    a handshake takes a millisecond or two of the export thread
/// @pre     SIGPIPE is ignored
class TlsStream final : public OctetStream {
public:
    static constexpr std::chrono::seconds kPatience{1};

    /// @errors  ExportError: a certificate or key cannot be read, or they do not belong together
    explicit TlsStream(const CollectorOptions& collector);
    ~TlsStream() override;

    void begin(const FileDescriptor& socket) noexcept override;
    [[nodiscard]] Opening open(std::chrono::nanoseconds now) noexcept override;
    [[nodiscard]] std::optional<std::size_t> send(
        std::span<const std::byte> octets) noexcept override;
    [[nodiscard]] bool hear() noexcept override;
    [[nodiscard]] std::uint64_t sent() const noexcept override;
    void end() noexcept override;
    [[nodiscard]] const std::string& fault() const noexcept override { return fault_; }
    [[nodiscard]] std::shared_ptr<const TlsContext> read_files_anew() const override;
    void begin_with(std::shared_ptr<const TlsContext>&& context) noexcept override;

private:
    struct Library;

    [[nodiscard]] bool must_repeat(int result) noexcept;
    void note_fault() noexcept;

    std::shared_ptr<const TlsContext> context_;  ///< for the next connection
    std::unique_ptr<Library> library_;
    std::string host_;                      ///< the name that the certificate must bear
    std::chrono::nanoseconds shaken_at_{};  ///< when the handshake was done; 0: it is not
    bool confirmed_ = false;                ///< the server has sent something since
    std::string fault_;
};

}  // namespace tributary
