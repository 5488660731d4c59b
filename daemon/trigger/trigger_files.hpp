// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace tributary {

/// The directory that `auto` stands for: in that of systemd's StateDirectory, else
/// /var/lib/tributary/triggers.
[[nodiscard]] std::string trigger_directory(const std::string& option);

/// The files of one trigger, DIRECTORY/NAME-NUMBER.pcapng: bounded together, the oldest goes first.
///
/// @thread  any, but for the constructor
class TriggerFiles {
public:
    /// Makes the directory, for its owner alone, finds the files that are there, and removes those
    /// that did not become whole before the former process ended.
    ///
    /// @param most_octets  of all files together
    /// @errors             StartupError(73): the directory cannot be made, read or written to
    TriggerFiles(std::string directory, std::string name, std::uint64_t most_octets);
    TriggerFiles(const TriggerFiles&) = delete;
    TriggerFiles& operator=(const TriggerFiles&) = delete;

    /// Number of the latest file; 0: there is none.
    [[nodiscard]] std::uint32_t last() const;
    [[nodiscard]] std::string path_of(std::uint32_t number) const;

    /// Makes room for so many more octets: removes the oldest files.
    ///
    /// @param removed  gets how many went
    /// @return         false: files that are being written fill it
    [[nodiscard]] bool make_room(std::uint64_t octets, std::uint64_t& removed);
    /// A file that is being written has got so many more octets.
    void add_written(std::uint64_t octets);
    /// It is whole.
    ///
    /// @param octets  in all
    void keep(std::uint32_t number, std::uint64_t octets);
    /// It is gone.
    void forget(std::uint64_t octets);

private:
    void find();

    const std::string directory_;
    const std::string name_;
    const std::uint64_t most_octets_;
    mutable std::mutex mutex_;
    std::map<std::uint32_t, std::uint64_t> files_;  ///< octets of those that are whole, by number
    std::uint64_t octets_ = 0;                      ///< of these
    std::uint64_t being_written_ = 0;
};

}  // namespace tributary
