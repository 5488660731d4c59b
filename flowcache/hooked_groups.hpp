// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "flowcache/group_hooks.hpp"
#include "flowcache/tcp_group.hpp"

namespace tributary {

/// The field groups that have hooks. Which of them a cache has, its layout says.
struct StandardHookedGroups {
    template <std::size_t kGroupBytes>
    using Hooks = GroupHookList<TcpAnalysisHooks<kGroupBytes>>;
};

}  // namespace tributary
