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
#include "daemon/port/missed_packets.hpp"
#include "daemon/port/packet_pool.hpp"
#include "daemon/port/port_link.hpp"
#include "daemon/port/rss.hpp"
#include "daemon/port/trimming.hpp"
#include "parsers/units.hpp"

struct rte_eth_dev_info;

namespace tributary {

class ReceiveInterrupt;

/// What a port itself has counted, all its lives together.
struct NicCounters {
    std::uint64_t received{};
    /// No free descriptor: the input thread was too slow. Nothing: unknown; see MissedPackets.
    std::optional<std::uint64_t> missed{0};
    std::uint64_t no_buffer{};  ///< the packet pool was empty
    std::uint64_t errors{};     ///< broken on the wire
    /// Dropped per queue; unknown of those behind the last entry. DPDK's limit is 16.
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

/// One NIC port, or what a virtual device makes of one: configured with the object, stopped and
/// closed with it. Where the device is removed and made anew, close() and open_anew() give it
/// another life.
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

    /// Stops and closes it; what it has counted stays. No thread may poll it any more.
    void close();
    /// Packets that an interface received before its sockets were there.
    enum class CameBefore : std::uint8_t {
        is_missed,   ///< and counts as missed once the port is started
        is_counted,  ///< by another port of the same interface
    };

    /// Configures a port that was closed, or was not started.
    ///
    /// @param id  of the device that was made anew
    /// @errors    as the constructor's; and StartupError(69): what it misses was known before, and
    ///            is not any more
    void open_anew(EthPortId id, CameBefore came_before);
    /// Whether close() and open_anew() are enough for another life: its driver reads an interface
    /// of the kernel, and its threads wait for no interrupt of it.
    [[nodiscard]] bool can_be_opened_anew() const noexcept;

    /// Lets packets in; logs the link's state and what the NIC took of its settings. No queue may
    /// be polled before it, or after the port is gone.
    ///
    /// @errors  StartupError(69, 77): the driver refuses, or the kernel does not tell what came
    ///          before
    void start();

    [[nodiscard]] EthPortId id() const noexcept { return id_; }
    [[nodiscard]] const std::string& driver() const noexcept { return driver_; }
    /// From how many octets on a frame may be cut, and the driver does not tell.
    [[nodiscard]] std::uint32_t octets_of_cut_frame() const {
        return tributary::octets_of_cut_frame(device_, driver_);
    }
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

    /// Whether NicCounters::missed is known.
    /// @thread  main
    [[nodiscard]] bool knows_missed() const noexcept { return missed_were_known_.value_or(false); }

    /// Looks at the link; call it every second or so.
    ///
    /// @return  a line for the log where something changed since the last call
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
    [[nodiscard]] bool finds_packet_types() const;
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
    std::uint32_t megabits_ = 0;     ///< the fastest that it can do, in Mbit/s; 0: unknown
    InputOptions input_;
    EalDevice device_;
    const PacketPool& pool_;
    const PacketPool* heads_;
    std::string driver_;
    TrimPlan trim_;
    bool tells_packet_types_ = false;
    bool restore_promiscuous_ = false;
    std::atomic<LinkState> link_state_{LinkState::unknown};
    std::size_t rss_key_octets_ = 0;
    std::uint64_t rss_asked_ = 0;
    RssReport rss_;
    mutable std::mutex statistics_;          ///< held where the following six are used
    NicCounters former_;                     ///< of former lives
    mutable NicCounters told_;               ///< by the driver, when it last did; this life
    std::unique_ptr<MissedPackets> missed_;  ///< of this life
    std::optional<bool> missed_were_known_;  ///< in this life or the last
    bool is_open_ = false;
    bool is_started_ = false;               ///< this life counts
    bool counts_what_came_before_ = false;  ///< this life, when it is started; main thread only
    mutable std::mutex interrupt_switches_;
    std::unique_ptr<PortLink> link_;
};

}  // namespace tributary
