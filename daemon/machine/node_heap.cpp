// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/node_heap.hpp"

#include <fmt/format.h>
#include <numa.h>
#include <numaif.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

/// jemalloc's settings for each program with this file: one arena beside those of node_heap(). By
/// default a thread makes an arena of its own with its first allocation, and jemalloc 5.3 ends the
/// process if there is no memory for it. One arena suffices: input threads do not allocate, and
/// other threads have caches of their own.
extern "C" const char* const malloc_conf;
const char* const malloc_conf = "narenas:1";

/// jemalloc's, in programs linked with it (jemalloc(3)).
extern "C" [[gnu::weak]] int mallctl(const char* name, void* old_value, std::size_t* old_size,
                                     void* new_value, std::size_t new_size) noexcept;

namespace tributary {
namespace {

template <class T>
std::optional<T> control(const std::string& name) {
    T value{};
    std::size_t size = sizeof(value);
    const bool is_read =
        mallctl != nullptr && mallctl(name.c_str(), &value, &size, nullptr, 0) == 0;
    return is_read ? std::optional<T>(value) : std::nullopt;
}

void set_arena(unsigned arena) {
    if (mallctl == nullptr) {
        return;
    }
    // The thread's cache holds blocks of the former arena.
    mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
    mallctl("thread.arena", nullptr, nullptr, &arena, sizeof(arena));
}

/// The arenas of the nodes.
class Arenas {
public:
    /// @return  nullopt: no jemalloc, or it makes no more arenas
    std::optional<unsigned> of(std::uint32_t node) {
        const std::lock_guard lock(mutex_);
        const auto known = by_node_.find(node);
        if (known != by_node_.end()) {
            return known->second;
        }
        const std::optional<unsigned> made = control<unsigned>("arenas.create");
        if (made) {
            by_node_.emplace(node, *made);
        }
        return made;
    }
    [[nodiscard]] std::map<std::uint32_t, unsigned> all() const {
        const std::lock_guard lock(mutex_);
        return by_node_;
    }

private:
    mutable std::mutex mutex_;
    std::map<std::uint32_t, unsigned> by_node_;
};

Arenas& arenas() {
    static Arenas only;
    return only;
}

bool has_nodes() { return numa_available() >= 0; }

/// Of the whole heap, or below `stats.arenas.N.`
HeapUse read_use(const std::string& below, const NumaNode& node) {
    const auto octets = [&](const char* name) {
        return control<std::size_t>(below + name).value_or(0);
    };
    const std::uint64_t allocated =
        node ? octets("small.allocated") + octets("large.allocated") : octets("allocated");
    return {.node = node, .allocated = allocated, .resident = octets("resident")};
}

}  // namespace

/// Where the kernel takes a thread's pages from (set_mempolicy(2)).
struct NodeHeap::Policy {
    static constexpr unsigned kNodes = 1024;
    static constexpr unsigned kBits = 8 * sizeof(unsigned long);

    int mode = 0;
    std::array<unsigned long, kNodes / kBits> nodes{};
};

NodeHeap::NodeHeap(const NumaNode& node) {
    if (!node) {
        return;
    }
    auto former = std::make_unique<Policy>();
    if (has_nodes() && *node < Policy::kNodes &&
        get_mempolicy(&former->mode, former->nodes.data(), Policy::kNodes, nullptr, 0) == 0) {
        former_policy_ = std::move(former);
        Policy wanted{.mode = MPOL_PREFERRED};
        wanted.nodes.at(*node / Policy::kBits) |= 1UL << (*node % Policy::kBits);
        set_mempolicy(wanted.mode, wanted.nodes.data(), Policy::kNodes);
    }
    if (const std::optional<unsigned> arena = arenas().of(*node)) {
        former_arena_ = control<unsigned>("thread.arena");
        set_arena(*arena);
    }
}

NodeHeap::~NodeHeap() {
    if (former_policy_ != nullptr) {
        set_mempolicy(former_policy_->mode, former_policy_->nodes.data(), Policy::kNodes);
    }
    if (former_arena_) {
        set_arena(*former_arena_);
    }
}

NumaNode node_of_cpu(std::uint32_t cpu) {
    const int node = has_nodes() ? numa_node_of_cpu(static_cast<int>(cpu)) : -1;
    return node < 0 ? NumaNode{} : NumaNode{static_cast<std::uint32_t>(node)};
}

NumaNode node_of_this_cpu() {
    const int cpu = sched_getcpu();
    return cpu < 0 ? NumaNode{} : node_of_cpu(static_cast<std::uint32_t>(cpu));
}

std::vector<HeapUse> read_heap_use() {
    std::uint64_t epoch = 1;
    if (mallctl == nullptr || mallctl("epoch", nullptr, nullptr, &epoch, sizeof(epoch)) != 0) {
        return {};
    }
    HeapUse rest = read_use("stats.", {});
    std::vector<HeapUse> uses;
    for (const auto& [node, arena] : arenas().all()) {
        uses.push_back(read_use(fmt::format("stats.arenas.{}.", arena), node));
        rest.allocated -= std::min(rest.allocated, uses.back().allocated);
        rest.resident -= std::min(rest.resident, uses.back().resident);
    }
    uses.push_back(rest);
    return uses;
}

}  // namespace tributary
