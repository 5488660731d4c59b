// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "parsers/units.hpp"

namespace tributary {

enum class LinkState : std::uint8_t {
    unknown,  ///< the driver does not report it
    down,
    up,
    gone,  ///< the device was removed; the port receives nothing any more
};

/// One word, for figures and `tributary top`.
[[nodiscard]] std::string_view name_of(LinkState state) noexcept;

struct Link {
    LinkState state = LinkState::unknown;
    std::uint32_t megabits{};  ///< Mbit/s; 0: unknown

    /// For the log, for instance "link up, 10000 Mbit/s".
    [[nodiscard]] std::string text() const;
};

/// The fastest of a port's link speeds, in Mbit/s; 0: unknown.
///
/// @param capabilities  rte_eth_dev_info::speed_capa
[[nodiscard]] std::uint32_t highest_speed(std::uint32_t capabilities);

/// The link of one open port, as its driver and, for a virtual device, the kernel report it.
/// @thread  main
class PortLink {
public:
    /// @param interface_index  of the kernel's interface behind the port; 0: none
    PortLink(EthPortId port, unsigned interface_index);
    ~PortLink();
    PortLink(const PortLink&) = delete;
    PortLink& operator=(const PortLink&) = delete;

    [[nodiscard]] Link read() const;
    /// Whether the driver has reported a change since the last call.
    [[nodiscard]] bool take_interrupt() noexcept;

private:
    std::uint16_t port_;
    unsigned interface_index_;
    std::uint32_t interrupts_seen_ = 0;
    std::atomic<std::uint32_t> interrupts_{0};  // written by DPDK's interrupt thread
    std::atomic<bool> is_removed_{false};       // written by DPDK's interrupt thread
};

}  // namespace tributary
