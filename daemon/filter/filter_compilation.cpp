// SPDX-License-Identifier: Apache-2.0
#include "daemon/filter/filter_compilation.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "daemon/filter/filter_names.hpp"
#include "export/threads/helper_thread.hpp"

namespace tributary {
namespace {

constexpr const char* kNoMemory = "no memory";  // short: the string needs no memory

FilterCompilation::Outcome failure(const char* why, bool may_heal) noexcept {
    FilterCompilation::Outcome outcome;
    outcome.may_heal = may_heal;
    try {
        outcome.fault = why;
    } catch (const std::exception&) {
        outcome.fault = kNoMemory;
    }
    return outcome;
}

/// @errors  PacketFilterError: it has none
std::unique_ptr<PacketFilter> filter_of(FilterCompilation::Outcome outcome) {
    if (!outcome.filter) {
        throw PacketFilterError(outcome.fault);
    }
    return std::move(outcome.filter);
}

}  // namespace

struct FilterCompilation::Work {
    void run(const std::string& expression, FilterLinks links) noexcept {
        try {
            FilterNames names(NameUse::resolve, &inquiry);
            outcome.filter = std::make_unique<PacketFilter>(expression, links, names);
        } catch (const UnresolvedName& error) {
            fail(error.what(), true);
        } catch (const PacketFilterError& error) {
            fail(error.what(), false);
        } catch (const std::exception&) {
            fail(kNoMemory, true);
        }
        is_done.store(true, std::memory_order_release);  // pairs with acquire in poll()
    }
    void fail(const char* why, bool may_heal) noexcept { outcome = failure(why, may_heal); }

    NameInquiry inquiry;
    std::atomic<bool> is_done{};
    Outcome outcome;  ///< written by the thread, until is_done
};

FilterCompilation::FilterCompilation(const std::string& expression, FilterLinks links) noexcept {
    try {
        auto work = std::make_shared<Work>();
        HelperThread thread({.name = "filter"}, [work, expression, links](ThreadPlaceInRegistry&) {
            work->run(expression, links);
        });
        thread.detach();
        work_ = std::move(work);
    } catch (const std::bad_alloc&) {
        failed_ = failure(kNoMemory, true);
    } catch (const std::exception& error) {
        failed_ = failure(error.what(), true);
    }
}

std::unique_ptr<PacketFilter> FilterCompilation::await(const std::string& expression,
                                                       FilterLinks links,
                                                       const std::function<bool()>& goes_on) {
    constexpr std::chrono::milliseconds kPause{1};
    FilterCompilation compilation(expression, links);
    for (;;) {
        if (std::optional<Outcome> outcome = compilation.poll()) {
            return filter_of(std::move(*outcome));
        }
        if (!goes_on()) {
            compilation.work_->inquiry.is_given_up.store(true, std::memory_order_relaxed);
            return nullptr;
        }
        std::this_thread::sleep_for(kPause);
    }
}

bool FilterCompilation::asks_resolver() const noexcept {
    return work_ && work_->inquiry.has_begun.load(std::memory_order_relaxed);
}

std::optional<FilterCompilation::Outcome> FilterCompilation::poll() {
    if (failed_) {
        return std::exchange(failed_, std::nullopt);
    }
    if (!work_ || !work_->is_done.load(std::memory_order_acquire)) {  // pairs with release in run()
        return std::nullopt;
    }
    return std::move(std::exchange(work_, nullptr)->outcome);
}

}  // namespace tributary
