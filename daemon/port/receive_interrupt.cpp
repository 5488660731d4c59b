// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/receive_interrupt.hpp"

#include <rte_epoll.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <sys/epoll.h>

#include <cerrno>
#include <utility>

namespace tributary {

std::unique_ptr<ReceiveInterrupt> ReceiveInterrupt::open(EthPortId port, std::uint16_t queue,
                                                         std::mutex& switches) {
    FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
    if (!epoll || rte_eth_dev_rx_intr_ctl_q(port.value, queue, epoll.get(), RTE_INTR_EVENT_ADD,
                                            nullptr) != 0) {
        return nullptr;
    }
    std::unique_ptr<ReceiveInterrupt> interrupt(
        new ReceiveInterrupt(port, queue, switches, std::move(epoll)));
    if (interrupt->switch_on() != 0) {
        return nullptr;
    }
    interrupt->switch_off();
    return interrupt;
}

ReceiveInterrupt::ReceiveInterrupt(EthPortId port, std::uint16_t queue, std::mutex& switches,
                                   FileDescriptor epoll)
    : port_(port.value), queue_(queue), switches_(switches), epoll_(std::move(epoll)) {}

ReceiveInterrupt::~ReceiveInterrupt() {
    rte_eth_dev_rx_intr_ctl_q(port_, queue_, epoll_.get(), RTE_INTR_EVENT_DEL, nullptr);
}

/// @return  0, or a negative errno
int ReceiveInterrupt::switch_on() const noexcept {
    const std::lock_guard lock(switches_);
    const int error = rte_eth_dev_rx_intr_enable(port_, queue_);
    // net_tap needs no switch: its descriptor is readable while there is a packet.
    return error == -ENOTSUP ? 0 : error;
}

void ReceiveInterrupt::switch_off() const noexcept {
    const std::lock_guard lock(switches_);
    rte_eth_dev_rx_intr_disable(port_, queue_);
}

bool ReceiveInterrupt::wait(std::chrono::milliseconds longest) const noexcept {
    if (switch_on() != 0) {
        return true;  // no interrupt would come: poll instead
    }
    // A packet may have come after the last poll, while the interrupt was off. Drivers that cannot
    // count packets keep the interrupt's cause, and so still report it.
    bool has_packets = rte_eth_rx_queue_count(port_, queue_) > 0;
    if (!has_packets) {
        rte_epoll_event event{};
        has_packets =
            rte_epoll_wait(epoll_.get(), &event, 1, static_cast<int>(longest.count())) > 0;
    }
    switch_off();
    return has_packets;
}

}  // namespace tributary
