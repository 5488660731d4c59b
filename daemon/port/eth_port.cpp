// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/eth_port.hpp"

#include <net/if.h>
#include <rte_ethdev.h>
#include <sysexits.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <thread>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"
#include "daemon/machine/kernel_interface.hpp"
#include "daemon/port/former_packets.hpp"
#include "daemon/port/long_packets.hpp"
#include "daemon/port/port_limits.hpp"
#include "daemon/port/receive_interrupt.hpp"

namespace tributary {
namespace {

[[noreturn]] void refuse(const InputOptions& input, const std::string& what, int error) {
    const bool permission = error == -EPERM || error == -EACCES;
    throw StartupError(
        permission ? EX_NOPERM : EX_UNAVAILABLE,
        "input " + input.name + " (" + input.device + "): " + what + ": " + rte_strerror(-error) +
            (permission ? "; without root it needs CAP_NET_RAW and CAP_NET_ADMIN" : ""));
}

}  // namespace

EthPort::EthPort(EthPortId id, const InputOptions& input, const EalDevice& device,
                 const PacketPool& pool, const PacketPool* heads)
    : id_(id), input_(input), device_(device), pool_(pool), heads_(heads) {
    open(id);
}

void EthPort::open_anew(EthPortId id, CameBefore came_before) {
    open(id);
    counts_what_came_before_ = came_before == CameBefore::is_missed && is_missed_known();
}

void EthPort::open(EthPortId id) {
    id_ = id;
    rte_eth_dev_info info{};
    if (const int error = rte_eth_dev_info_get(id_.value, &info); error != 0) {
        refuse(input_, "can't ask the driver", error);
    }
    driver_ = info.driver_name;
    megabits_ = highest_speed(info.speed_capa);
    check_queues(input_, info);
    trim_ = plan_trimming(input_, trim_facts(info));
    try {
        configure(info);
        set_up_queues(info, pool_, heads_);
        watch_losses(info);
    } catch (...) {
        rte_eth_dev_close(id_.value);  // before its pool is gone: its queues may hold buffers
        throw;
    }
    link_ = std::make_unique<PortLink>(id_, interface_index(info));
}

/// From now on missed packets are counted, and counters() asks the driver.
void EthPort::watch_losses(const rte_eth_dev_info& info) {
    MissedPackets missed(
        {.driver = driver_, .interface_index = interface_index(info), .queues = input_.queues});
    if (missed_were_known_.value_or(false) && !missed.are_known()) {
        refuse(input_, "missed packets can't be counted any more: " + missed.why_unknown(),
               -ENOENT);
    }
    const std::lock_guard only_one(statistics_);
    missed_were_known_ = missed.are_known();
    missed_ = std::make_unique<MissedPackets>(std::move(missed));
    driver_counters_ = {};
    driver_counters_.missed.reset();
    is_open_ = true;
}

/// The index of the kernel's interface behind the port; 0: none, or a driver without the kernel.
unsigned EthPort::interface_index(const rte_eth_dev_info& info) const {
    if (device_.is_pci) {
        return 0;
    }
    if (info.if_index != 0 && (uses_kernel_sockets(driver_) || driver_ == "net_tap")) {
        return info.if_index;
    }
    return device_.kernel_interface.empty() ? 0 : if_nametoindex(device_.kernel_interface.c_str());
}

bool EthPort::can_be_opened_anew() const noexcept {
    return uses_kernel_sockets(driver_) && !device_.kernel_interface.empty();
}

void EthPort::close() {
    {
        const std::lock_guard only_one(statistics_);
        if (!is_open_) {
            return;
        }
        if (is_started_) {
            former_ = read_counters();
        }
        is_open_ = false;
        is_started_ = false;
        missed_.reset();
    }
    link_.reset();
    if (restore_promiscuous_ && link() != LinkState::gone) {
        rte_eth_promiscuous_disable(id_.value);
    }
    rte_eth_dev_stop(id_.value);
    rte_eth_dev_close(id_.value);
}

std::uint16_t EthPort::transmit_queues() const noexcept {
    // The port sends nothing, but AF_XDP sockets and tap devices need queue pairs.
    return driver_ == "net_af_xdp" || driver_ == "net_tap" ? input_.queues : 0;
}

EthPort::~EthPort() { close(); }

void EthPort::configure(const rte_eth_dev_info& info) {
    rss_key_octets_ = info.hash_key_size != 0 ? info.hash_key_size : 40;
    rss_asked_ = input_.queues > 1 ? rss_types(input_.rss) & info.flow_type_rss_offloads : 0;
    std::vector<std::uint8_t> key = symmetric_rss_key(rss_key_octets_);

    // No other offload is requested: VLAN tags must stay in the frame, and the FCS out of it.
    rte_eth_conf conf{};
    conf.rxmode.offloads = trim_.offloads;
    conf.rxmode.mtu = std::min(mtu_of(input_), largest_mtu(info));
    // The interface behind a virtual device has an mtu of its own, unknown to its driver.
    if (conf.rxmode.mtu < mtu_of(input_) && device_.is_pci) {
        spdlog::warn("input {}: mtu is {}, driver {} takes {} at most; larger packets may be cut",
                     input_.name, mtu_of(input_), driver_, conf.rxmode.mtu);
    }
    if (rss_asked_ != 0) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf = {.rss_key = key.data(),
                                     .rss_key_len = static_cast<std::uint8_t>(key.size()),
                                     .rss_hf = rss_asked_};
    }
    conf.intr_conf.rxq = may_have_interrupts() ? 1 : 0;
    conf.intr_conf.lsc = (*info.dev_flags & RTE_ETH_DEV_INTR_LSC) != 0 ? 1 : 0;
    conf.intr_conf.rmv = (*info.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0 ? 1 : 0;
    if (const int error = rte_eth_dev_configure(id_.value, input_.queues, transmit_queues(), &conf);
        error != 0) {
        refuse(input_, "the driver refuses the configuration", error);
    }
}

void EthPort::set_up_queues(const rte_eth_dev_info& info, const PacketPool& pool,
                            const PacketPool* heads) {
    std::uint16_t descriptors = input_.rx_descriptors;
    std::uint16_t transmit_descriptors = 0;
    if (const int error =
            rte_eth_dev_adjust_nb_rx_tx_desc(id_.value, &descriptors, &transmit_descriptors);
        error != 0) {
        refuse(input_, "no descriptors", error);
    }
    if (descriptors != input_.rx_descriptors) {
        spdlog::info("input {}: rx-descriptors is {}, driver {} takes {}", input_.name,
                     input_.rx_descriptors, driver_, descriptors);
    }
    descriptors_ = descriptors;
    rte_eth_rxconf conf = info.default_rxconf;
    conf.rx_drop_en = 1;  // a full queue drops its own packets and does not block other queues
    std::array<rte_eth_rxseg, 2> segments{};
    if (trim_.splits) {
        segments = split_segments(trim_, heads->get(), pool.get());
        conf.offloads |= trim_.offloads;
        conf.rx_seg = segments.data();
        conf.rx_nseg = segments.size();
    }
    const auto socket = static_cast<unsigned>(rte_eth_dev_socket_id(id_.value));
    for (std::uint16_t queue = 0; queue < input_.queues; ++queue) {
        const int error = rte_eth_rx_queue_setup(id_.value, queue, descriptors, socket, &conf,
                                                 trim_.splits ? nullptr : pool.get());
        if (error != 0) {
            refuse(input_, "the driver refuses receive queue " + std::to_string(queue), error);
        }
    }
    for (std::uint16_t queue = 0; queue < transmit_queues(); ++queue) {
        const int error =
            rte_eth_tx_queue_setup(id_.value, queue, transmit_descriptors, socket, nullptr);
        if (error != 0) {
            refuse(input_, "the driver refuses transmit queue " + std::to_string(queue), error);
        }
    }
}

void EthPort::start() {
    const bool was_promiscuous = read_kernel_interface(device_.kernel_interface).promiscuous;
    rte_eth_stats_reset(id_.value);
    if (const int error = rte_eth_dev_start(id_.value); error != 0) {
        refuse(input_,
               may_have_interrupts()
                   ? "the driver does not start with receive interrupts; try poll: busy"
                   : "the driver does not start",
               error);
    }
    set_promiscuous();
    restore_promiscuous_ = !was_promiscuous && rte_eth_promiscuous_get(id_.value) == 1;
    keep_vlan_tags();
    warn_of_unseen_queues();
    for (const std::string& warning :
         warnings_of_long_packets(input_, driver_, device_.kernel_interface)) {
        spdlog::warn(warning);
    }
    rss_ = check_rss();
    const Link link = read_link();
    begin_to_count();
    link_state_.store(link.state, std::memory_order_relaxed);
    spdlog::info("input {}: {} on driver {}: {}", input_.name, input_.device, driver_, rss_.text);
    spdlog::info("input {}: {}", input_.name, link.text());
    if (const std::string why = missed_->why_unknown(); !why.empty()) {
        spdlog::warn("input {}: how many packets it misses is unknown: {}", input_.name, why);
    }
    if (trim_.splits) {
        spdlog::info("input {}: the NIC separates the first {} octets of packets", input_.name,
                     trim_.head_octets);
    }
}

/// If the port was never started when it was open before, its missed packets came before this one.
void EthPort::begin_to_count() {
    const std::lock_guard only_one(statistics_);
    if (counts_what_came_before_) {
        const std::optional<std::uint64_t> came_before =
            drop_what_came_before(id_, input_.queues, *missed_);
        if (!came_before) {
            refuse(input_, "the kernel does not report how many packets came before", -EAGAIN);
        }
        if (former_.missed) {
            *former_.missed += *came_before;
        }
        counts_what_came_before_ = false;
    }
    is_started_ = true;
}

void EthPort::set_promiscuous() {
    const int error = input_.promiscuous ? rte_eth_promiscuous_enable(id_.value)
                                         : rte_eth_promiscuous_disable(id_.value);
    if (error != 0) {
        spdlog::log(input_.promiscuous ? spdlog::level::warn : spdlog::level::debug,
                    "input {}: promiscuous mode can't be switched {}: {}", input_.name,
                    input_.promiscuous ? "on; only packets to this machine may arrive" : "off",
                    rte_strerror(-error));
    }
}

void EthPort::keep_vlan_tags() const {
    // Some drivers strip tags unasked, and a stripped tag is missing from the frame.
    const int offloads = rte_eth_dev_get_vlan_offload(id_.value);
    if (offloads < 0 || (offloads & RTE_ETH_VLAN_STRIP_OFFLOAD) == 0) {
        return;
    }
    const int error =
        rte_eth_dev_set_vlan_offload(id_.value, offloads & ~RTE_ETH_VLAN_STRIP_OFFLOAD);
    if (error != 0) {
        spdlog::warn(
            "input {}: driver {} strips VLAN tags and can't leave it: {}; vlanId will be missing",
            input_.name, driver_, rte_strerror(-error));
    }
}

void EthPort::warn_of_unseen_queues() const {
    const std::uint32_t there = read_receive_queues(device_.kernel_interface);
    if (driver_ == "net_af_xdp" && there > input_.queues) {
        spdlog::warn(
            "input {}: {} has {} receive queues and AF_XDP sees the first {}: packets on the "
            "others are "
            "not received; raise queues, or lower the interface's (ethtool -L)",
            input_.name, device_.kernel_interface, there, input_.queues);
    }
}

RssReport EthPort::check_rss() const {
    RssFacts facts;
    facts.driver = driver_;
    facts.queues = input_.queues;
    facts.asked = rss_asked_;
    facts.key.resize(rss_key_octets_);
    rte_eth_rss_conf conf{.rss_key = facts.key.data(),
                          .rss_key_len = static_cast<std::uint8_t>(facts.key.size()),
                          .rss_hf = 0};
    facts.readable = rte_eth_dev_rss_hash_conf_get(id_.value, &conf) == 0;
    facts.in_effect = conf.rss_hf;
    return report_rss(facts);
}

/// Other virtual devices have none, and DPDK would log the request as an error.
bool EthPort::may_have_interrupts() const noexcept {
    return input_.poll == PollMode::adaptive && (device_.is_pci || driver_ == "net_tap");
}

/// For all queues, or for none.
std::vector<std::shared_ptr<ReceiveInterrupt>> EthPort::open_interrupts() const {
    std::vector<std::shared_ptr<ReceiveInterrupt>> interrupts;
    for (std::uint16_t queue = 0; queue < input_.queues; ++queue) {
        std::shared_ptr<ReceiveInterrupt> interrupt =
            ReceiveInterrupt::open(id_, queue, interrupt_switches_);
        if (interrupt == nullptr) {
            return {};
        }
        interrupts.push_back(std::move(interrupt));
    }
    return interrupts;
}

namespace {

/// Waits for the NIC's interrupt, or sleeps while other threads send packets to this one.
///
/// @param is_sent_to  empty: they never do
IdleWait waiting_for(std::shared_ptr<ReceiveInterrupt> interrupt,
                     const std::function<bool()>& is_sent_to, std::chrono::nanoseconds sleep) {
    return [interrupt = std::move(interrupt), is_sent_to, sleep] {
        if (is_sent_to && is_sent_to()) {
            std::this_thread::sleep_for(sleep);
            return false;
        }
        return interrupt->wait(kLongestInterruptWait);
    };
}

}  // namespace

std::vector<IdleWait> EthPort::idle_waits(bool shares_core,
                                          const std::function<bool()>& is_sent_to) const {
    std::vector<std::shared_ptr<ReceiveInterrupt>> interrupts;
    if (may_have_interrupts()) {
        interrupts = open_interrupts();
    }
    IdleFacts facts{.poll = input_.poll,
                    .shares_core = shares_core,
                    .has_interrupts = !interrupts.empty(),
                    .descriptors = descriptors_,
                    .megabits = megabits_};
    const IdlePlan plan = plan_idle(facts);
    spdlog::info("input {}: {}", input_.name, plan.text);
    facts.has_interrupts = false;
    const std::chrono::nanoseconds sleep = plan_idle(facts).sleep;
    const bool sleeps = plan.way == IdlePlan::Way::sleep;
    std::vector<IdleWait> waits(input_.queues, sleeps ? sleeping(plan.sleep) : IdleWait{});
    for (std::size_t queue = 0; queue < interrupts.size(); ++queue) {
        waits[queue] = waiting_for(std::move(interrupts[queue]), is_sent_to, sleep);
    }
    return waits;
}

NicCounters EthPort::counters() const {
    // Drivers add up their registers' counts since the last call.
    const std::lock_guard only_one(statistics_);
    return is_started_ ? read_counters() : former_;
}

NicCounters EthPort::read_counters() const {
    rte_eth_stats stats{};
    if (rte_eth_stats_get(id_.value, &stats) == 0) {
        const std::size_t queues =
            std::min<std::size_t>(input_.queues, RTE_ETHDEV_QUEUE_STAT_CNTRS);
        driver_counters_ = {.received = stats.ipackets,
                            .missed = stats.imissed,
                            .no_buffer = stats.rx_nombuf,
                            .errors = stats.ierrors,
                            .queue_errors = {stats.q_errors, stats.q_errors + queues}};
    }
    NicCounters counters = driver_counters_;
    MissedCount missed = missed_->count(driver_counters_.missed, driver_counters_.queue_errors);
    counters.missed = missed.packets;
    counters.queue_errors = std::move(missed.by_queue);
    return counters += former_;
}

Link EthPort::read_link() const {
    return missed_->have_lost_interface() ? Link{.state = LinkState::gone} : link_->read();
}

std::optional<std::string> EthPort::poll_link() {
    if (link() == LinkState::gone) {
        return std::nullopt;  // until open_anew()
    }
    const bool interrupted = link_->take_interrupt();
    const Link now = read_link();
    if (now.state != link()) {
        link_state_.store(now.state, std::memory_order_relaxed);
        return "input " + input_.name + ": " + now.text();
    }
    if (interrupted) {
        return "input " + input_.name + ": link changed and is as before: " + now.text();
    }
    return std::nullopt;
}

}  // namespace tributary
