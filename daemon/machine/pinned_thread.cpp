// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/pinned_thread.hpp"

#include <pthread.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sysexits.h>

#include <cstring>
#include <future>
#include <optional>
#include <system_error>

#include "daemon/base/startup_error.hpp"
#include "daemon/machine/node_heap.hpp"
#include "export/threads/helper_cores.hpp"
#include "export/threads/process_threads.hpp"
#include "export/threads/thread_registry.hpp"

namespace tributary {
namespace {

void pin_to(std::uint32_t cpu, const std::string& thread) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < CPU_SETSIZE) {
        CPU_SET(cpu, &set);
    }
    if (const int error = pthread_setaffinity_np(pthread_self(), sizeof(set), &set); error != 0) {
        throw StartupError(EX_OSERR, "thread " + thread + " can't run on core " +
                                         std::to_string(cpu) + ": " +
                                         std::generic_category().message(error) +
                                         "; is it outside this container's or service's cores?");
    }
}

void take_place(const ThreadPlace& place) {
    // By default a thread sleeps 50 us longer than requested (prctl(2)).
    prctl(PR_SET_TIMERSLACK, 1UL);
    if (place.cpu) {
        pin_to(*place.cpu, place.name);
    }
    // After pinning: EAL reads the thread's NUMA node.
    if (place.uses_dpdk && rte_thread_register() != 0) {
        throw StartupError(EX_OSERR, "DPDK takes no more threads (" + place.name +
                                         "): " + rte_strerror(rte_errno));
    }
}

void run(const ThreadPlace& place, std::promise<void>& placed, const std::function<void()>& body) {
    const ThreadPlaceInRegistry registered(place.name, ThreadRole::pinned, {});
    std::optional<NodeHeap> heap;
    try {
        take_place(place);
        heap.emplace(place.cpu ? node_of_this_cpu() : NumaNode{});
    } catch (...) {
        placed.set_exception(std::current_exception());
        return;
    }
    placed.set_value();
    body();
    if (place.uses_dpdk) {
        rte_thread_unregister();
    }
}

}  // namespace

PinnedThread::PinnedThread(const ThreadPlace& place, std::function<void()> body) {
    std::promise<void> promise;
    std::future<void> placed = promise.get_future();
    try {
        thread_ = std::thread([place, promise = std::move(promise),
                               body = std::move(body)]() mutable { run(place, promise, body); });
    } catch (const std::system_error& error) {
        throw StartupError(EX_OSERR, "no thread " + place.name + ": " + error.what());
    }
    try {
        placed.get();
    } catch (...) {
        thread_.join();
        throw;
    }
}

PinnedThread::~PinnedThread() { thread_.join(); }

void keep_main_thread_on(const std::vector<std::uint32_t>& cpus) {
    if (const int error = take_helper_cores(cpus); error != 0) {
        throw StartupError(EX_OSERR, "helper threads can't run on core " + cpu_list(cpus) + ": " +
                                         std::generic_category().message(error) +
                                         "; is it outside this container's or service's cores?");
    }
}

}  // namespace tributary
