// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <istream>
#include <stdexcept>
#include <string>

#include "daemon/control/socket_buffer.hpp"

namespace tributary {

/// The reason why tributaryd refuses a command, or cannot be reached; one printable line.
struct ControlFailure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A command to a running tributaryd, and its answer as a stream.
class ControlAnswer {
public:
    /// Octets of text(): a hundred times the ledger of a thousand queues.
    static constexpr std::size_t kLongestText = std::size_t{256} << 20U;

    /// @param socket   path of its control socket
    /// @param command  a line without its end
    /// @param timeout  how long tributaryd may be silent, before and within its answer
    /// @param wait     called while the connection or an answer is awaited
    /// @errors  ControlFailure: the command is longer than kLongestControlLine, no tributaryd
    ///          listens there, or it is silent, or it refuses the command at once
    ControlAnswer(const std::string& socket, const std::string& command,
                  std::chrono::seconds timeout,
                  const SocketBuffer::Wait& wait = SocketBuffer::wait_idly);

    [[nodiscard]] std::istream& stream() noexcept { return stream_; }
    /// Checks an answer that was read to its end.
    ///
    /// @errors  ControlFailure: the answer is not whole
    void check() const;
    /// The rest of the answer.
    ///
    /// @errors  ControlFailure: the command failed, or more than kLongestText octets
    [[nodiscard]] std::string text();

private:
    std::chrono::seconds timeout_;
    SocketBuffer buffer_;
    std::istream stream_;
};

/// An answer in JSON, as a tributaryd writes it.
///
/// @param text  any text
/// @errors      ControlFailure: not from a tributaryd: nested deeper than the stack allows to walk,
///              or with numbers beyond 64 bits; nlohmann::json::exception: no JSON
template <class Json>
[[nodiscard]] Json parse_answer(const std::string& text) {
    constexpr int kDeepest = 32;
    constexpr double kBeyond = 9.2e18;
    return Json::parse(text, [](int depth, typename Json::parse_event_t, const Json& value) {
        const bool is_beyond =
            value.is_number_float() && !(std::abs(value.template get<double>()) < kBeyond);
        if (depth > kDeepest || is_beyond) {
            throw ControlFailure("the answer is not a tributaryd's");
        }
        return true;
    });
}

}  // namespace tributary
