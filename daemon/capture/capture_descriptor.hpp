// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tributary {

/// Lets another thread end the reading of captures.
struct CaptureReading {
    // In one order for all threads: the thread that cancels and sees no pipe knows that one which
    // is opened from then on is cancelled.
    std::atomic<bool> is_pipe{false};    ///< the file that was opened last is one
    std::atomic<bool> cancelled{false};  ///< reading a pipe is to end within a second
    std::atomic<bool> abandoned{false};  ///< no byte is wanted any more: all workers stop
};

/// A capture file, opened: a regular file, or what can be read only once (a pipe, /dev/stdin).
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
    /// Octets of a regular file; 0: it is none, or says that it is empty, as those of /proc do
    /// whatever they hold.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

    /// The octet of a regular file at which reading begins. It is 0, except for standard input
    /// after another program has read a part of it.
    [[nodiscard]] std::uint64_t begin() const noexcept { return begin_; }

    /// Reads on. A regular file is read from begin() on, whatever others read of it meanwhile.
    ///
    /// @return  octets that were read, at least one; 0: the end is reached, or reading was
    /// cancelled
    ///          or abandoned
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
    Clock::time_point end_ = kNever;  ///< when a pipe is left that was cancelled
};

}  // namespace tributary
