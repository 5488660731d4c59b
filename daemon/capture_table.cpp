// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture_table.hpp"

#include <fcntl.h>
#include <sysexits.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <iostream>
#include <istream>
#include <streambuf>
#include <system_error>

#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"

namespace tributary {
namespace {

/// Reads from a pipe.
class PipeBuffer final : public std::streambuf {
public:
    explicit PipeBuffer(int descriptor) noexcept : descriptor_(descriptor) {}

protected:
    int_type underflow() override {
        ssize_t got = -1;
        do {
            got = ::read(descriptor_, room_.data(), room_.size());
        } while (got < 0 && errno == EINTR);
        if (got <= 0) {
            return traits_type::eof();
        }
        setg(room_.data(), room_.data(), room_.data() + got);
        return traits_type::to_int_type(room_.front());
    }

private:
    int descriptor_;
    std::array<char, 1U << 16U> room_{};
};

}  // namespace

CaptureTable::CaptureTable() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw StartupError(EX_OSERR, "cannot make a pipe for the table: " +
                                         std::generic_category().message(errno));
    }
    read_end_ = FileDescriptor(ends[0]);
    write_end_ = FileDescriptor(ends[1]);
    try {
        thread_ = HelperThread({.name = "table"}, [this](ThreadPlaceInRegistry&) { list(); });
    } catch (const std::system_error& error) {
        throw StartupError(EX_OSERR, "cannot start the table's thread: " + error.code().message());
    }
}

CaptureTable::~CaptureTable() { finish(); }

std::string CaptureTable::path() const {
    return "/proc/self/fd/" + std::to_string(write_end_.get());
}

void CaptureTable::finish() noexcept {
    write_end_ = FileDescriptor();  // the run has closed its own: the thread reads the end
    thread_.join();
}

int CaptureTable::exit_code() const {
    if (!result_.message.empty()) {
        spdlog::error(result_.message);
    }
    const bool is_good =
        result_.status == ListingStatus::ok || result_.status == ListingStatus::output_closed;
    return is_good ? EX_OK : EX_IOERR;
}

/// After a failed write it closes the pipe, and the run's output fails.
void CaptureTable::list() noexcept {
    try {
        PipeBuffer buffer(read_end_.get());
        std::istream input(&buffer);
        result_ = list_flow_stream(input, "captures", {}, std::cout,
                                   [](const std::string& warning) { spdlog::warn(warning); });
        std::cout << std::flush;
    } catch (const std::exception& error) {
        result_ = {ListingStatus::write_failure, error.what()};
    }
    read_end_ = FileDescriptor();
}

}  // namespace tributary
