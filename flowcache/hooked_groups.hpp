// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "flowcache/fields/field_groups.hpp"
#include "flowcache/group_hooks.hpp"
#include "flowcache/tcp_group.hpp"

namespace tributary {

static_assert(kGroupsWithState == groups_of<TcpAnalysisGroup>(),
              "a group with a state has its hooks in this list");

/// The field groups that have hooks. Which of them a cache has, its layout says.
struct StandardHookedGroups {
    template <std::size_t kGroupBytes>
    using Hooks = GroupHookList<TcpAnalysisHooks<kGroupBytes>>;
};

/// None, for caches whose records have no group with hooks: a packet takes fewer instructions.
struct NoHookedGroups {
    template <std::size_t kGroupBytes>
    using Hooks = GroupHookList<>;
};

}  // namespace tributary
