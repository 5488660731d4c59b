// SPDX-License-Identifier: Apache-2.0
#include "export/threads/thread_registry.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

namespace tributary {
namespace {

/// The list of this process. A detached thread may leave it after main() has returned, so it has no
/// destructor that does anything.
struct Registry {
    std::mutex mutex;
    ThreadPlaceInRegistry* first{};
    ThreadPlaceInRegistry* last{};
    std::uint64_t next_serial{1};
};

Registry& registry() noexcept {
    static Registry only;
    return only;
}

}  // namespace

const char* name_of(ThreadRole role) noexcept {
    switch (role) {
        case ThreadRole::pinned:
            return "pinned";
        case ThreadRole::main:
            return "main";
        case ThreadRole::helper:
            return "helper";
        case ThreadRole::library:
            break;
    }
    return "library";
}

ThreadPlaceInRegistry::ThreadPlaceInRegistry(std::string_view name, ThreadRole role,
                                             std::chrono::seconds patience) noexcept
    : role_(role), patience_(patience), id_(::gettid()), work_began_(uptime()) {
    std::ranges::copy(name.substr(0, kNameOctets - 1), name_.begin());
    static_cast<void>(::pthread_setname_np(::pthread_self(), name_.data()) == 0);
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    serial_ = all.next_serial++;
    before_ = all.last;
    (before_ != nullptr ? before_->after_ : all.first) = this;
    all.last = this;
}

ThreadPlaceInRegistry::~ThreadPlaceInRegistry() {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    (before_ != nullptr ? before_->after_ : all.first) = after_;
    (after_ != nullptr ? after_->before_ : all.last) = before_;
}

ThreadPlaceInRegistry::Uptime ThreadPlaceInRegistry::uptime() noexcept {
    const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
    return now.count();
}

std::vector<RegisteredThread> registered_threads() {
    Registry& all = registry();
    std::vector<RegisteredThread> threads;
    const std::lock_guard lock(all.mutex);
    for (const ThreadPlaceInRegistry* each = all.first; each != nullptr; each = each->after_) {
        const auto began = each->work_began_.load(std::memory_order_relaxed);
        threads.push_back({.serial = each->serial_,
                           .id = each->id_,
                           .name = each->name_.data(),
                           .role = each->role_,
                           .patience = each->patience_,
                           .work_began = began == ThreadPlaceInRegistry::kWaits
                                             ? std::nullopt
                                             : std::optional(std::chrono::nanoseconds(began))});
    }
    return threads;
}

}  // namespace tributary
