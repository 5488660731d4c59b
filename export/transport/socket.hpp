// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "export/file_descriptor.hpp"
#include "export/options.hpp"

namespace tributary {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length{};

    [[nodiscard]] int family() const noexcept { return storage.ss_family; }
    friend bool operator==(const SocketAddress& a, const SocketAddress& b) noexcept;
};

/// Opens a non-blocking socket of this type bound to `source`, if there is one, and connects it to
/// `peer`; a TCP connection is then still on its way.
///
/// @return  the socket, or an errno
[[nodiscard]] tl::expected<FileDescriptor, int> connect_socket(
    const SocketAddress& peer, int type, const std::optional<SocketAddress>& source) noexcept;

/// Whether a TCP connection ends where it begins: a port of the ephemeral range without a listener
/// may be given to the very socket that connects to it.
[[nodiscard]] bool is_connected_to_itself(const FileDescriptor& socket) noexcept;

/// The error that waits at a socket, taken from it; 0: none.
[[nodiscard]] int take_socket_error(const FileDescriptor& socket) noexcept;

/// Makes a connected UDP socket keep ICMP errors of its datagrams, so that no other call takes them
/// away unnoticed.
void report_refusals(const FileDescriptor& socket, int family) noexcept;
/// The ICMP error since the last call: ECONNREFUSED when no process listens at the peer's port,
/// EHOSTUNREACH or ENETUNREACH when the peer cannot be reached; 0: none.
[[nodiscard]] int take_icmp_error(const FileDescriptor& socket) noexcept;

/// Whether the kernel can split what one call sends into datagrams (UDP_SEGMENT, Linux 4.18). An
/// older one would send all of it as one datagram.
[[nodiscard]] bool can_segment(const FileDescriptor& socket) noexcept;

/// Whether datagrams are still in this host, as they are until the link-layer address of the next
/// hop is resolved. On a busy link there are always some.
[[nodiscard]] bool holds_datagrams(const FileDescriptor& socket) noexcept;

/// Reads CollectorOptions::source_address.
/// @errors  ExportError: neither empty nor a local numeric address
[[nodiscard]] std::optional<SocketAddress> source_of(const CollectorOptions& collector);

/// Finds the addresses of a collector without ever blocking its caller: a numeric address at once,
/// a name in a thread of its own, because the system's resolver may take many seconds.
class Resolver {
public:
    using Result = tl::expected<std::vector<SocketAddress>, std::string>;

    Resolver(const CollectorOptions& collector, int socket_type);

    void start() noexcept;
    [[nodiscard]] bool asking() const noexcept { return lookup_ != nullptr || fault_ != nullptr; }
    /// The outcome of the last start(), once; nothing while it is not known.
    [[nodiscard]] std::optional<Result> poll() noexcept;
    [[nodiscard]] bool is_numeric() const noexcept { return numeric_.has_value(); }

private:
    struct Lookup;

    void begin_lookup();
    void fail_to_start(const char* why) noexcept;

    std::string host_;
    std::string port_;
    int socket_type_;
    std::optional<std::vector<SocketAddress>> numeric_;
    std::shared_ptr<Lookup> lookup_;  ///< shared with the asking thread, which may outlive us
    const char* fault_{};  ///< why the last start() found no thread or memory, until poll()
};

}  // namespace tributary
