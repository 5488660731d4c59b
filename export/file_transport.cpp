// SPDX-License-Identifier: Apache-2.0
#include "export/file_transport.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace tributary {

FileTransport::FileTransport(const CollectorOptions& collector, CollectorEvents& events)
    : events_(events),
      file_(::open(collector.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK,
                   0644)) {
    if (!file_) {
        throw ExportError(collector.path + ": cannot be created: " + words_for(errno));
    }
    // Opening must not wait for the reader of a FIFO; writing may wait for it.
    ::fcntl(file_.get(), F_SETFL, ::fcntl(file_.get(), F_GETFL) & ~O_NONBLOCK);
}

void FileTransport::advance(std::chrono::nanoseconds now) noexcept {
    if (!told_) {
        told_ = true;
        events_.tell(CollectorEventKind::connected, now, {});
    }
}

std::uint64_t FileTransport::session() const noexcept { return failed_ ? 0 : 1; }

SendResult FileTransport::send(std::span<const MessageView> messages,
                               std::chrono::nanoseconds now) noexcept {
    std::size_t taken = 0;
    while (taken < messages.size() && write(messages[taken], now)) {
        ++taken;
    }
    written_ += taken;
    return {.taken = taken,
            .rest = taken == messages.size() ? SendStatus::taken : SendStatus::lost};
}

bool FileTransport::write(MessageView message, std::chrono::nanoseconds now) noexcept {
    for (MessageView rest = message; !rest.empty() && !failed_;) {
        const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            const int cause = written == 0 ? ENOSPC : errno;
            failed_ = true;
            // What cannot be cut back is no regular file, and then there is nothing to repair.
            static_cast<void>(::ftruncate(file_.get(), whole_octets_) == 0);
            events_.tell(CollectorEventKind::write_failed, now, words_for(cause));
            break;
        }
        rest = rest.subspan(static_cast<std::size_t>(written));
    }
    whole_octets_ += failed_ ? 0 : static_cast<off_t>(message.size());
    return !failed_;
}

Fates FileTransport::settle(std::chrono::nanoseconds) noexcept {
    return {.delivered = std::exchange(written_, 0), .refused = 0};
}

}  // namespace tributary
