// SPDX-License-Identifier: Apache-2.0
#include "daemon/control/control_socket.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tributary {

std::optional<ControlAddress> control_address(const std::string& path) {
    ControlAddress made;
    made.address.sun_family = AF_UNIX;
    if (path.size() >= sizeof made.address.sun_path) {
        return std::nullopt;
    }
    std::memcpy(made.address.sun_path, path.data(), path.size());
    return made;
}

FileDescriptor connect_to_control(const std::string& path) {
    const std::optional<ControlAddress> address = control_address(path);
    if (!address) {
        errno = ENAMETOOLONG;
        return {};
    }
    FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket && ::connect(socket.get(), address->generic(), sizeof(sockaddr_un)) != 0) {
        const int error = errno;
        socket = {};
        errno = error;
    }
    return socket;
}

std::optional<ucred> peer_of(int socket) noexcept {
    ucred process{};
    socklen_t size = sizeof process;
    const bool is_told = ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &process, &size) == 0;
    return is_told ? std::optional(process) : std::nullopt;
}

std::string default_control_socket(const char* name) {
    const char* const made_by_systemd =
        std::getenv("RUNTIME_DIRECTORY");  // NOLINT(concurrency-mt-unsafe)
    return std::string(made_by_systemd != nullptr ? made_by_systemd : kControlDirectory) + "/" +
           name;
}

}  // namespace tributary
