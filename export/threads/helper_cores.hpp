// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tributary {

/// Puts the calling thread on the helper cores, and keeps them for HelperThread and HelperScope. A
/// thread inherits the cores of the thread that creates it: what the caller and the libraries that
/// it calls start from now on runs there, too.
///
/// @param cpus  as the kernel counts them, below CPU_SETSIZE; not empty
/// @return      an errno; 0: done
/// @thread      main, before it starts any other thread
[[nodiscard]] int take_helper_cores(const std::vector<std::uint32_t>& cpus) noexcept;

/// Moves the calling thread to the helper cores; without any it stays where it is.
///
/// @return  an errno; 0: done
/// @thread  any
[[nodiscard]] int move_to_helper_cores() noexcept;

/// While it lives, its thread runs on the helper cores. A thread with another core, such as the
/// export thread, makes the objects of a library in it whose threads would otherwise inherit that
/// core.
///
/// @thread  its own; may be nested
/// @cost    three system calls: not for the packet path
class HelperScope {
public:
    HelperScope() noexcept;
    ~HelperScope();
    HelperScope(const HelperScope&) = delete;
    HelperScope& operator=(const HelperScope&) = delete;

private:
    std::optional<cpu_set_t> former_;  ///< nullopt: nothing has changed
};

}  // namespace tributary
