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

/// Looks after the devices of a probe's inputs. A socket on an interface that is deleted hears
/// nothing any more, also when there is another interface of the same name: then the port is
/// closed, its device made anew, and its queues are polled again. Where that can't be, the input is
/// lost. Before, its input threads must have read what the former interface received: they are
/// asked, and looked at with each look(), which waits for no thread.
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

    /// Logs changes of links and frames that were cut, and takes interfaces that are there again.
    /// To be called after each pause().
    void look();
    /// Until the next look: short while a device is gone, because what an interface receives before
    /// it is taken is missed.
    [[nodiscard]] std::chrono::milliseconds pause() const;
    /// Inputs that receive nothing, a line each; empty: none.
    [[nodiscard]] std::string faults() const;
    /// Whether no input will receive anything any more: of each the device was removed, and it
    /// can't be taken again, or could not for kPatience.
    [[nodiscard]] bool are_all_lost() const;

private:
    using Clock = std::chrono::steady_clock;

    static constexpr std::chrono::seconds kPatience{10};
    /// Until threads that have not let go are a refusal.
    static constexpr std::chrono::seconds kPatienceWithThreads{2};

    struct Watched {
        Input input;
        std::optional<Clock::time_point> there_since{};    ///< its interface, and is not taken
        std::optional<Clock::time_point> refused_since{};  ///< without a moment without interface
        Clock::time_point next_try{};
        std::string refusal{};  ///< what was logged last
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
