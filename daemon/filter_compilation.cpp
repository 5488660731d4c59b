// SPDX-License-Identifier: Apache-2.0
#include "daemon/filter_compilation.hpp"

#include <pthread.h>

#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "daemon/filter_names.hpp"

namespace tributary {

struct FilterCompilation::Work {
    void run(const std::string& expression, FilterLinks links) noexcept {
        try {
            FilterNames names(NameUse::resolve, &is_asking);
            outcome.filter = std::make_unique<PacketFilter>(expression, links, names);
        } catch (const UnresolvedName& error) {
            fail(error.what(), true);
        } catch (const PacketFilterError& error) {
            fail(error.what(), false);
        } catch (const std::exception&) {
            fail("no memory", true);
        }
        is_done.store(true, std::memory_order_release);  // pairs with acquire in poll()
    }
    void fail(const char* why, bool may_heal) noexcept {
        outcome.may_heal = may_heal;
        try {
            outcome.fault = why;
        } catch (const std::exception&) {
            outcome.fault = "no memory";  // short enough to need none
        }
    }

    std::atomic<bool> is_asking{};
    std::atomic<bool> is_done{};
    Outcome outcome;  ///< the thread's until it is done
};

FilterCompilation::FilterCompilation(const std::string& expression, FilterLinks links)
    : work_(std::make_shared<Work>()) {
    try {
        std::thread thread([work = work_, expression, links] { work->run(expression, links); });
        static_cast<void>(::pthread_setname_np(thread.native_handle(), "filter") == 0);
        thread.detach();
    } catch (const std::system_error& error) {
        work_->fail(error.what(), true);
        work_->is_done.store(true, std::memory_order_relaxed);
    }
}

bool FilterCompilation::asks_resolver() const noexcept {
    return work_ && work_->is_asking.load(std::memory_order_relaxed);
}

std::optional<FilterCompilation::Outcome> FilterCompilation::poll() {
    if (!work_ || !work_->is_done.load(std::memory_order_acquire)) {  // pairs with release in run()
        return std::nullopt;
    }
    return std::move(std::exchange(work_, nullptr)->outcome);
}

}  // namespace tributary
