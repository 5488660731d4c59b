// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "parsers/unified_header.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// The outcome of sending a frame of unified headers.
enum class FrameOutcome : std::uint8_t {
    sent,
    no_buffer,     ///< no free buffer
    tx_full,       ///< the transmit ring stayed full
    write_failed,  ///< the file could not be written, now or before
    count,
};
inline constexpr std::size_t kFrameOutcomeCount = static_cast<std::size_t>(FrameOutcome::count);
/// The name under which the ledger counts lost packets, for instance "tx_full".
[[nodiscard]] std::string_view name_of(FrameOutcome outcome) noexcept;

/// The destination of one stream's frames. Virtual calls suffice: one per frame.
class FrameSink {
public:
    FrameSink() = default;
    FrameSink(const FrameSink&) = delete;
    FrameSink& operator=(const FrameSink&) = delete;
    virtual ~FrameSink() = default;

    /// Room for the next frame, for send().
    ///
    /// @return  room for the longest frame; empty: no free buffer now
    /// @thread  the stream's thread, like send()
    [[nodiscard]] virtual std::span<std::byte> begin() noexcept = 0;
    /// Sends the first `octets` octets of the room from begin().
    ///
    /// @param now  the stream's clock
    [[nodiscard]] virtual FrameOutcome send(std::size_t octets, Timestamp now) noexcept = 0;
    /// The addresses at the front of each frame.
    [[nodiscard]] virtual const MacAddresses& addresses() const noexcept = 0;
};

}  // namespace tributary
