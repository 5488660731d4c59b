// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <streambuf>
#include <string>
#include <utility>

#include "export/file_descriptor.hpp"

namespace tributary {

/// Reads a ControlReply from its socket as an std::istream does: the parts of the answer one after
/// the other, and what is said at its end apart.
class SocketBuffer final : public std::streambuf {
public:
    /// Octets that are read of what is said at the end, a line of text; some more may be there.
    static constexpr std::size_t kLongestVerdict = 4096;

    enum class WaitEnd : std::uint8_t {
        ready,      ///< the socket has something, or has ended
        timed_out,  ///< nothing came
        ended,      ///< the answer is not wanted any more
    };
    /// Waits until the socket has something to read.
    ///
    /// @param socket  -1: none, only time passes
    /// @param most    how long; below 0: for ever
    using Wait = std::function<WaitEnd(int socket, std::chrono::milliseconds most)>;
    /// The Wait of a program that does nothing else meanwhile.
    [[nodiscard]] static WaitEnd wait_idly(int socket, std::chrono::milliseconds most) noexcept;

    /// @param patience  for each wait; below 0: for ever
    explicit SocketBuffer(FileDescriptor socket, Wait wait = wait_idly,
                          std::chrono::milliseconds patience = std::chrono::milliseconds{-1})
        : socket_(std::move(socket)), wait_(std::move(wait)), patience_(patience) {}

    /// What was said at the end; empty: there was none yet, or the connection was cut.
    [[nodiscard]] const std::string& verdict() const noexcept { return verdict_; }
    /// Whether the other side was silent for longer than is allowed.
    [[nodiscard]] bool timed_out() const noexcept { return timed_out_; }

protected:
    int_type underflow() override;

private:
    [[nodiscard]] bool begin_part();
    [[nodiscard]] std::size_t receive(char* out, std::size_t most);

    FileDescriptor socket_;
    Wait wait_;
    std::chrono::milliseconds patience_;
    std::size_t left_ = 0;  ///< octets of the part that is being read
    std::string verdict_;
    bool timed_out_ = false;
    std::array<char, 65'536> octets_{};
};

}  // namespace tributary
