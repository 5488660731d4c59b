// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "export/file_descriptor.hpp"
#include "export/listing/flow_listing.hpp"
#include "export/threads/helper_thread.hpp"

namespace tributary {

/// Prints the flows of a run as `tributary flows` does, while they are metered. The run writes into
/// a pipe, and a thread lists the records from it, so it takes no more memory than that command.
///
/// @thread  main
class CaptureTable {
public:
    /// @errors  StartupError: the system has no pipe or thread
    CaptureTable();
    CaptureTable(const CaptureTable&) = delete;
    CaptureTable& operator=(const CaptureTable&) = delete;
    ~CaptureTable();

    /// The path of the run's output; the run may open it once.
    [[nodiscard]] std::string path() const;
    /// Waits until all is printed, once the run has closed its output.
    void finish() noexcept;
    /// Logs why the listing failed. @return  exit code, after finish()
    [[nodiscard]] int exit_code() const;

private:
    void list() noexcept;

    FileDescriptor write_end_;
    FileDescriptor read_end_;
    ListingResult result_;
    HelperThread thread_;  // last: it uses the rest
};

}  // namespace tributary
