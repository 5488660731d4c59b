// SPDX-License-Identifier: Apache-2.0
#include "daemon/port/input_watch.hpp"

#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;

bool is_gone(const InputWatch::Input& input) { return input.port->link() == LinkState::gone; }

/// Requests the input's threads to release its port.
///
/// @return  true: all have released it
bool pause_queues(const InputWatch::Input& input) {
    bool are_paused = true;
    for (DpdkQueue* queue : input.queues) {
        are_paused &= queue->pause();
    }
    return are_paused;
}

}  // namespace

InputWatch::InputWatch(const Eal& eal, std::vector<Input> inputs)
    : eal_(eal), long_frames_(inputs.size()) {
    for (Input& input : inputs) {
        inputs_.push_back({.input = std::move(input)});
    }
}

void InputWatch::look() {
    for (Watched& watched : inputs_) {
        const Input& input = watched.input;
        look_at_link(input);
        if (is_gone(input) && input.port->can_be_opened_anew()) {
            look_for_interface(watched);
        }
    }
    look_at_long_frames();
}

void InputWatch::look_at_long_frames() {
    for (std::size_t index = 0; index < inputs_.size(); ++index) {
        const Input& input = inputs_[index].input;
        LongFramesWatch::Counts counts;
        for (const DpdkQueue* queue : input.queues) {
            counts.cut += queue->frames_cut().read();
            counts.length_unknown += queue->length_unknown().read();
        }
        if (const auto line = long_frames_[index].look(counts, Clock::now())) {
            spdlog::warn("input {}: {}", input.name, *line);
        }
    }
}

void InputWatch::look_for_interface(Watched& watched) {
    // Also without an interface: then the threads have released the port before it is back.
    const bool are_paused = pause_queues(watched.input);
    if (if_nametoindex(watched.input.port->kernel_interface().c_str()) == 0) {
        if (errno == ENODEV) {
            // A refusal does not apply to the next interface.
            watched = {.input = std::move(watched.input)};
        }
        return;
    }
    const auto now = Clock::now();
    watched.there_since = watched.there_since.value_or(now);
    if (now < watched.next_try) {
        return;
    }
    if (are_paused) {
        take_again(watched);
    } else if (now - *watched.there_since >= kPatienceWithThreads) {
        note_refusal(watched, "not all packets of the former interface are read");
    }
}

void InputWatch::look_at_link(const Input& input) {
    const bool was_gone = is_gone(input);
    const std::optional<std::string> change = input.port->poll_link();
    if (!was_gone && is_gone(input)) {
        spdlog::error(
            "input {}: its device {} was removed{}", input.name, input.device.argument,
            input.port->can_be_opened_anew()
                ? "; it is taken again when there is an interface " + input.port->kernel_interface()
                : ", and can be taken again by another process only");
    } else if (change) {
        spdlog::warn(*change);
    }
}

void InputWatch::take_again(Watched& watched) {
    const Input& input = watched.input;
    try {
        input.port->close();
        input.port->open_anew(eal_.plug_anew(input.device), is_read_by_another(watched)
                                                                ? EthPort::CameBefore::is_counted
                                                                : EthPort::CameBefore::is_missed);
        input.port->start();
    } catch (const StartupError& error) {  // its threads wait on
        input.port->close();               // its sockets would get packets unread by any thread
        if (if_nametoindex(input.port->kernel_interface().c_str()) != 0) {
            note_refusal(watched, error.what());
        }
        return;
    }
    std::ranges::for_each(input.queues, &DpdkQueue::resume);
    spdlog::warn("input {}: the new interface {} is taken", input.name,
                 input.port->kernel_interface());
    watched = {.input = std::move(watched.input)};
}

/// All our ports' sockets on an interface share its packets: the kernel gives each to one of them.
bool InputWatch::is_read_by_another(const Watched& watched) const {
    return std::ranges::any_of(inputs_, [&](const Watched& other) {
        const EthPort& port = *other.input.port;
        if (&other == &watched ||
            port.kernel_interface() != watched.input.port->kernel_interface()) {
            return false;
        }
        look_at_link(other.input);
        return !is_gone(other.input);
    });
}

void InputWatch::note_refusal(Watched& watched, const std::string& why) {
    if (why != watched.refusal) {
        spdlog::error(
            "input {}: interface {} is there again and can't be taken: {}; it is tried "
            "each second",
            watched.input.name, watched.input.port->kernel_interface(), why);
        watched.refusal = why;
    }
    const auto now = Clock::now();
    watched.refused_since = watched.refused_since.value_or(now);
    watched.next_try = now + 1s;
}

std::chrono::milliseconds InputWatch::pause() const {
    const auto now = Clock::now();
    std::chrono::milliseconds least = 1s;
    for (const Watched& watched : inputs_) {
        if (watched.input.port->can_be_opened_anew()) {
            const bool awaits_threads = watched.there_since && !watched.refused_since &&
                                        now - *watched.there_since < kPatienceWithThreads;
            least = std::min(least, awaits_threads ? 1ms : 20ms);
        }
    }
    return least;
}

std::string InputWatch::faults() const {
    std::string faults;
    for (const Watched& watched : inputs_) {
        if (is_gone(watched.input)) {
            faults += "input " + watched.input.name +
                      " has no device: " + watched.input.device.argument + " was removed\n";
        }
    }
    return faults;
}

bool InputWatch::are_all_lost() const {
    return std::ranges::all_of(inputs_, [](const Watched& watched) {
        const bool is_refused =
            watched.refused_since && Clock::now() - *watched.refused_since >= kPatience;
        return is_gone(watched.input) && (is_refused || !watched.input.port->can_be_opened_anew());
    });
}

}  // namespace tributary
