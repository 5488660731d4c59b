// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace tributary {

/// The system's words for an errno.
[[nodiscard]] const char* words_for(int error) noexcept;

/// Owns a file descriptor.
class FileDescriptor {
public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~FileDescriptor();

    [[nodiscard]] int get() const noexcept { return fd_; }
    /// Gives the descriptor to the caller, which closes it.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }

private:
    int fd_ = -1;
};

}  // namespace tributary
