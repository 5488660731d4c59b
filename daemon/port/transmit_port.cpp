// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/transmit_port.hpp"

#include <fmt/format.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <sysexits.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "daemon/base/startup_error.hpp"

namespace tributary {
namespace {

constexpr std::chrono::microseconds kPause{50};  ///< of a stream that waits

[[noreturn]] void refuse(const OutputOptions& output, const std::string& what, int error) {
    const bool permission = error == -EPERM || error == -EACCES;
    throw StartupError(permission ? EX_NOPERM : EX_UNAVAILABLE,
                       fmt::format("output {}: {}: {}", output.device, what, rte_strerror(-error)));
}

}  // namespace

TransmitPort::TransmitPort(EthPortId id, const OutputOptions& output, const PacketPool& pool)
    : id_(id), output_(output), pool_(pool) {
    rte_eth_dev_info info{};
    if (const int error = rte_eth_dev_info_get(id_.value, &info); error != 0) {
        refuse(output_, "can't ask the driver", error);
    }
    driver_ = info.driver_name;
    if (output_.queues > info.max_tx_queues) {
        throw StartupError(
            EX_CONFIG,
            fmt::format("output {}: {} queues are needed, one for each of the input, "
                        "but driver {} has at most {}",
                        output_.device, output_.queues, info.driver_name, info.max_tx_queues));
    }
    try {
        configure(info);
        set_up_queues(info);
    } catch (...) {
        rte_eth_dev_close(id_.value);
        throw;
    }
}

TransmitPort::~TransmitPort() {
    rte_eth_dev_stop(id_.value);
    rte_eth_dev_close(id_.value);
}

void TransmitPort::configure(const rte_eth_dev_info& info) {
    if (info.max_mtu != 0 && output_.mtu > info.max_mtu) {
        throw StartupError(
            EX_CONFIG, fmt::format("output {}: mtu is {}, driver {} takes {} at most",
                                   output_.device, output_.mtu, info.driver_name, info.max_mtu));
    }
    rte_eth_conf conf{};
    conf.rxmode.mtu = output_.mtu;
    if (const int error = rte_eth_dev_configure(id_.value, 0, output_.queues, &conf); error != 0) {
        refuse(output_, "the driver refuses the configuration", error);
    }
}

void TransmitPort::set_up_queues(const rte_eth_dev_info& info) {
    std::uint16_t receive_descriptors = 0;
    std::uint16_t descriptors = output_.tx_descriptors;
    if (const int error =
            rte_eth_dev_adjust_nb_rx_tx_desc(id_.value, &receive_descriptors, &descriptors);
        error != 0) {
        refuse(output_, "no descriptors", error);
    }
    descriptors_ = descriptors;
    const auto socket = static_cast<unsigned>(rte_eth_dev_socket_id(id_.value));
    for (std::uint16_t queue = 0; queue < output_.queues; ++queue) {
        const int error =
            rte_eth_tx_queue_setup(id_.value, queue, descriptors, socket, &info.default_txconf);
        if (error != 0) {
            refuse(output_, "the driver refuses transmit queue " + std::to_string(queue), error);
        }
    }
}

void TransmitPort::start() {
    const int error = rte_eth_dev_start(id_.value);
    if (error != 0 && driver_ == "net_memif") {  // not an errno
        throw StartupError(EX_UNAVAILABLE,
                           fmt::format("output {}: no process listens at its socket; "
                                       "start the receiver first, with role=server",
                                       output_.device));
    }
    if (error != 0) {
        refuse(output_, "the driver does not start", error);
    }
}

bool TransmitPort::is_up() const {
    rte_eth_link link{};
    // A driver without link reports has no link that could be down.
    return rte_eth_link_get_nowait(id_.value, &link) != 0 || link.link_status == RTE_ETH_LINK_UP;
}

void TransmitPort::linger() const noexcept {
    // A NIC sends a full ring within a millisecond, unless the link is paused; the other end reads
    // a memif's ring as fast as it meters.
    constexpr int kMostMilliseconds = 1000;
    for (int waited = 0; waited < kMostMilliseconds; ++waited) {
        bool is_empty = true;
        for (std::uint16_t queue = 0; queue < output_.queues; ++queue) {
            is_empty = is_empty && is_known_to_be_empty(queue);
        }
        if (is_empty) {
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

bool TransmitPort::is_known_to_be_empty(std::uint16_t queue) const noexcept {
    // All of them: drivers report some descriptors only together with later ones.
    for (std::uint16_t offset = 0; offset < descriptors_; ++offset) {
        const int status = rte_eth_tx_descriptor_status(id_.value, queue, offset);
        if (status < 0 || status == RTE_ETH_TX_DESC_FULL) {
            return false;
        }
    }
    return true;
}

MacAddress TransmitPort::mac_address() const {
    MacAddress address{};
    rte_ether_addr own{};
    if (rte_eth_macaddr_get(id_.value, &own) == 0) {
        std::memcpy(address.data(), own.addr_bytes, address.size());
    }
    return address;
}

std::size_t TransmitPort::frame_octets() const noexcept {
    return std::size_t{output_.mtu} + RTE_ETHER_HDR_LEN;
}

TransmitQueue::TransmitQueue(const TransmitPort& port, std::uint16_t queue,
                             const MacAddress& destination, const std::atomic<bool>& waits)
    : port_(port.id().value),
      queue_(queue),
      frame_octets_(static_cast<std::uint16_t>(port.frame_octets())),
      unmap_guard_(port.driver()),
      pool_(port.pool()),
      waits_(waits) {
    const MacAddress source = port.mac_address();
    std::ranges::copy(destination, addresses_.begin());
    std::ranges::copy(source, addresses_.begin() + destination.size());
}

TransmitQueue::~TransmitQueue() { rte_pktmbuf_free(buffer_); }

std::span<std::byte> TransmitQueue::begin() noexcept {
    buffer_ = rte_pktmbuf_alloc(pool_.get());
    while (buffer_ == nullptr && waits_.load(std::memory_order_relaxed)) {
        std::this_thread::sleep_for(kPause);
        buffer_ = rte_pktmbuf_alloc(pool_.get());
    }
    if (buffer_ == nullptr) {
        return {};
    }
    return {rte_pktmbuf_mtod(buffer_, std::byte*), frame_octets_};
}

FrameOutcome TransmitQueue::send(std::size_t octets, Timestamp /*now*/) noexcept {
    // Some 10 us, in which a NIC sends a few frames. Without the first try every frame would take
    // as long while the receiver takes nothing, and the receive queue would overflow meanwhile.
    constexpr int kTries = 512;
    buffer_->data_len = static_cast<std::uint16_t>(octets);
    buffer_->pkt_len = static_cast<std::uint32_t>(octets);
    bool is_sent = try_send();
    for (int left = was_full_ ? 0 : kTries; !is_sent && left > 0; --left) {
        rte_pause();
        is_sent = try_send();
    }
    while (!is_sent && waits_.load(std::memory_order_relaxed)) {
        std::this_thread::sleep_for(kPause);
        is_sent = try_send();
    }
    was_full_ = !is_sent;
    if (!is_sent) {
        rte_pktmbuf_free(buffer_);
    }
    buffer_ = nullptr;
    return is_sent ? FrameOutcome::sent : FrameOutcome::tx_full;
}

bool TransmitQueue::try_send() noexcept {
    return unmap_guard_.run([this] { return rte_eth_tx_burst(port_, queue_, &buffer_, 1); }) == 1;
}

}  // namespace tributary
