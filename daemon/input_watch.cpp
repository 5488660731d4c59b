// SPDX-License-Identifier: Apache-2.0
#include "daemon/input_watch.hpp"

#include <net/if.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "daemon/interface_look.hpp"
#include "daemon/startup_error.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;

bool is_gone(const InputWatch::Input& input) { return input.port->link() == LinkState::gone; }

/// Has the input's threads let go of its port when they have read all that it has received.
///
/// @return  false: one of them does not get there, and all go on
bool pause_queues(const InputWatch::Input& input) {
    const auto end = std::chrono::steady_clock::now() + 2s;
    const bool are_paused =
        std::ranges::all_of(input.queues, [&](DpdkQueue* queue) { return queue->pause(end); });
    if (!are_paused) {
        std::ranges::for_each(input.queues, &DpdkQueue::resume);
    }
    return are_paused;
}

}  // namespace

InputWatch::InputWatch(const Eal& eal, std::vector<Input> inputs) : eal_(eal) {
    for (Input& input : inputs) {
        inputs_.push_back(
            {.input = std::move(input), .refused_since = {}, .next_try = {}, .refusal = {}});
    }
}

void InputWatch::look() {
    for (Watched& watched : inputs_) {
        const Input& input = watched.input;
        look_at_link(input);
        if (is_gone(input) && input.port->can_be_opened_anew() &&
            Clock::now() >= watched.next_try &&
            if_nametoindex(input.port->kernel_interface().c_str()) != 0) {
            take_again(watched);
        }
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
    if (!pause_queues(input)) {
        note_refusal(watched, "not all that the former one received is read");
        return;
    }
    try {
        open_anew(input);
    } catch (const StartupError& error) {  // its threads go on to wait
        note_refusal(watched, error.what());
        return;
    }
    std::ranges::for_each(input.queues, &DpdkQueue::resume);
    watched.refused_since.reset();
    watched.refusal.clear();
    spdlog::warn("input {}: the new interface {} is taken", input.name,
                 input.port->kernel_interface());
}

void InputWatch::open_anew(const Input& input) {
    input.port->close();
    // Since it was made: before that there was nothing to receive.
    const InterfaceLook before =
        look_at_interface(if_nametoindex(input.port->kernel_interface().c_str()));
    input.port->open(eal_.plug_anew(input.device), before.received);
    input.port->start();
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
    const bool awaits_one = std::ranges::any_of(inputs_, [](const Watched& watched) {
        return is_gone(watched.input) && watched.input.port->can_be_opened_anew();
    });
    return awaits_one ? 20ms : 1s;
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
