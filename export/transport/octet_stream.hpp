// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "export/file_descriptor.hpp"
#include "export/options.hpp"

namespace tributary {

class TlsContext;

/// Sends messages through TCP connections, one after the other: as they are, or through TLS. It
/// never blocks.
/// @thread  the export thread; `now` is uptime
class OctetStream {
public:
    enum class Opening : std::uint8_t { open, waiting, failed };

    OctetStream() = default;
    OctetStream(const OctetStream&) = delete;
    OctetStream& operator=(const OctetStream&) = delete;
    virtual ~OctetStream() = default;

    /// Begins with a connection.
    ///
    /// @param socket  connected; outlives the stream, or is valid until the next begin()
    virtual void begin(const FileDescriptor& socket) noexcept = 0;
    /// Continues the opening; call it until it returns `open` or has failed.
    [[nodiscard]] virtual Opening open(std::chrono::nanoseconds now) noexcept = 0;
    /// @param octets  not empty; after 0 was returned, the same ones
    /// @return  how many of them were taken, 0: not now; nothing: the connection is lost
    [[nodiscard]] virtual std::optional<std::size_t> send(
        std::span<const std::byte> octets) noexcept = 0;
    /// Reads octets from the collector, which sends none.
    ///
    /// @return  false: the connection has ended
    [[nodiscard]] virtual bool hear() noexcept = 0;
    /// Octets of the TCP connection up to the last one that send() has taken.
    [[nodiscard]] virtual std::uint64_t sent() const noexcept = 0;
    /// Ends the stream to the collector. The socket is closed next.
    virtual void end() noexcept = 0;
    /// Why opening failed, or the connection has ended.
    [[nodiscard]] virtual const std::string& fault() const noexcept = 0;
    /// TLS: its files as they are now, if they have changed since they were read. nullptr: they
    /// have not, or there are none.
    /// @errors  ExportError: they are unusable
    [[nodiscard]] virtual std::shared_ptr<const TlsContext> read_files_anew() const;
    /// TLS: connections from now on begin with this. The present one goes on as it is.
    virtual void begin_with(std::shared_ptr<const TlsContext>&&) noexcept {}
};

/// Octets as they are.
class PlainStream final : public OctetStream {
public:
    void begin(const FileDescriptor& socket) noexcept override;
    [[nodiscard]] Opening open(std::chrono::nanoseconds) noexcept override { return Opening::open; }
    [[nodiscard]] std::optional<std::size_t> send(
        std::span<const std::byte> octets) noexcept override;
    [[nodiscard]] bool hear() noexcept override;
    [[nodiscard]] std::uint64_t sent() const noexcept override { return sent_; }
    void end() noexcept override {}
    [[nodiscard]] const std::string& fault() const noexcept override { return fault_; }

private:
    int socket_ = -1;
    std::uint64_t sent_ = 0;
    std::string fault_;
};

}  // namespace tributary
