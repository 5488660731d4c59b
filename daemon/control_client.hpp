// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <stdexcept>
#include <string>

#include "daemon/socket_buffer.hpp"

namespace tributary {

/// What a tributaryd says that it cannot do, or why there is none to ask; one line.
struct ControlFailure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A command that was given to a running tributaryd, and its answer as a stream.
class ControlAnswer {
public:
    /// @param socket   path of its control socket
    /// @param command  a line without its end
    /// @errors  ControlFailure: nobody listens there, or the command is refused at once
    ControlAnswer(const std::string& socket, const std::string& command);

    [[nodiscard]] std::istream& stream() noexcept { return stream_; }
    /// Whether the answer, which was read to its end, is whole.
    ///
    /// @errors  ControlFailure: it is not
    void check() const;
    /// All that is left of the answer.
    ///
    /// @errors  ControlFailure: the command failed on the way
    [[nodiscard]] std::string text();

private:
    SocketBuffer buffer_;
    std::istream stream_;
};

}  // namespace tributary
