// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/machine/device.hpp"
#include "daemon/port/eal_log.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Memory of drivers' rings and DPDK's own tables, in octets.
inline constexpr std::uint64_t kEalOwnMemory = 64U << 20U;

struct EalOptions {
    std::vector<EalDevice> devices;
    /// Of the calling thread afterwards, not empty. DPDK's own threads get the calling thread's
    /// CPUs of before without these, and these if none is left: so it should have no others.
    std::vector<std::uint32_t> main_cpus;
    bool may_use_huge_pages = true;
    bool has_telemetry = false;      ///< opens DPDK's telemetry socket
    std::uint64_t memory_bytes = 0;  ///< later taken from DPDK by packet pools and others
};

/// The command line for rte_eal_init, program name first.
///
/// @param huge_page_bytes  free memory in huge pages; if it is less than needed, ordinary memory is
/// used
/// @errors  StartupError(78): two devices of one name
/// @thread  any; pure
[[nodiscard]] std::vector<std::string> eal_arguments(const EalOptions& options,
                                                     std::uint64_t huge_page_bytes);

/// DPDK's environment: initialised with the object, cleaned up with it. A process can have one in
/// its lifetime; ports, queues, pools and registered threads must be gone before it.
class Eal {
public:
    /// @errors  StartupError: DPDK's message, and a hint
    /// @thread  main; its affinity becomes `main_cpus`
    explicit Eal(const EalOptions& options);
    ~Eal();
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;

    /// @return  the port of a device
    /// @errors  StartupError(69 or 77): the device is missing, its driver refused it, or permission
    /// is missing
    [[nodiscard]] EthPortId port_of(const EalDevice& device) const;

    /// Makes a virtual device anew; its port is closed.
    ///
    /// @return  its port, not always that of the former device
    /// @errors  as port_of()
    [[nodiscard]] EthPortId plug_anew(const EalDevice& device) const;

    [[nodiscard]] bool huge_pages() const noexcept { return huge_pages_; }

private:
    EalLog log_;
    bool huge_pages_ = false;
};

}  // namespace tributary
