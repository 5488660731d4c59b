// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export/file_descriptor.hpp"

namespace tributary {

/// The outcome of a file that a former run had begun and not finished.
struct FormerPart {
    bool is_whole{};      ///< it can be finished as any other file
    std::string note;     ///< a line for the log; may be empty
    std::string failure;  ///< why it stays as it is; empty: it was mended
    /// If it is whole: to be held until the file has its name, so that no other process takes it.
    FileDescriptor lock{};
};

/// Locks a part that was just created, so that no other process takes it for one of a former run.
///
/// @return  false: another process has it already, and may have removed it
[[nodiscard]] bool claim_new_part(int file, const std::string& name) noexcept;

/// Refuses a rotation whose files another process writes, also a process that began at the same
/// time: of two, the one whose part has the earlier name goes on.
///
/// @param own  the part that this process has created; empty: it has none yet
/// @errors     ExportError
void refuse_other_writer(const std::string& path, const std::vector<std::string>& parts,
                         const std::string& own);

/// Cuts the file of a former run to whole messages, or whole lines: what the end cuts is removed. A
/// file without any is removed. Octets behind the last one stay if they are more than one message
/// can have, and not zeros.
///
/// @cost  reads the header of each message; of lines, what is behind the last one
[[nodiscard]] FormerPart mend_former_part(const std::string& name);

}  // namespace tributary
