// SPDX-License-Identifier: Apache-2.0
#include "daemon/receive_interrupt.hpp"

#include <rte_epoll.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <sys/epoll.h>

#include <cerrno>
#include <utility>

namespace tributary {

std::unique_ptr<ReceiveInterrupt> ReceiveInterrupt::open(EthPortId port, std::uint16_t queue) {
    FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll || rte_eth_dev_rx_intr_ctl_q(port.value, queue, epoll.get(), RTE_INTR_EVENT_ADD,
                                            nullptr) != 0) {
        return nullptr;
    }
    std::unique_ptr<ReceiveInterrupt> interrupt(
        new ReceiveInterrupt(port, queue, std::move(epoll)));
    // net_tap need not be told: its descriptor is readable while there is a packet.
    const int error = rte_eth_dev_rx_intr_enable(port.value, queue);
    if (error != 0 && error != -ENOTSUP) {
        return nullptr;
    }
    rte_eth_dev_rx_intr_disable(port.value, queue);
    return interrupt;
}

ReceiveInterrupt::ReceiveInterrupt(EthPortId port, std::uint16_t queue, FileDescriptor epoll)
    : port_(port.value), queue_(queue), epoll_(std::move(epoll)) {}

ReceiveInterrupt::~ReceiveInterrupt() {
    rte_eth_dev_rx_intr_ctl_q(port_, queue_, epoll_.get(), RTE_INTR_EVENT_DEL, nullptr);
}

bool ReceiveInterrupt::wait(std::chrono::milliseconds longest) const noexcept {
    rte_eth_dev_rx_intr_enable(port_, queue_);
    // A packet may have come after the last poll, when no interrupt was asked for.
    bool has_packets = rte_eth_rx_queue_count(port_, queue_) > 0;
    if (!has_packets) {
        rte_epoll_event event{};
        has_packets =
            rte_epoll_wait(epoll_.get(), &event, 1, static_cast<int>(longest.count())) > 0;
    }
    rte_eth_dev_rx_intr_disable(port_, queue_);
    return has_packets;
}

}  // namespace tributary
