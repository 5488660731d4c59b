// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "daemon/machine/device.hpp"
#include "daemon/port/dpdk_queue.hpp"
#include "daemon/port/eal.hpp"
#include "daemon/port/eth_port.hpp"
#include "daemon/port/long_packets.hpp"

namespace tributary {

/// Looks after the devices of a probe's inputs. A socket on a deleted interface receives nothing
/// any more, also when another interface gets the same name. Then the port is closed, its device
/// made anew, and its queues are polled again; if that is impossible, the input is lost. Before
/// that, its input threads must have read the packets of the former interface: look() requests it,
/// and checks it with each call without waiting.
/// @thread  main
class InputWatch {
public:
    struct Input {
        std::string name;
        EalDevice device;
        EthPort* port{};
        std::vector<DpdkQueue*> queues;
    };

    /// @param inputs  their ports are started; ports and queues outlive the watch, and so does
    /// `eal`
    InputWatch(const Eal& eal, std::vector<Input> inputs);

    /// Logs changes of links and cut frames, and takes interfaces that are back. Call it after each
    /// pause().
    void look();
    /// Until the next look: short while a device is gone, because packets before its new interface
    /// is taken are missed.
    [[nodiscard]] std::chrono::milliseconds pause() const;
    /// Inputs that receive nothing, a line each; empty: none.
    [[nodiscard]] std::string faults() const;
    /// Whether no input will receive anything any more: each device was removed, and cannot be
    /// taken again, or could not for kPatience.
    [[nodiscard]] bool are_all_lost() const;

private:
    using Clock = std::chrono::steady_clock;

    static constexpr std::chrono::seconds kPatience{10};
    /// After so long, threads that have not released the port count as a refusal.
    static constexpr std::chrono::seconds kPatienceWithThreads{2};

    struct Watched {
        Input input;
        std::optional<Clock::time_point> there_since{};  ///< its interface is back, and not taken
        std::optional<Clock::time_point>
            refused_since{};  ///< by an interface that was always there
        Clock::time_point next_try{};
        std::string refusal{};  ///< logged last
    };

    static void look_at_link(const Input& input);
    void look_at_long_frames();
    void look_for_interface(Watched& watched);
    void take_again(Watched& watched);
    [[nodiscard]] bool is_read_by_another(const Watched& watched) const;
    void note_refusal(Watched& watched, const std::string& why);

    const Eal& eal_;
    std::vector<Watched> inputs_;
    std::vector<LongFramesWatch> long_frames_;  ///< of each input
};

}  // namespace tributary
