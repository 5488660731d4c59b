// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "parsers/packet.hpp"

namespace tributary {

/// Selects the frames of an input that are parsed. Virtual, because it is called once per burst.
class PacketSelector {
public:
    enum class Readiness : std::uint8_t {
        ready,
        not_ready,  ///< no decision is possible yet: nothing passes, and nothing is decided
    };

    explicit PacketSelector(Readiness readiness = Readiness::ready) noexcept
        : readiness_(readiness) {}
    PacketSelector(const PacketSelector&) = delete;
    PacketSelector& operator=(const PacketSelector&) = delete;
    virtual ~PacketSelector() = default;

    /// @param packets  at most kBurstPackets
    /// @return         the packets that pass
    /// @thread         the input thread
    [[nodiscard]] virtual PacketMask select(std::span<const PacketView> packets) noexcept = 0;
    [[nodiscard]] bool is_ready() const noexcept { return readiness_ == Readiness::ready; }

private:
    Readiness readiness_;
};

}  // namespace tributary
