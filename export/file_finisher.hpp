// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "export/socket.hpp"

namespace tributary {

/// What is done with a file once it is whole, each step only after the one before went well.
struct FinishedFile {
    FileDescriptor file;
    std::string written_as;
    std::string name;     ///< that it gets now
    bool sync{};          ///< to the disk, before it gets that name
    std::string command;  ///< for the shell; the name is added as its last argument. Empty: none
};

/// Finishes files one after the other in a thread of its own, because the disk and a command may
/// take as long as they like.
class FileFinisher {
public:
    FileFinisher();
    FileFinisher(const FileFinisher&) = delete;
    FileFinisher& operator=(const FileFinisher&) = delete;
    ~FileFinisher();

    void add(FinishedFile file);
    /// Waits until all files are finished. None may be added afterwards.
    void end();
    /// Takes one line that says what went wrong; empty: nothing else did.
    [[nodiscard]] std::string take_failure();

private:
    void run();

    std::mutex mutex_;  ///< guards all but the thread
    std::condition_variable changed_;
    std::deque<FinishedFile> files_;
    std::deque<std::string> failures_;
    bool ending_{};
    std::thread thread_;
};

}  // namespace tributary
