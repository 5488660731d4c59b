// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe_filters.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "daemon/base/signals.hpp"
#include "daemon/base/spdlog.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;

}  // namespace

PacketMask ProbeFilters::NotReady::select(std::span<const PacketView> /*packets*/) noexcept {
    return 0;
}

ProbeFilters::ProbeFilters(std::vector<WantedFilter> wanted) {
    for (WantedFilter& each : wanted) {
        Filter& filter = filters_[next_index_++];
        filter.wanted = std::move(each);
        filter.is_ready = filter.wanted.expression.empty();
        if (!filter.is_ready) {
            filter.compilation.emplace(filter.wanted.expression, FilterLinks::ethernet);
        }
    }
}

void ProbeFilters::await_what_asks_no_resolver() {
    for (auto& [index, filter] : filters_) {
        while (filter.compilation && !filter.compilation->asks_resolver() &&
               !Signals::is_end_pending()) {
            std::this_thread::sleep_for(1ms);
            take_outcome(index, nullptr);
        }
        take_outcome(index, nullptr);
        if (filter.compilation && filter.compilation->asks_resolver()) {
            spdlog::warn("{}: its filter waits for the addresses of its host names; until then {}",
                         filter.wanted.owner, filter.wanted.meanwhile);
        }
    }
}

PacketSelector* ProbeFilters::selector(std::size_t index) noexcept {
    const auto found = filters_.find(index);
    return found->second.is_ready ? static_cast<PacketSelector*>(found->second.compiled.get())
                                  : &not_ready_;
}

void ProbeFilters::look(const Give& give) {
    for (auto& [index, filter] : filters_) {
        if (!filter.is_ready && !filter.compilation && Clock::now() >= filter.next_try) {
            filter.compilation.emplace(filter.wanted.expression, FilterLinks::ethernet);
        }
        take_outcome(index, &give);
    }
}

/// @param give  nullptr: no thread has a filter yet
void ProbeFilters::take_outcome(std::size_t index, const Give* give) {
    Filter& filter = filters_[index];
    std::optional<FilterCompilation::Outcome> outcome =
        filter.compilation ? filter.compilation->poll() : std::nullopt;
    if (!outcome) {
        return;
    }
    filter.compilation.reset();
    if (outcome->filter == nullptr) {
        note_failure(filter, outcome->fault);
        return;
    }
    try {
        give_new(index, std::move(outcome->filter), give);
    } catch (const ThreadHangs& error) {
        note_failure(filter, error.what());
        return;
    }
    if (give != nullptr) {
        spdlog::info("{}: its filter is ready, its packets are metered", filter.wanted.owner);
    }
}

void ProbeFilters::give_new(std::size_t index, std::unique_ptr<PacketFilter> compiled,
                            const Give* give) {
    Filter& filter = filters_[index];
    pending_.push_back(std::move(compiled));  // it stays if a thread hangs
    if (give != nullptr) {
        (*give)(index, {.wanted = pending_.back().get(), .former = selector(index)});
    }
    filter.compiled = std::move(pending_.back());  // the former one is not used any more
    pending_.pop_back();
    filter.is_ready = true;
    filter.fault.clear();
    log_execution(filter);
}

/// What holds for all filters is logged once.
void ProbeFilters::log_execution(const Filter& filter) {
    if (filter.compiled == nullptr) {
        return;
    }
    if (filter.compiled->not_native() != NotNative::no_executable_memory) {
        spdlog::info("{}: its filter is {}", filter.wanted.owner, filter.compiled->execution());
    } else if (!std::exchange(is_denial_logged_, true)) {
        spdlog::info("filters are {}; docs/filters.md tells how to allow it",
                     filter.compiled->execution());
    }
}

void ProbeFilters::replace(std::size_t index, const std::string& expression,
                           std::unique_ptr<PacketFilter> filter, const Give& give) {
    give_new(index, std::move(filter), &give);
    filters_[index].wanted.expression = expression;
    filters_[index].compilation.reset();
}

std::size_t ProbeFilters::add(const WantedFilter& wanted, std::unique_ptr<PacketFilter> compiled) {
    Filter& filter = filters_[next_index_];
    filter.wanted = wanted;
    filter.compiled = std::move(compiled);
    filter.is_ready = true;
    log_execution(filter);
    return next_index_++;
}

/// Logs each reason once.
void ProbeFilters::note_failure(Filter& filter, const std::string& fault) {
    constexpr std::chrono::seconds kLongestPause = 30s;
    if (filter.fault != fault) {
        spdlog::warn("{}: its filter is not ready: {}; it is tried again, and until then {}",
                     filter.wanted.owner, fault, filter.wanted.meanwhile);
        filter.fault = fault;
    }
    filter.next_try = Clock::now() + filter.pause;
    filter.pause = std::min(2 * filter.pause, kLongestPause);
}

void ProbeFilters::try_now() noexcept {
    for (auto& [index, filter] : filters_) {
        filter.next_try = {};
        filter.pause = 1s;
    }
}

bool ProbeFilters::is_compiling() const noexcept {
    return std::ranges::any_of(
        filters_, [](const auto& each) { return each.second.compilation.has_value(); });
}

std::string ProbeFilters::faults() const {
    std::string faults;
    for (const auto& [index, filter] : filters_) {
        if (!filter.is_ready) {
            faults += filter.wanted.owner + " meters nothing, its filter is not ready: " +
                      (filter.fault.empty() ? "its host names are being resolved" : filter.fault) +
                      "\n";
        }
    }
    return faults;
}

}  // namespace tributary
