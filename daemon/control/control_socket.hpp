// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string>

#include "export/file_descriptor.hpp"

namespace tributary {

/// Where a unix socket is.
struct ControlAddress {
    sockaddr_un address{};

    [[nodiscard]] const sockaddr* generic() const noexcept {
        return reinterpret_cast<const sockaddr*>(&address);
    }
};

/// @return  nothing: the path is too long for a socket
[[nodiscard]] std::optional<ControlAddress> control_address(const std::string& path);

/// Does not wait.
///
/// @return  a connected socket, whose calls do not block; invalid: errno tells why there is none,
///          EAGAIN that a process listens there, but its queue is full
[[nodiscard]] FileDescriptor connect_to_control(const std::string& path);

/// What a command that went well says at its end.
inline constexpr const char* kGoodVerdict = "ok";

inline constexpr const char* kControlDirectory = "/run/tributary";
inline constexpr const char* kControlSocketName = "control.sock";

/// Where tributaryd's socket is if nobody says otherwise: in the directory that systemd has made
/// for the service, or kControlDirectory.
[[nodiscard]] std::string default_control_socket();

}  // namespace tributary
