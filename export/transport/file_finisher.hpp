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
#include <thread>
#include <utility>

#include "export/file_descriptor.hpp"

namespace tributary {

/// What is done with a file once it is whole, each step only after the one before went well.
struct FinishedFile {
    std::string written_as;
    std::string name;       ///< that it gets now
    bool sync{};            ///< to the disk, before it gets that name
    std::string command;    ///< for the shell; the name is added as its last argument. Empty: none
    FileDescriptor lock{};  ///< held until it has that name, so that no other process finishes it
    bool is_former{};       ///< a former run has left it, perhaps with a message that its end cuts
};

/// Finishes files one after the other in a thread of its own, because the disk and a command may
/// take as long as they like. A file has its name, and its descriptor is closed, also while the
/// command for an earlier one runs.
class FileFinisher {
public:
    /// A command that runs for longer is told, again and again.
    static constexpr std::chrono::seconds kLongCommand{60};
    /// At the end a command that goes on for longer is killed, and those of later files do not run.
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
    /// A line that says what went wrong.
    struct Failure {
        std::string text;
        bool is_news{};  ///< the command failed otherwise than before, or after one that did well
    };
    /// Takes one; without text: nothing else went wrong.
    [[nodiscard]] Failure take_failure() { return take_first(failures_); }
    /// Takes one line that says what became of a former run's file; empty: there is no other.
    [[nodiscard]] std::string take_note() { return take_first(notes_); }

private:
    using Lock = std::unique_lock<std::mutex>;

    void run();
    void name_first(Lock& lock);
    void give_first_to_command(Lock& lock);
    void watch_command(Lock& lock, const std::string& name);
    void tell_long_command(const std::string& name, std::chrono::seconds lasts) noexcept;
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
    /// Has the line told; without memory it is not.
    template <class Line>
    static void keep(std::deque<Line>& lines, Line line) noexcept {
        try {
            lines.push_back(std::move(line));
        } catch (const std::bad_alloc&) {
        }
    }
    [[nodiscard]] std::string try_to_name(FinishedFile& done) noexcept;
    [[nodiscard]] std::string name(FinishedFile& done);
    [[nodiscard]] std::string run_command(Lock& lock, const FinishedFile& done);

    std::mutex mutex_;  ///< guards all but the thread
    std::condition_variable changed_;
    std::list<FinishedFile> files_;  ///< that want their names
    std::list<FinishedFile> named_;  ///< that wait for their command
    std::deque<Failure> failures_;
    std::string command_failure_;  ///< of the last command; empty: it did well
    std::deque<std::string> notes_;
    pid_t child_{};           ///< the command that runs; 0: none does
    bool ending_{};           ///< no more files come
    bool is_patient_ = true;  ///< commands may run
    bool has_ended_{};        ///< nothing is left to do
    std::thread thread_;
};

}  // namespace tributary
