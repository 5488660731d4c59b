// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "daemon/base/standard_streams.hpp"
#include "export/transport/open_output.hpp"

namespace tributary {

WholeFile::WholeFile(const std::string& path) : path_(or_standard_output(path)) {
    struct stat status {};
    const bool is_there = ::stat(path_.c_str(), &status) == 0;
    const bool is_written_as_it_is = path == "-" || (is_there && !S_ISREG(status.st_mode));
    written_ = is_written_as_it_is ? path_ : path_ + kSuffix;
    if (is_apart()) {
        constexpr mode_t kOwner = S_IRUSR | S_IWUSR;
        static_cast<void>(::unlink(written_.c_str()) == 0);  // one that was left, of any mode
        file_ = FileDescriptor(
            ::open(written_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwner));
    } else {
        file_ = open_output(written_, 0).file;
    }
    error_ = file_ ? 0 : errno;
}

WholeFile::~WholeFile() {
    if (file_ && is_apart()) {  // it is not whole
        ::unlink(written_.c_str());
    }
}

void WholeFile::write(std::string_view octets) noexcept {
    while (!octets.empty() && error_ == 0) {
        const ssize_t written = ::write(file_.get(), octets.data(), octets.size());
        if (written >= 0) {
            octets_ += static_cast<std::uint64_t>(written);
            octets.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno != EINTR) {
            error_ = errno;
        }
    }
}

bool WholeFile::finish() noexcept {
    const bool is_finished =
        error_ == 0 && (!is_apart() || (::fsync(file_.get()) == 0 &&
                                        ::rename(written_.c_str(), path_.c_str()) == 0));
    error_ = is_finished || error_ != 0 ? error_ : errno;
    if (is_finished) {
        file_ = {};
    }
    return is_finished;
}

}  // namespace tributary
