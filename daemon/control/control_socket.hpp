// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string>

#include "export/file_descriptor.hpp"

namespace tributary {

/// The address of a unix socket.
struct ControlAddress {
    sockaddr_un address{};

    [[nodiscard]] const sockaddr* generic() const noexcept {
        return reinterpret_cast<const sockaddr*>(&address);
    }
};

/// @return  nullopt: the path is too long for a socket
[[nodiscard]] std::optional<ControlAddress> control_address(const std::string& path);

/// Does not wait.
///
/// @return  a connected non-blocking socket; invalid: see errno. EAGAIN: a process listens there,
///          but its queue is full
[[nodiscard]] FileDescriptor connect_to_control(const std::string& path);

/// The process at the other end of a connection; nothing: the system does not tell.
[[nodiscard]] std::optional<ucred> peer_of(int socket) noexcept;

/// The verdict of a successful command.
inline constexpr const char* kGoodVerdict = "ok";

inline constexpr const char* kControlDirectory = "/run/tributary";
inline constexpr const char* kControlSocketName = "control.sock";
inline constexpr const char* kRecorderSocketName = "recorder.sock";

/// The default path of a socket of tributaryd: in the directory that systemd has made for the
/// service, or in kControlDirectory.
///
/// @param name  of the socket
[[nodiscard]] std::string default_control_socket(const char* name = kControlSocketName);

}  // namespace tributary
