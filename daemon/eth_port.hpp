// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/device.hpp"
#include "daemon/idle_wait.hpp"
#include "daemon/options.hpp"
#include "daemon/packet_pool.hpp"
#include "daemon/rss.hpp"
#include "daemon/trimming.hpp"
#include "parsers/units.hpp"

struct rte_eth_dev_info;

namespace tributary {

class ReceiveInterrupt;

/// What a port itself counted since start(). net_af_packet and net_af_xdp never report what they
/// miss.
struct NicCounters {
    std::uint64_t received{};
    std::uint64_t missed{};     ///< no free descriptor: the input thread was too slow
    std::uint64_t no_buffer{};  ///< the packet pool was empty
    std::uint64_t errors{};     ///< broken on the wire
    /// Dropped per queue, for as many as the driver counts for; DPDK's limit is 16.
    std::vector<std::uint64_t> queue_errors;
};

/// One NIC port, or what a virtual device makes of one: configured with the object, stopped and
/// closed with it.
class EthPort {
public:
    /// Configures the port and its receive queues.
    ///
    /// @param pool   gives every queue its buffers; must outlive the port
    /// @param heads  buffers for the first octets of packets, where needs_head_buffers(input);
    ///               must outlive the port
    /// @errors  StartupError(78): more queues than the driver has, or it can't cut packets; (69):
    ///          the driver refuses the set-up
    /// @thread  main, like all of this class
    EthPort(EthPortId id, const InputOptions& input, const EalDevice& device,
            const PacketPool& pool, const PacketPool* heads = nullptr);
    ~EthPort();
    EthPort(const EthPort&) = delete;
    EthPort& operator=(const EthPort&) = delete;

    /// Lets packets in; logs the link's state and what the NIC took of its settings. No queue may
    /// be polled before it, or after the port is gone.
    ///
    /// @errors  StartupError(69, 77): the driver refuses
    void start();

    [[nodiscard]] EthPortId id() const noexcept { return id_; }
    [[nodiscard]] const std::string& driver() const noexcept { return driver_; }
    /// How packets are spread over the queues; good after start().
    [[nodiscard]] const RssReport& rss() const noexcept { return rss_; }
    /// Whether the driver says of packets what they carry (rte_mbuf::packet_type); good after
    /// start(), where alone drivers know.
    [[nodiscard]] bool tells_packet_types() const noexcept { return tells_packet_types_; }
    /// How the threads that poll its queues wait while nothing comes, one per queue; logs it. Good
    /// after start(), and until the port is gone.
    ///
    /// @param shares_core  CorePlan::back_off
    [[nodiscard]] std::vector<IdleWait> idle_waits(bool shares_core) const;
    /// @cost  a call into the driver, some microseconds
    /// @thread  any
    [[nodiscard]] NicCounters counters() const;

    /// Looks at the link; call it every second or so.
    ///
    /// @return  a line for the log where something changed since the last call
    [[nodiscard]] std::optional<std::string> poll_link();

private:
    struct Link {
        bool up = false;
        std::string text;
    };

    [[nodiscard]] std::uint16_t transmit_queues() const noexcept;
    void configure(const rte_eth_dev_info& info);
    void set_up_queues(const rte_eth_dev_info& info, const PacketPool& pool,
                       const PacketPool* heads);
    [[nodiscard]] bool finds_packet_types() const;
    void set_promiscuous();
    void keep_vlan_tags() const;
    void warn_of_unseen_queues() const;
    [[nodiscard]] RssReport check_rss() const;
    [[nodiscard]] bool may_have_interrupts() const noexcept;
    [[nodiscard]] std::vector<std::shared_ptr<ReceiveInterrupt>> open_interrupts() const;
    [[nodiscard]] Link read_link() const;

    EthPortId id_;
    InputOptions input_;
    EalDevice device_;
    std::string driver_;
    TrimPlan trim_;
    std::uint16_t descriptors_ = 0;  ///< of each receive queue
    std::uint32_t megabits_ = 0;     ///< the fastest that it can do, in Mbit/s; 0: unknown
    bool tells_packet_types_ = false;
    std::size_t rss_key_octets_ = 0;
    std::uint64_t rss_asked_ = 0;
    RssReport rss_;
    mutable std::mutex statistics_;
    mutable std::mutex interrupt_switches_;
    bool restore_promiscuous_ = false;
    bool link_up_ = false;
    std::uint32_t link_interrupts_seen_ = 0;
    std::atomic<std::uint32_t> link_interrupts_{0};  // written by DPDK's interrupt thread
};

}  // namespace tributary
