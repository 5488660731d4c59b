// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/port_link.hpp"

#include <fmt/format.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/port/interface_look.hpp"

namespace tributary {
namespace {

int count_interrupt(std::uint16_t /*port*/, rte_eth_event_type /*event*/, void* interrupts,
                    void* /*unused*/) {
    // Relaxed: only the number matters, the link's state is read anew.
    static_cast<std::atomic<std::uint32_t>*>(interrupts)->fetch_add(1, std::memory_order_relaxed);
    return 0;
}

int note_removal(std::uint16_t /*port*/, rte_eth_event_type /*event*/, void* is_removed,
                 void* /*unused*/) {
    // Relaxed: no other memory depends on it.
    static_cast<std::atomic<bool>*>(is_removed)->store(true, std::memory_order_relaxed);
    return 0;
}

}  // namespace

std::string_view name_of(LinkState state) noexcept {
    constexpr std::array<std::string_view, 4> kNames{"unknown", "down", "up", "gone"};
    return kNames.at(static_cast<std::size_t>(state));
}

std::string Link::text() const {
    if (state == LinkState::unknown) {
        return "link state unknown";
    }
    return state == LinkState::up && megabits != 0 ? fmt::format("link up, {} Mbit/s", megabits)
                                                   : fmt::format("link {}", name_of(state));
}

std::uint32_t highest_speed(std::uint32_t capabilities) {
    constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 10> kSpeeds{

        {{RTE_ETH_LINK_SPEED_200G, RTE_ETH_SPEED_NUM_200G},
         {RTE_ETH_LINK_SPEED_100G, RTE_ETH_SPEED_NUM_100G},
         {RTE_ETH_LINK_SPEED_56G, RTE_ETH_SPEED_NUM_56G},
         {RTE_ETH_LINK_SPEED_50G, RTE_ETH_SPEED_NUM_50G},
         {RTE_ETH_LINK_SPEED_40G, RTE_ETH_SPEED_NUM_40G},
         {RTE_ETH_LINK_SPEED_25G, RTE_ETH_SPEED_NUM_25G},
         {RTE_ETH_LINK_SPEED_10G, RTE_ETH_SPEED_NUM_10G},
         {RTE_ETH_LINK_SPEED_5G, RTE_ETH_SPEED_NUM_5G},
         {RTE_ETH_LINK_SPEED_2_5G, RTE_ETH_SPEED_NUM_2_5G},
         {RTE_ETH_LINK_SPEED_1G, RTE_ETH_SPEED_NUM_1G}}};
    const auto* const fastest = std::ranges::find_if(
        kSpeeds, [&](const auto& speed) { return (capabilities & speed.first) != 0; });
    return fastest == kSpeeds.end() ? 0 : fastest->second;
}

PortLink::PortLink(EthPortId port, unsigned interface_index)
    : port_(port.value), interface_index_(interface_index) {
    rte_eth_dev_callback_register(port_, RTE_ETH_EVENT_INTR_LSC, count_interrupt, &interrupts_);
    rte_eth_dev_callback_register(port_, RTE_ETH_EVENT_INTR_RMV, note_removal, &is_removed_);
}

PortLink::~PortLink() {
    rte_eth_dev_callback_unregister(port_, RTE_ETH_EVENT_INTR_RMV, note_removal, &is_removed_);
    rte_eth_dev_callback_unregister(port_, RTE_ETH_EVENT_INTR_LSC, count_interrupt, &interrupts_);
}

Link PortLink::read() const {
    if (is_removed_.load(std::memory_order_relaxed)) {
        return {.state = LinkState::gone};
    }
    const InterfaceLook look =
        interface_index_ != 0 ? look_at_interface(interface_index_) : InterfaceLook{};
    if (look.presence == InterfaceLook::Presence::gone) {
        return {.state = LinkState::gone};
    }
    rte_eth_link link{};
    const bool known = rte_eth_link_get_nowait(port_, &link) == 0;
    if (known && link.link_status == RTE_ETH_LINK_DOWN) {
        return {.state = LinkState::down};
    }
    // af_packet and similar drivers report their link up as soon as they start; the kernel reports
    // its real state.
    if (interface_index_ != 0) {
        const bool answered = look.presence == InterfaceLook::Presence::there;
        const LinkState seen = look.running ? LinkState::up : LinkState::down;
        return {.state = answered ? seen : LinkState::unknown};
    }
    if (!known) {
        return {.state = LinkState::unknown};
    }
    const bool has_speed =
        link.link_speed != RTE_ETH_SPEED_NUM_NONE && link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;
    return {.state = LinkState::up, .megabits = has_speed ? link.link_speed : 0};
}

bool PortLink::take_interrupt() noexcept {
    const std::uint32_t interrupts = interrupts_.load(std::memory_order_relaxed);
    const bool interrupted = interrupts != interrupts_seen_;
    interrupts_seen_ = interrupts;
    return interrupted;
}

}  // namespace tributary
