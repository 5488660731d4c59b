// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "daemon/machine/topology.hpp"
#include "export/threads/process_threads.hpp"

namespace tributary {

/// A thread that is neither an input nor the export thread.
struct HelperFigures {
    ProcessThread thread;
    NumaNode node;  ///< of the CPUs that it may run on; nullopt: unknown, or of several
};

/// All helper threads of this process, also those of libraries.
///
/// @errors  std::bad_alloc
/// @thread  any but the input threads
/// @cost    a file and a system call for each thread of the process
[[nodiscard]] std::vector<HelperFigures> read_helpers();

}  // namespace tributary
