// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture_memory.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

namespace tributary {
namespace {

[[noreturn]] void throw_errno() { throw std::system_error(errno, std::generic_category()); }

class Descriptor {
public:
    /// Standard input is not opened anew: of a FIFO that would miss its writer's end, and who
    /// started this program may read what it may not.
    explicit Descriptor(const std::string& path)
        : value_(path == "/dev/stdin" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                      : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        if (value_ < 0) {
            throw_errno();
        }
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    Descriptor(Descriptor&&) = delete;
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor() { ::close(value_); }
    [[nodiscard]] int value() const noexcept { return value_; }

private:
    int value_;
};

/// From when a pipe's reading was cancelled. Whoever writes the pipe may have got the same signal,
/// and writes its last frames.
class LastSecond {
public:
    explicit LastSecond(const std::atomic<bool>& cancelled) noexcept : cancelled_(cancelled) {}

    [[nodiscard]] bool is_over() noexcept {
        const auto now = Clock::now();
        if (end_ == kNever && cancelled_.load()) {
            end_ = now + std::chrono::seconds(1);
        }
        return now >= end_;
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto kNever = Clock::time_point::max();

    const std::atomic<bool>& cancelled_;
    Clock::time_point end_ = kNever;
};

/// Waits until a read brings something, be it the end. A FIFO without a writer waits for one.
/// @return  false: the last second is over
bool wait_for_bytes(int descriptor, LastSecond& last_second) {
    constexpr int kLookMilliseconds = 100;
    pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
    while (!last_second.is_over()) {
        if (::poll(&waiting, 1, kLookMilliseconds) != 0) {
            return true;
        }
    }
    return false;
}

}  // namespace

CaptureMemory::CaptureMemory(const std::string& path, PipeReading& reading) {
    const Descriptor file{path};
    if (!try_map(file.value())) {
        reading.is_pipe.store(true);
        read_all(file.value(), reading.cancelled);
        bytes_ = copy_;
    }
}

CaptureMemory::~CaptureMemory() {
    if (mapping_ != nullptr) {
        ::munmap(mapping_, bytes_.size());
    }
}

bool CaptureMemory::try_map(int descriptor) noexcept {
    struct stat status {};
    // Files of /proc say that they are regular and empty, and can be read all the same.
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
        return false;
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapping == MAP_FAILED) {
        return false;
    }
    ::madvise(mapping, size, MADV_SEQUENTIAL);  // advice only: failure costs speed
    mapping_ = mapping;
    bytes_ = {static_cast<const std::byte*>(mapping), size};
    return true;
}

void CaptureMemory::read_all(int descriptor, const std::atomic<bool>& cancelled) {
    constexpr std::size_t kChunk = 1U << 20U;
    LastSecond last_second(cancelled);
    std::size_t filled = 0;
    while (true) {
        if (copy_.size() - filled < kChunk) {
            copy_.resize(copy_.size() * 2 + kChunk);
        }
        if (!wait_for_bytes(descriptor, last_second)) {
            break;
        }
        const ssize_t got = ::read(descriptor, copy_.data() + filled, copy_.size() - filled);
        if (got == 0) {
            break;
        }
        if (got > 0) {
            filled += static_cast<std::size_t>(got);
        } else if (errno != EINTR && errno != EAGAIN) {
            throw_errno();
        }
    }
    copy_.resize(filled);
}

}  // namespace tributary
