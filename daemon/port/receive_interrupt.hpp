// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "export/file_descriptor.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// A receive queue's interrupt, for a started port configured with rte_eth_intr_conf::rxq. It must
/// be destroyed before the port.
class ReceiveInterrupt {
public:
    /// @return  nullptr: the driver has none
    /// @thread  main
    /// @param switches  held while the port's interrupts are switched, because drivers keep those
    ///                  of all queues in one word; outlives the interrupt
    [[nodiscard]] static std::unique_ptr<ReceiveInterrupt> open(EthPortId port, std::uint16_t queue,
                                                                std::mutex& switches);
    ~ReceiveInterrupt();
    ReceiveInterrupt(const ReceiveInterrupt&) = delete;
    ReceiveInterrupt& operator=(const ReceiveInterrupt&) = delete;

    /// Waits for packets, at most for `longest`. @return  whether there are packets
    /// @thread  the thread that polls the queue
    /// @cost    some microseconds of system calls beside the wait
    [[nodiscard]] bool wait(std::chrono::milliseconds longest) const noexcept;

private:
    ReceiveInterrupt(EthPortId port, std::uint16_t queue, std::mutex& switches,
                     FileDescriptor epoll);
    [[nodiscard]] int switch_on() const noexcept;
    void switch_off() const noexcept;

    std::uint16_t port_;
    std::uint16_t queue_;
    std::mutex& switches_;
    FileDescriptor epoll_;
};

}  // namespace tributary
