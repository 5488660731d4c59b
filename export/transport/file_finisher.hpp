// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "export/file_descriptor.hpp"
#include "export/threads/helper_thread.hpp"
#include "export/transport/former_part.hpp"

namespace tributary {

/// The steps after a file is whole, each only if the one before succeeded.
struct FinishedFile {
    std::string written_as;
    std::string name;       ///< its final name
    bool sync{};            ///< to the disk, before it gets that name
    std::string command;    ///< for the shell; the name is added as its last argument. Empty: none
    FileDescriptor lock{};  ///< held until it has that name, so that no other process finishes it
    bool is_former{};       ///< a former run has left it, perhaps with a message cut at its end
};

/// Finishes files one after the other in a helper thread, because the disk and a command may take
/// long. The command runs on the helper cores, too. A file has its name, and its descriptor is
/// closed, also while the command for an earlier one runs.
class FileFinisher {
public:
    /// A command that runs for longer is logged, again and again.
    static constexpr std::chrono::seconds kLongCommand{60};
    /// At the end a command that runs for longer is killed, and those of later files do not run.
    static constexpr std::chrono::seconds kPatience{30};

    /// @errors  std::system_error: there is no thread for it
    FileFinisher();
    FileFinisher(const FileFinisher&) = delete;
    FileFinisher& operator=(const FileFinisher&) = delete;
    ~FileFinisher();

    /// Takes the files over, without memory.
    void add(std::list<FinishedFile>& files) noexcept;
    /// Waits until all files are finished, no longer than kPatience for their commands. None may be
    /// added afterwards.
    void end();
    /// The log line of a failure.
    struct Failure {
        std::string text;
        bool is_news{};  ///< the command failed in another way than before, or after one that
                         ///< succeeded
    };
    /// Takes one; without text: there is no other failure.
    [[nodiscard]] Failure take_failure() { return take_first(failures_); }
    /// Takes one log line about a former run's file; empty: there is no other.
    [[nodiscard]] std::string take_note() { return take_first(notes_); }

private:
    using Lock = std::unique_lock<std::mutex>;

    void run(ThreadPlaceInRegistry& place);
    void name_first(Lock& lock);
    void give_first_to_command(Lock& lock, ThreadPlaceInRegistry& place);
    void watch_command(Lock& lock, ThreadPlaceInRegistry& place, const std::string& name);
    void log_long_command(const std::string& name, std::chrono::seconds lasts) noexcept;
    template <class Line>
    [[nodiscard]] Line take_first(std::deque<Line>& lines) {
        const std::lock_guard lock(mutex_);
        if (lines.empty()) {
            return {};
        }
        Line first = std::move(lines.front());
        lines.pop_front();
        return first;
    }
    /// Keeps a line for the log; without memory it is lost.
    template <class Line>
    static void keep(std::deque<Line>& lines, Line line) noexcept {
        try {
            lines.push_back(std::move(line));
        } catch (const std::bad_alloc&) {
        }
    }
    [[nodiscard]] std::string try_to_name(FinishedFile& done) noexcept;
    [[nodiscard]] std::string name(FinishedFile& done);
    [[nodiscard]] std::string run_command(Lock& lock, ThreadPlaceInRegistry& place,
                                          const FinishedFile& done);

    std::mutex mutex_;  ///< guards all but the thread
    std::condition_variable changed_;
    std::list<FinishedFile> files_;  ///< that are not named yet
    std::list<FinishedFile> named_;  ///< that wait for their command
    std::deque<Failure> failures_;
    std::string command_failure_;  ///< of the last command; empty: it succeeded
    std::deque<std::string> notes_;
    pid_t child_{};           ///< the running command; 0: none
    bool ending_{};           ///< no more files come
    bool is_patient_ = true;  ///< commands may run
    bool has_ended_{};        ///< nothing is left to do
    HelperThread thread_;
};

}  // namespace tributary
