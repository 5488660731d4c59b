// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <streambuf>
#include <string>
#include <utility>

#include "export/socket.hpp"

namespace tributary {

/// Reads a ControlReply from its socket as an std::istream does: the parts of the answer one after
/// the other, and what is said at its end apart.
class SocketBuffer final : public std::streambuf {
public:
    /// Octets that are read of what is said at the end, a line of text; some more may be there.
    static constexpr std::size_t kLongestVerdict = 4096;

    /// Called before each receive with the socket: comes back when it has something, or has had
    /// nothing for too long. false: the answer is not wanted any more, and ends here.
    using Wait = std::function<bool(int socket)>;

    explicit SocketBuffer(FileDescriptor socket, Wait wait = {}) noexcept
        : socket_(std::move(socket)), wait_(std::move(wait)) {}

    /// What was said at the end; empty: there was none yet, or the connection was cut.
    [[nodiscard]] const std::string& verdict() const noexcept { return verdict_; }
    /// Whether the other side was silent for longer than SO_RCVTIMEO allows.
    [[nodiscard]] bool timed_out() const noexcept { return timed_out_; }

protected:
    int_type underflow() override;

private:
    [[nodiscard]] bool begin_part();
    [[nodiscard]] std::size_t receive(char* out, std::size_t most);

    FileDescriptor socket_;
    Wait wait_;
    std::size_t left_ = 0;  ///< octets of the part that is being read
    std::string verdict_;
    bool timed_out_ = false;
    std::array<char, 65'536> octets_{};
};

}  // namespace tributary
