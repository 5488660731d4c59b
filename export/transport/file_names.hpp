// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <string>
#include <vector>

namespace tributary {

/// "20261122T041500Z".
[[nodiscard]] std::string utc_text(std::time_t time);
/// The name of a file that begins, or was last written, at a time: `flows.ipfix` becomes
/// `flows-20261122T041500Z.ipfix`, a second one of that second `flows-20261122T041500Z_002.ipfix`.
/// Names sort by time as long as no second has a thousand files.
///
/// @param number  from 1
[[nodiscard]] std::string dated_name(const std::string& path, const std::string& utc, int number);

/// The end of the name of a file that is not finished.
inline constexpr const char* kPartSuffix = ".part";
/// The files beside `path` that a rotation has begun and not finished: with that suffix, sorted.
[[nodiscard]] std::vector<std::string> parts_of(const std::string& path);

/// Gives the file of a former run a name of its own, by the time of its last change, so that
/// nothing is written over. FIFOs, devices, standard streams and empty files stay.
///
/// @return  that name; empty: there is nothing to keep
/// @errors  ExportError: it cannot be renamed
[[nodiscard]] std::string move_former_file_aside(const std::string& path);

}  // namespace tributary
