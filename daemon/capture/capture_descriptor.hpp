// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tributary {

/// Flags by which another thread ends the reading of captures.
struct CaptureReading {
    // Sequentially consistent: if the cancelling thread sees no pipe, a pipe opened later sees the
    // cancellation.
    std::atomic<bool> is_pipe{false};    ///< the last opened file is a pipe
    std::atomic<bool> cancelled{false};  ///< reading a pipe must end within a second
    std::atomic<bool> abandoned{false};  ///< reading must end at once: all workers stop
};

/// An open capture file: a regular file, or one that can be read only once (a pipe, /dev/stdin).
///
/// @thread  one at a time
class CaptureDescriptor {
public:
    /// @errors  std::system_error
    CaptureDescriptor(const std::string& path, CaptureReading& reading);
    CaptureDescriptor(const CaptureDescriptor&) = delete;
    CaptureDescriptor& operator=(const CaptureDescriptor&) = delete;
    CaptureDescriptor(CaptureDescriptor&&) = delete;
    CaptureDescriptor& operator=(CaptureDescriptor&&) = delete;
    ~CaptureDescriptor();

    [[nodiscard]] int get() const noexcept { return descriptor_; }
    /// Octets of a regular file; 0: another file, or a reported size of 0, as for all files of
    /// /proc.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

    /// The octet of a regular file at which reading begins: 0, except for standard input after
    /// another program has read a part of it.
    [[nodiscard]] std::uint64_t begin() const noexcept { return begin_; }

    /// Reads on. A regular file is read from begin() on, independently of other readers.
    ///
    /// @return  octets read, at least one; 0: the end, or reading was cancelled or abandoned
    /// @errors  std::system_error
    /// @cost    waits for the writer of a pipe
    [[nodiscard]] std::size_t read(std::span<std::byte> room);

    /// Whether read() returns at once.
    [[nodiscard]] bool is_ready() const noexcept;

private:
    [[nodiscard]] bool wait_for_bytes() noexcept;
    [[nodiscard]] bool is_over() noexcept;

    using Clock = std::chrono::steady_clock;
    static constexpr auto kNever = Clock::time_point::max();

    CaptureReading& reading_;
    int descriptor_;
    std::uint64_t size_ = 0;
    std::uint64_t begin_ = 0;
    std::uint64_t offset_ = 0;        ///< of a regular file
    Clock::time_point end_ = kNever;  ///< when the reading of a cancelled pipe ends
};

}  // namespace tributary
