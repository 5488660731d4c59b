// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/options.hpp"
#include "daemon/machine/device.hpp"
#include "daemon/port/idle_wait.hpp"
#include "daemon/port/kept_mbufs.hpp"
#include "daemon/port/missed_packets.hpp"
#include "daemon/port/packet_pool.hpp"
#include "daemon/port/port_link.hpp"
#include "daemon/port/rss.hpp"
#include "daemon/port/trimming.hpp"
#include "parsers/units.hpp"

struct rte_eth_dev_info;

namespace tributary {

class ReceiveInterrupt;

/// A port's own counters, summed over all times that it was open.
struct NicCounters {
    std::uint64_t received{};
    /// No free descriptor: the input thread was too slow. nullopt: unknown; see MissedPackets.
    std::optional<std::uint64_t> missed{0};
    std::uint64_t no_buffer{};  ///< the packet pool was empty
    std::uint64_t errors{};     ///< broken on the wire
    /// Dropped per queue; unknown for queues past the last entry. DPDK's limit is 16.
    std::vector<std::uint64_t> queue_errors;

    NicCounters& operator+=(const NicCounters& other) {
        received += other.received;
        missed = missed && other.missed ? std::optional(*missed + *other.missed) : std::nullopt;
        no_buffer += other.no_buffer;
        errors += other.errors;
        queue_errors.resize(std::max(queue_errors.size(), other.queue_errors.size()));
        std::ranges::transform(other.queue_errors, queue_errors, queue_errors.begin(), std::plus{});
        return *this;
    }
};

/// The port of a NIC or virtual device: configured with the object, stopped and closed with it.
/// When the device is removed and made anew, close() and open_anew() open it again.
class EthPort {
public:
    /// Configures the port and its receive queues.
    ///
    /// @param pool   of every queue's buffers; must outlive the port
    /// @param heads  buffers for the first octets of packets, where needs_head_buffers(input);
    ///               must outlive the port
    /// @errors  StartupError(78): more queues than the driver has, or it cannot cut packets; (69):
    ///          the driver refuses the set-up
    /// @thread  main, like all of this class
    EthPort(EthPortId id, const InputOptions& input, const EalDevice& device,
            const PacketPool& pool, const PacketPool* heads = nullptr);
    ~EthPort();
    EthPort(const EthPort&) = delete;
    EthPort& operator=(const EthPort&) = delete;

    /// Stops and closes the port; its counters stay. No thread may poll it any more.
    void close();
    /// Packets that an interface received before its sockets were open.
    enum class CameBefore : std::uint8_t {
        is_missed,   ///< counts as missed once the port is started
        is_counted,  ///< by another port of the same interface
    };

    /// Configures a closed port, or one that was not started.
    ///
    /// @param id  of the device made anew
    /// @errors    as the constructor's; and StartupError(69): missed packets were known before, and
    ///            are not any more
    void open_anew(EthPortId id, CameBefore came_before);
    /// Whether close() and open_anew() suffice to open it again: its driver reads an interface of
    /// the kernel, and no thread waits for the port's interrupts.
    [[nodiscard]] bool can_be_opened_anew() const noexcept;

    /// Starts receiving; logs the link's state and the settings that the NIC took. No queue may be
    /// polled before it, or after the port is gone.
    ///
    /// @errors  StartupError(69, 77): the driver refuses, or the kernel does not report the packets
    ///          before
    void start();

    [[nodiscard]] EthPortId id() const noexcept { return id_; }
    [[nodiscard]] const std::string& driver() const noexcept { return driver_; }
    /// Frames of so many octets or more may be cut without notice from the driver.
    [[nodiscard]] std::uint32_t octets_of_cut_frame() const {
        return tributary::octets_of_cut_frame(device_, driver_);
    }
    /// Where its packets' buffers come from, and how many may be kept of each queue.
    [[nodiscard]] PortPools pools() const {
        return {pool_.share(), heads_ == nullptr ? nullptr : heads_->share()};
    }
    [[nodiscard]] std::uint32_t kept_buffers() const noexcept { return input_.kept_buffers; }
    /// How packets are spread over the queues; valid after start().
    [[nodiscard]] const RssReport& rss() const noexcept { return rss_; }
    /// The waits of the threads that poll its queues, one per queue; logs them. Valid from start()
    /// until the port is gone.
    ///
    /// @param shares_core  CorePlan::back_off
    /// @param is_sent_to   whether other threads send packets to these threads now, which then
    /// sleep
    ///                     instead of waiting for the NIC's interrupt: packets of other queues wake
    ///                     none. Called by these threads; empty: they never do
    [[nodiscard]] std::vector<IdleWait> idle_waits(
        bool shares_core, const std::function<bool()>& is_sent_to = {}) const;
    /// @cost  a call into the driver, some microseconds
    /// @thread  any
    [[nodiscard]] NicCounters counters() const;

    /// Whether NicCounters::missed is known.
    /// @thread  main
    [[nodiscard]] bool is_missed_known() const noexcept {
        return missed_were_known_.value_or(false);
    }

    /// Checks the link; call it about every second.
    ///
    /// @return  a line for the log; nullopt: no change since the last call
    [[nodiscard]] std::optional<std::string> poll_link();
    /// As poll_link() saw it last; `gone` from then on until start().
    /// @thread  any
    [[nodiscard]] LinkState link() const noexcept {
        return link_state_.load(std::memory_order_relaxed);
    }
    /// The kernel's interface behind a virtual device; empty: none.
    [[nodiscard]] const std::string& kernel_interface() const noexcept {
        return device_.kernel_interface;
    }

private:
    [[nodiscard]] std::uint16_t transmit_queues() const noexcept;
    void open(EthPortId id);
    void configure(const rte_eth_dev_info& info);
    void set_up_queues(const rte_eth_dev_info& info, const PacketPool& pool,
                       const PacketPool* heads);
    void set_promiscuous();
    void keep_vlan_tags() const;
    void warn_of_unseen_queues() const;
    [[nodiscard]] RssReport check_rss() const;
    [[nodiscard]] bool may_have_interrupts() const noexcept;
    [[nodiscard]] std::vector<std::shared_ptr<ReceiveInterrupt>> open_interrupts() const;
    [[nodiscard]] unsigned interface_index(const rte_eth_dev_info& info) const;
    void watch_losses(const rte_eth_dev_info& info);
    void begin_to_count();
    [[nodiscard]] NicCounters read_counters() const;
    [[nodiscard]] Link read_link() const;

    EthPortId id_;
    std::uint16_t descriptors_ = 0;  ///< of each receive queue
    std::uint32_t megabits_ = 0;     ///< highest speed, in Mbit/s; 0: unknown
    InputOptions input_;
    EalDevice device_;
    const PacketPool& pool_;
    const PacketPool* heads_;
    std::string driver_;
    TrimPlan trim_;
    bool restore_promiscuous_ = false;
    std::atomic<LinkState> link_state_{LinkState::unknown};
    std::size_t rss_key_octets_ = 0;
    std::uint64_t rss_asked_ = 0;
    RssReport rss_;
    mutable std::mutex statistics_;          ///< held for the following six
    NicCounters former_;                     ///< of the times that it was open before
    mutable NicCounters driver_counters_;    ///< last figures from the driver, since it was opened
    std::unique_ptr<MissedPackets> missed_;  ///< since it was opened
    std::optional<bool> missed_were_known_;  ///< now, or when it was open before
    bool is_open_ = false;
    bool is_started_ = false;               ///< since it was opened
    bool counts_what_came_before_ = false;  ///< since it was opened; main thread only
    mutable std::mutex interrupt_switches_;
    std::unique_ptr<PortLink> link_;
};

}  // namespace tributary
