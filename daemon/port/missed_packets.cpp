// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/missed_packets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "daemon/port/interface_look.hpp"

namespace tributary {
namespace {

/// Drivers that fill rte_eth_stats::imissed by DPDK 22.11's sources, and those that miss nothing.
/// Virtual functions of Intel's older NICs, virtio, vhost, memif and tap do not.
constexpr auto kCountMissed = std::to_array<std::string_view>(
    {"mlx5_auxiliary", "mlx5_pci",      "net_ark",      "net_atlantic",  "net_axgbe",
     "net_bnx2x",      "net_bnx2xvf",   "net_bnxt",     "net_cn10k",     "net_cn9k",
     "net_cxgbe",      "net_dpaa2",     "net_e1000_em", "net_e1000_igb", "net_ena",
     "net_enetc",      "net_enic",      "net_fm10k",    "net_hinic",     "net_hns3",
     "net_hns3_vf",    "net_i40e",      "net_iavf",     "net_ice",       "net_ice_dcf",
     "net_igc",        "net_ionic_pci", "net_ixgbe",    "net_mvneta",    "net_mvpp2",
     "net_netvsc",     "net_nfp_pf",    "net_nfp_vf",   "net_ngbe",      "net_null",
     "net_octeontx",   "net_otx_ep",    "net_pcap",     "net_qede",      "net_qede_vf",
     "net_ring",       "net_sfc_efx",   "net_thunderx", "net_txgbe",     "net_vmxnet3"});

/// Drivers that fill rte_eth_stats::q_errors of receive queues, and those that miss nothing.
constexpr auto kCountQueueErrors = std::to_array<std::string_view>(
    {"mlx5_auxiliary", "mlx5_pci", "net_ark", "net_atlantic", "net_axgbe", "net_bnxt", "net_cn10k",
     "net_cn9k", "net_ena", "net_fm10k", "net_hinic", "net_igc", "net_ionic_pci", "net_ixgbe",
     "net_null", "net_otx_ep", "net_qede", "net_ring", "net_vmxnet3"});

template <std::size_t kCount>
bool is_among(const std::array<std::string_view, kCount>& drivers, std::string_view driver) {
    return std::ranges::find(drivers, driver) != drivers.end();
}

std::optional<KernelSockets> find_sockets(const MissedPackets::Port& port) {
    if (port.driver == "net_af_packet") {
        return KernelSockets::find_packet(port.interface_index, port.queues);
    }
    return port.driver == "net_af_xdp" ? KernelSockets::find_xdp(port.queues) : std::nullopt;
}

}  // namespace

bool uses_kernel_sockets(std::string_view driver) noexcept {
    return driver == "net_af_packet" || driver == "net_af_xdp";
}

bool counts_missed_packets(std::string_view driver) noexcept {
    return is_among(kCountMissed, driver);
}

MissedPackets::MissedPackets(const Port& port) : port_(port), sockets_(find_sockets(port)) {
    if (sockets_) {
        static_cast<void>(missed_by_interface());
    }
}

bool MissedPackets::are_known() const noexcept {
    return sockets_.has_value() || counts_missed_packets(port_.driver);
}

std::string MissedPackets::why_unknown() const {
    if (are_known()) {
        return {};
    }
    return uses_kernel_sockets(port_.driver)
               ? fmt::format("the sockets of driver {} were not found in /proc/self/fd",
                             port_.driver)
               : fmt::format("driver {} does not tell", port_.driver);
}

MissedCount MissedPackets::count(std::optional<std::uint64_t> imissed,
                                 const std::vector<std::uint64_t>& q_errors) {
    if (sockets_) {
        const std::vector<std::uint64_t>& by_socket = sockets_->read_drops();
        const std::uint64_t at_sockets =
            std::accumulate(by_socket.begin(), by_socket.end(), std::uint64_t{0});
        return {.packets = at_sockets + missed_by_interface(), .by_queue = by_socket};
    }
    if (!imissed || !are_known()) {
        return {};
    }
    return {.packets = imissed, .by_queue = by_queue(*imissed, q_errors)};
}

std::vector<std::uint64_t> MissedPackets::by_queue(
    std::uint64_t imissed, const std::vector<std::uint64_t>& q_errors) const {
    if (is_among(kCountQueueErrors, port_.driver)) {
        return q_errors;
    }
    if (port_.queues == 1) {
        return {imissed};
    }
    const bool reads_files = port_.driver == "net_pcap" && port_.interface_index == 0;
    return std::vector<std::uint64_t>(reads_files ? port_.queues : 0);
}

std::optional<std::uint64_t> MissedPackets::given_to_sockets() {
    return sockets_ ? sockets_->read_packets() : std::nullopt;
}

std::optional<std::uint64_t> MissedPackets::received_by_interface() const {
    const InterfaceLook look = look_at_interface(port_.interface_index);
    return look.presence == InterfaceLook::Presence::there ? std::optional(look.received)
                                                           : std::nullopt;
}

std::optional<std::uint64_t> MissedPackets::came_before(std::uint64_t given_then) {
    // Packets between the two readings, or on their way from the interface to the sockets, are in
    // the interface's count only: the least difference is right.
    constexpr int kReadings = 16;
    std::optional<std::uint64_t> least;
    for (int reading = 0; reading < kReadings; ++reading) {
        const std::optional<std::uint64_t> given = given_to_sockets();
        const InterfaceLook look = look_at_interface(port_.interface_index);
        if (given && look.presence == InterfaceLook::Presence::there) {
            const std::uint64_t since = *given - given_then;
            const std::uint64_t before = look.received - std::min(look.received, since);
            least = std::min(least.value_or(before), before);
        }
    }
    return least;
}

bool MissedPackets::have_lost_interface() const { return sockets_ && !sockets_->are_bound(); }

std::uint64_t MissedPackets::missed_by_interface() {
    const InterfaceLook look = look_at_interface(port_.interface_index);
    if (look.presence == InterfaceLook::Presence::there) {
        interface_missed_.note(look.missed);
    }
    return interface_missed_.total();
}

void CounterGrowth::note(std::uint64_t reading) noexcept {
    const std::uint64_t last = last_.value_or(reading);
    total_ += reading >= last ? reading - last : reading;
    last_ = reading;
}

}  // namespace tributary
