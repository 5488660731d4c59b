// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "export/file_descriptor.hpp"

namespace tributary {

/// The directory that `auto` stands for: in that of systemd's StateDirectory, else
/// /var/lib/tributary/triggers.
[[nodiscard]] std::string trigger_directory(const std::string& option);

/// Directories that this process alone writes files of triggers to, as long as the object lives.
class LockedDirectories {
public:
    /// Makes a directory, for its owner alone, where it is not there. Without effect for one that
    /// was added before, also by another of its names.
    ///
    /// @errors  StartupError(73): the directory cannot be made, read or written to, or another
    ///          process has locked it
    void add(const std::string& path);

private:
    /// By device and inode.
    std::map<std::pair<dev_t, ino_t>, FileDescriptor> directories_;
};

/// The files of one trigger, DIRECTORY/NAME-NUMBER.pcapng: bounded together, the oldest goes first.
///
/// @thread  any, but for the constructor
class TriggerFiles {
public:
    /// Finds the files that are there, and removes those that did not become whole before the
    /// former process ended.
    ///
    /// @param directory    locked
    /// @param most_octets  of all files together
    /// @errors             StartupError(73): the directory cannot be read
    TriggerFiles(std::string directory, std::string name, std::uint64_t most_octets);
    TriggerFiles(const TriggerFiles&) = delete;
    TriggerFiles& operator=(const TriggerFiles&) = delete;

    /// Number of the latest file that was in the directory, of any trigger: a record's number
    /// should mean one file, also after a trigger was taken away. 0: there was none.
    [[nodiscard]] std::uint32_t last() const noexcept { return last_; }
    [[nodiscard]] std::string path_of(std::uint32_t number) const;

    /// Gives a file that is being written room for so many more octets: removes the oldest files.
    ///
    /// @param removed  gets how many went
    /// @return         false: files that are being written fill it, or one cannot be removed
    [[nodiscard]] bool give_room(std::uint64_t octets, std::uint64_t& removed);
    /// The room is not needed any more.
    void take_back(std::uint64_t octets) noexcept;
    /// A file is whole.
    ///
    /// @param octets  in all
    /// @param room    that was given to it, and is taken back
    void keep(std::uint32_t number, std::uint64_t octets, std::uint64_t room);

private:
    void find();

    const std::string directory_;
    const std::string name_;
    const std::uint64_t most_octets_;
    std::uint32_t last_ = 0;
    mutable std::mutex mutex_;
    std::map<std::uint32_t, std::uint64_t> files_;  ///< octets of those that are whole, by number
    std::uint64_t octets_ = 0;                      ///< of these
    std::uint64_t given_ = 0;                       ///< room of files that are being written
};

}  // namespace tributary
