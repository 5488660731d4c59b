// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_writer.hpp"

#include <fcntl.h>
#include <sysexits.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "daemon/base/startup_error.hpp"
#include "export/transport/open_output.hpp"

namespace tributary {
namespace {

using unified_header::store;

std::array<std::byte, 24> file_header() noexcept {
    constexpr std::uint32_t kNanosecondMagic = 0xA1B2'3C4D;
    constexpr std::uint16_t kMajor = 2;
    constexpr std::uint16_t kMinor = 4;
    constexpr std::uint32_t kSnapLength = 262'144;
    constexpr std::uint32_t kEthernet = 1;
    std::array<std::byte, 24> header{};
    store(header.data(), kNanosecondMagic);
    store(header.data() + 4, kMajor);
    store(header.data() + 6, kMinor);
    store(header.data() + 16, kSnapLength);
    store(header.data() + 20, kEthernet);
    return header;
}

}  // namespace

CaptureWriter::CaptureWriter(const std::string& path) : path_(path) {
    OpenedOutput opened = open_output(path, O_TRUNC | O_NONBLOCK);
    file_ = std::move(opened.file);
    whole_octets_ = opened.at;
    if (!file_) {
        throw StartupError(EX_IOERR, "--write " + path + ": " +
                                         (errno == ENXIO ? kFifoWithoutReader : words_for(errno)));
    }
    // Opening must not wait for the reader of a FIFO; writing may.
    ::fcntl(file_.get(), F_SETFL, ::fcntl(file_.get(), F_GETFL) & ~O_NONBLOCK);
    if (!write_all(file_header())) {
        throw StartupError(EX_IOERR, failure());
    }
}

bool CaptureWriter::write(std::span<std::byte> record, Timestamp time) noexcept {
    const auto since_1970 = time.time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_1970);
    const auto octets = static_cast<std::uint32_t>(record.size() - kRecordHeader);
    store(record.data(), static_cast<std::uint32_t>(seconds.count()));
    store(record.data() + 4, static_cast<std::uint32_t>((since_1970 - seconds).count()));
    store(record.data() + 8, octets);
    store(record.data() + 12, octets);
    const std::scoped_lock lock{mutex_};
    return error_ == 0 && write_all(record);
}

bool CaptureWriter::write_all(std::span<const std::byte> bytes) noexcept {
    for (auto rest = bytes; !rest.empty();) {
        const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            error_ = written == 0 ? ENOSPC : errno;
            // A file that cannot be cut back is not regular, and needs no repair.
            static_cast<void>(::ftruncate(file_.get(), whole_octets_) == 0);
            return false;
        }
        rest = rest.subspan(static_cast<std::size_t>(written));
    }
    whole_octets_ += static_cast<off_t>(bytes.size());
    return true;
}

std::string CaptureWriter::failure() const {
    const int error = error_.load(std::memory_order_relaxed);
    return error == 0 ? std::string() : "--write " + path_ + ": " + words_for(error);
}

}  // namespace tributary
