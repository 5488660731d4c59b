// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tributary {

/// Lets another thread end the reading of a pipe.
struct PipeReading {
    // In one order for all threads: who cancels and sees no pipe knows that one which is opened
    // from then on is cancelled.
    std::atomic<bool> is_pipe{false};    ///< the file that was opened last is one
    std::atomic<bool> cancelled{false};  ///< reading is to end within a second
};

/// The bytes of one file: mapped, or read into memory where a file can't be mapped (a pipe,
/// /dev/stdin).
///
/// A mapped file that somebody shrinks raises SIGBUS when its lost pages are read. That is
/// accepted: writers of captures append or begin a new file, and the remedy, a copy of every byte,
/// would cost each honest file as much as metering it.
class CaptureMemory {
public:
    /// @param path  a pipe is read to its end, or until it is cancelled, before this returns
    /// @errors      std::system_error: the file can't be opened or read; std::bad_alloc
    CaptureMemory(const std::string& path, PipeReading& reading);
    CaptureMemory(const CaptureMemory&) = delete;
    CaptureMemory& operator=(const CaptureMemory&) = delete;
    CaptureMemory(CaptureMemory&&) = delete;
    CaptureMemory& operator=(CaptureMemory&&) = delete;
    ~CaptureMemory();

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

private:
    [[nodiscard]] bool try_map(int descriptor) noexcept;
    void read_all(int descriptor, const std::atomic<bool>& cancelled);

    std::vector<std::byte> copy_;  ///< empty where the file is mapped
    std::span<const std::byte> bytes_;
    void* mapping_ = nullptr;
};

}  // namespace tributary
