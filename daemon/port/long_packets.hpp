// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/options.hpp"

namespace tributary {

/// What comes through the kernel may be longer than an input's buffers, and than anything on the
/// wire: says so of an interface's mtu, and of its offloads and those of a veth's other end, with
/// the line to type.
///
/// @param driver     DPDK's name for it
/// @param interface  of the kernel, behind it
/// @return           lines for the log; none for other drivers than af_packet's and af_xdp's
/// @thread           main; asks the kernel
[[nodiscard]] std::vector<std::string> warnings_of_long_packets(const InputOptions& input,
                                                                const std::string& driver,
                                                                const std::string& interface);

/// Tells the log of an input's frames that were longer than its buffers: when the first one comes,
/// and then at most once per kRepeatAfter.
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
    /// @return        what there is to tell, in one line
    [[nodiscard]] std::optional<std::string> look(const Counts& counts, Clock::time_point now);

private:
    Counts told_;
    std::optional<Clock::time_point> told_at_;
};

}  // namespace tributary
