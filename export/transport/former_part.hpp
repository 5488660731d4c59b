// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "export/file_descriptor.hpp"

namespace tributary {

/// What became of a file that a former run had begun and not finished.
struct FormerPart {
    bool is_whole{};      ///< it can be finished as any other file
    std::string note;     ///< a line for the log; may be empty
    std::string failure;  ///< why it stays as it is; empty: it does not
    /// Of one that is whole: to be held until it has its name, so that no other process takes it.
    FileDescriptor lock{};
};

/// Locks a part that was just created, so that no other process takes it for one that was left.
///
/// @return  false: another process has it already, and may have removed it
[[nodiscard]] bool claim_new_part(int file, const std::string& name) noexcept;

/// Refuses a rotation whose files another process writes, be it one that began at the same time: of
/// two, the one whose part has the earlier name goes on.
///
/// @param own  the part that this process has created; empty: it has none yet
/// @errors     ExportError
void refuse_other_writer(const std::string& path, const std::vector<std::string>& parts,
                         const std::string& own);

/// Makes a file of whole messages of what a former run has left: a message that the end cuts goes.
/// A file without any message is removed. More than one message can be, and no zeros, stays.
///
/// @cost  reads the header of each message
[[nodiscard]] FormerPart mend_former_part(const std::string& name);

}  // namespace tributary
