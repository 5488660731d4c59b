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

/// Reads a ControlReply from its socket, for an std::istream: the parts of the answer one after the
/// other, and the verdict apart.
class SocketBuffer final : public std::streambuf {
public:
    /// Octets to read of the verdict, a line of text; a longer one is cut.
    static constexpr std::size_t kLongestVerdict = 4096;

    enum class WaitEnd : std::uint8_t {
        ready,      ///< the socket is readable, or has ended
        timed_out,  ///< no octets came
        ended,      ///< the program has ended the wait
    };
    /// Waits until the socket is readable.
    ///
    /// @param socket  -1: none, waits for `most`
    /// @param most    longest wait; below 0: for ever
    using Wait = std::function<WaitEnd(int socket, std::chrono::milliseconds most)>;
    /// The Wait of a program without other work.
    [[nodiscard]] static WaitEnd wait_idly(int socket, std::chrono::milliseconds most) noexcept;

    /// @param patience  for each wait; below 0: for ever
    explicit SocketBuffer(FileDescriptor socket, Wait wait = wait_idly,
                          std::chrono::milliseconds patience = std::chrono::milliseconds{-1})
        : socket_(std::move(socket)), wait_(std::move(wait)), patience_(patience) {}

    /// The end of the answer; empty: none yet, or the connection was cut.
    [[nodiscard]] const std::string& verdict() const noexcept { return verdict_; }
    /// Whether the other side was silent for longer than `patience`.
    [[nodiscard]] bool timed_out() const noexcept { return timed_out_; }

protected:
    int_type underflow() override;

private:
    [[nodiscard]] bool begin_part();
    [[nodiscard]] std::size_t receive(char* out, std::size_t most);

    FileDescriptor socket_;
    Wait wait_;
    std::chrono::milliseconds patience_;
    std::size_t left_ = 0;  ///< octets of the present part
    std::string verdict_;
    bool timed_out_ = false;
    std::array<char, 65'536> octets_{};
};

}  // namespace tributary
