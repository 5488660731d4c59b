// SPDX-License-Identifier: Apache-2.0
#include "daemon/input_filters.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "daemon/base/signals.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;

}  // namespace

PacketMask InputFilters::NotReady::select(std::span<const PacketView> /*packets*/) noexcept {
    return 0;
}

InputFilters::InputFilters(const std::vector<InputOptions>& inputs) {
    for (const InputOptions& options : inputs) {
        Input& input = inputs_.emplace_back();
        input.name = options.name;
        input.expression = options.filter;
        input.is_ready = options.filter.empty();
        if (!input.is_ready) {
            input.compilation.emplace(input.expression, FilterLinks::ethernet);
        }
    }
}

void InputFilters::await_what_asks_no_resolver() {
    for (std::size_t index = 0; index < inputs_.size(); ++index) {
        const Input& input = inputs_[index];
        while (input.compilation && !input.compilation->asks_resolver() &&
               !Signals::is_end_pending()) {
            std::this_thread::sleep_for(1ms);
            take_outcome(index, nullptr);
        }
        take_outcome(index, nullptr);
        if (input.compilation && input.compilation->asks_resolver()) {
            spdlog::warn(
                "input {}: its filter waits for the addresses of its host names; until then its "
                "packets are ignored as filter_not_ready",
                input.name);
        }
    }
}

PacketSelector* InputFilters::selector(std::size_t input) noexcept {
    return inputs_[input].is_ready ? static_cast<PacketSelector*>(inputs_[input].filter.get())
                                   : &not_ready_;
}

void InputFilters::look(const Give& give) {
    for (std::size_t index = 0; index < inputs_.size(); ++index) {
        Input& input = inputs_[index];
        if (!input.is_ready && !input.compilation && Clock::now() >= input.next_try) {
            input.compilation.emplace(input.expression, FilterLinks::ethernet);
        }
        take_outcome(index, &give);
    }
}

/// @param give  nullptr: no thread has a filter yet
void InputFilters::take_outcome(std::size_t index, const Give* give) {
    Input& input = inputs_[index];
    std::optional<FilterCompilation::Outcome> outcome =
        input.compilation ? input.compilation->poll() : std::nullopt;
    if (!outcome) {
        return;
    }
    input.compilation.reset();
    if (outcome->filter == nullptr) {
        note_failure(input, outcome->fault);
        return;
    }
    try {
        give_new(index, std::move(outcome->filter), give);
    } catch (const ThreadHangs& error) {
        note_failure(input, error.what());
        return;
    }
    if (give != nullptr) {
        spdlog::info("input {}: its filter is ready, its packets are metered", input.name);
    }
}

void InputFilters::give_new(std::size_t index, std::unique_ptr<PacketFilter> filter,
                            const Give* give) {
    Input& input = inputs_[index];
    pending_.push_back(std::move(filter));  // it stays if a thread hangs
    if (give != nullptr) {
        (*give)(index, {.wanted = pending_.back().get(), .former = selector(index)});
    }
    input.filter = std::move(pending_.back());  // the former one is not used any more
    pending_.pop_back();
    input.is_ready = true;
    input.fault.clear();
    log_execution(input);
}

/// What holds for all filters is logged once.
void InputFilters::log_execution(const Input& input) {
    if (input.filter == nullptr) {
        return;
    }
    if (input.filter->not_native() != NotNative::no_executable_memory) {
        spdlog::info("input {}: its filter is {}", input.name, input.filter->execution());
    } else if (!std::exchange(is_denial_logged_, true)) {
        spdlog::info("filters are {}; docs/filters.md tells how to allow it",
                     input.filter->execution());
    }
}

void InputFilters::replace(std::size_t input, const std::string& expression,
                           std::unique_ptr<PacketFilter> filter, const Give& give) {
    give_new(input, std::move(filter), &give);
    inputs_[input].expression = expression;
    inputs_[input].compilation.reset();
}

/// Logs each reason once.
void InputFilters::note_failure(Input& input, const std::string& fault) {
    constexpr std::chrono::seconds kLongestPause = 30s;
    if (input.fault != fault) {
        spdlog::warn(
            "input {}: its filter is not ready: {}; it is tried again, and until then its packets "
            "are ignored as filter_not_ready",
            input.name, fault);
        input.fault = fault;
    }
    input.next_try = Clock::now() + input.pause;
    input.pause = std::min(2 * input.pause, kLongestPause);
}

void InputFilters::try_now() noexcept {
    for (Input& input : inputs_) {
        input.next_try = {};
        input.pause = 1s;
    }
}

bool InputFilters::is_compiling() const noexcept {
    return std::ranges::any_of(inputs_,
                               [](const Input& input) { return input.compilation.has_value(); });
}

std::string InputFilters::faults() const {
    std::string faults;
    for (const Input& input : inputs_) {
        if (!input.is_ready) {
            faults += "input " + input.name + " meters nothing, its filter is not ready: " +
                      (input.fault.empty() ? "its host names are being resolved" : input.fault) +
                      "\n";
        }
    }
    return faults;
}

}  // namespace tributary
