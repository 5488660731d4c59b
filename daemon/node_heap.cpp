// SPDX-License-Identifier: Apache-2.0
#include "daemon/node_heap.hpp"

#include <fmt/format.h>
#include <numa.h>
#include <sched.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>

/// jemalloc's, in programs that are linked with it (jemalloc(3)).
extern "C" [[gnu::weak]] int mallctl(const char* name, void* old_value, std::size_t* old_size,
                                     void* new_value, std::size_t new_size) noexcept;

namespace tributary {
namespace {

template <class T>
std::optional<T> control(const std::string& name) {
    T value{};
    std::size_t size = sizeof(value);
    const bool is_told =
        mallctl != nullptr && mallctl(name.c_str(), &value, &size, nullptr, 0) == 0;
    return is_told ? std::optional<T>(value) : std::nullopt;
}

void set_arena(unsigned arena) {
    if (mallctl == nullptr) {
        return;
    }
    // What the thread has at hand is of the arena before.
    mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0);
    mallctl("thread.arena", nullptr, nullptr, &arena, sizeof(arena));
}

/// Which arena is whose.
class Arenas {
public:
    /// @return  nothing: there is no jemalloc, or it makes no more
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

/// Where this thread wants pages, by the innermost NodeHeap.
NumaNode& current_node() {
    thread_local NumaNode node;
    return node;
}

bool has_nodes() { return numa_available() >= 0; }

void prefer(const NumaNode& node) {
    if (node && has_nodes()) {
        numa_set_preferred(static_cast<int>(*node));
    } else if (has_nodes()) {
        numa_set_localalloc();
    }
}

/// Of the heap as a whole, or below `stats.arenas.N.`
HeapUse read_use(const std::string& below, const NumaNode& node) {
    const auto octets = [&](const char* name) {
        return control<std::size_t>(below + name).value_or(0);
    };
    const std::uint64_t allocated =
        node ? octets("small.allocated") + octets("large.allocated") : octets("allocated");
    return {.node = node, .allocated = allocated, .resident = octets("resident")};
}

}  // namespace

NodeHeap::NodeHeap(const NumaNode& node) {
    if (!node) {
        return;
    }
    is_on_ = true;
    former_node_ = current_node();
    current_node() = node;
    prefer(node);
    const std::optional<unsigned> arena = arenas().of(*node);
    if (arena) {
        former_arena_ = control<unsigned>("thread.arena").value_or(0);
        set_arena(*arena);
    }
}

NodeHeap::~NodeHeap() {
    if (!is_on_) {
        return;
    }
    current_node() = former_node_;
    prefer(former_node_);
    set_arena(former_arena_);
}

NumaNode node_of_this_cpu() {
    const int node = has_nodes() ? numa_node_of_cpu(sched_getcpu()) : -1;
    return node < 0 ? NumaNode{} : NumaNode{static_cast<std::uint32_t>(node)};
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
