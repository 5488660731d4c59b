// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "parsers/units.hpp"

namespace tributary {

/// Octets of a message, or of a part of one. Borrowed from its maker.
using MessageView = std::span<const std::byte>;

/// Whether these octets are one whole message of data sets: its version, its length and the lengths
/// of its sets are right. Messages read from a disk are checked so before they are sent.
///
/// @source  RFC 7011 §3.1, §3.3.2
[[nodiscard]] bool is_data_message(MessageView octets) noexcept;

/// Clears number and export time in a message's header.
///
/// @param message  whole
void clear_stamp(std::span<std::byte> message) noexcept;

/// Writes number and export time into the headers of one session's messages when they leave: a
/// message that waits for its collector gets the time at which it is sent, and its number in the
/// session in which it is sent.
///
/// @source  RFC 7011 §3.1: export time, sequence number
class MessageNumbering {
public:
    /// A new session: numbers begin at 0. Export times go on.
    void restart() noexcept { sequence_ = 0; }
    /// @param message     whole
    /// @param records     data records in it
    /// @param now         of the clock; a later `latest_end` or a later time stamped before
    ///                    prevails, unless that is later than both by more than kFurthestAhead: the
    ///                    clock has gone back, and export times go back with it
    /// @param latest_end  of its records
    void stamp(std::span<std::byte> message, std::uint32_t records, Timestamp now,
               Timestamp latest_end) noexcept;
    /// The last stamped message, with so many records, will be stamped anew.
    void take_back(std::uint32_t records) noexcept { sequence_ -= records; }

private:
    std::uint32_t sequence_{};     ///< data records in earlier messages of this session
    std::uint32_t last_export_{};  ///< seconds; the export time of the last message
};

}  // namespace tributary
