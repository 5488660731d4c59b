// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/options.hpp"

namespace tributary {

/// Warns of packets from the kernel that may be longer than an input's buffers and than any packet
/// on the wire: because of an interface's mtu, its offloads, or those of a veth's other end. Names
/// the command that switches them off.
///
/// @param driver     DPDK's name
/// @param interface  the kernel's, behind the port
/// @return           lines for the log; none for drivers other than af_packet's and af_xdp's
/// @thread           main; asks the kernel
[[nodiscard]] std::vector<std::string> warnings_of_long_packets(const InputOptions& input,
                                                                const std::string& driver,
                                                                const std::string& interface);

/// Reports an input's frames that were longer than its buffers: the first one, and then at most
/// once per kRepeatAfter.
///
/// @thread  main
class LongFramesWatch {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds kRepeatAfter{60};

    struct Counts {
        std::uint64_t cut{};             ///< frames_cut
        std::uint64_t length_unknown{};  ///< length_unknown
    };

    /// @param counts  since the start
    /// @return        a line for the log; nullopt: nothing to report
    [[nodiscard]] std::optional<std::string> look(const Counts& counts, Clock::time_point now);

private:
    Counts reported_;
    std::optional<Clock::time_point> reported_at_;
};

}  // namespace tributary
