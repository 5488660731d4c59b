// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace tributary {
namespace {

[[noreturn]] void throw_errno() { throw std::system_error(errno, std::generic_category()); }

/// Standard input is not opened anew: for a FIFO that would miss the end of its writer, and the
/// process may lack the permission to open the file itself.
int open_capture(const std::string& path) {
    return path == "/dev/stdin" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

}  // namespace

CaptureDescriptor::CaptureDescriptor(const std::string& path, CaptureReading& reading)
    : reading_(reading), descriptor_(open_capture(path)) {
    if (descriptor_ < 0) {
        throw_errno();
    }
    struct stat status {};
    if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        size_ = static_cast<std::uint64_t>(status.st_size);
        // 0 for a file opened here; another program may have read a part of standard input.
        const off_t place = ::lseek(descriptor_, 0, SEEK_CUR);
        begin_ = offset_ = place > 0 ? static_cast<std::uint64_t>(place) : 0;
    }
}

CaptureDescriptor::~CaptureDescriptor() { ::close(descriptor_); }

std::size_t CaptureDescriptor::read(std::span<std::byte> room) {
    while (wait_for_bytes()) {
        const ssize_t got =
            size_ > 0 ? ::pread(descriptor_, room.data(), room.size(), static_cast<off_t>(offset_))
                      : ::read(descriptor_, room.data(), room.size());
        if (got >= 0) {
            offset_ += static_cast<std::uint64_t>(got);
            return static_cast<std::size_t>(got);
        }
        if (errno != EINTR && errno != EAGAIN) {
            throw_errno();
        }
    }
    return 0;
}

bool CaptureDescriptor::is_ready() const noexcept {
    pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 0) != 0;
}

/// Waits until a read returns octets or the end. For a FIFO without a writer it waits for one.
/// @return  false: stop reading
bool CaptureDescriptor::wait_for_bytes() noexcept {
    constexpr int kLookMilliseconds = 100;
    pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
    while (!is_over()) {
        if (::poll(&waiting, 1, kLookMilliseconds) != 0) {
            return true;
        }
    }
    return false;
}

/// A pipe is read for one second more after a cancellation: its writer may have got the same
/// signal, and writes its last frames.
bool CaptureDescriptor::is_over() noexcept {
    if (size_ > 0 || !reading_.cancelled.load()) {
        return reading_.abandoned.load();
    }
    const auto now = Clock::now();
    if (end_ == kNever) {
        end_ = now + std::chrono::seconds(1);
    }
    return reading_.abandoned.load() || now >= end_;
}

}  // namespace tributary
