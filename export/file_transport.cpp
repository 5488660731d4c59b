// SPDX-License-Identifier: Apache-2.0
#include "export/file_transport.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "export/file_names.hpp"
#include "export/open_output.hpp"

namespace tributary {
FileTransport::FileTransport(const CollectorOptions& collector, CollectorEvents& events)
    : events_(events),
      path_(collector.path),
      rotation_(collector.rotation),
      replaces_(collector.replaces_file) {
    if (rotation_.is_on()) {
        finisher_ = std::make_unique<FileFinisher>();
        finish_former_parts();
    } else if (!replaces_) {
        former_ = move_former_file_aside(path_);
    }
    name_file();
    if (!open_file()) {
        throw ExportError(written_as_ + ": cannot be created: " + words_for(errno));
    }
}

FileTransport::~FileTransport() {
    if (rotates()) {
        hand_to_finisher();
        finisher_->end();
        tell_failures(last_now_);
    }
}

/// Finds a name that no file has, nor had in this run: a command may have moved it away. Files of
/// one second differ by a number.
void FileTransport::name_file() {
    name_ = written_as_ = path_;
    if (!rotates()) {
        return;
    }
    // A clock that was put back does not count.
    if (const std::string now = utc_text(std::time(nullptr)); now > time_) {
        time_ = now;
        number_ = 0;
    }
    for (;;) {
        ++number_;
        name_ = dated_name(path_, time_, number_);
        written_as_ = name_ + kPartSuffix;
        // In this order: a file that is just being renamed has one of the names at each look.
        std::error_code unknown;  // then opening it tells why
        if (!std::filesystem::exists(written_as_, unknown) &&
            !std::filesystem::exists(name_, unknown)) {
            return;
        }
    }
}

bool FileTransport::open_file() {
    // A file of a rotation is new, or somebody else's. Neither opening nor writing may wait for the
    // reader of a FIFO.
    const int how = rotates() ? O_EXCL : replaces_ ? O_TRUNC | O_NONBLOCK : O_NONBLOCK;
    OpenedOutput opened = open_output(written_as_, how);
    file_ = std::move(opened.file);
    if (rotates() && file_) {  // so that no other process takes it for one that was left
        static_cast<void>(::flock(file_.get(), LOCK_EX | LOCK_NB) == 0);
    }
    whole_octets_ = opened.at;
    return static_cast<bool>(file_);
}

void FileTransport::advance(std::chrono::nanoseconds now) noexcept {
    last_now_ = now;
    if (!told_) {
        told_ = true;
        opened_at_ = now;
        events_.tell(CollectorEventKind::connected, now, {});
        if (!former_.empty()) {
            events_.tell(CollectorEventKind::former_file, now, "its file is now " + former_);
        }
    }
    if (!rotates()) {
        return;
    }
    tell_failures(now);
    const bool is_time = rotation_.interval.count() > 0 && now - opened_at_ >= rotation_.interval;
    if (is_time && whole_octets_ > 0 && !failed_) {
        rotate(now);
    }
}

/// Files that a run which was killed had not finished.
void FileTransport::finish_former_parts() {
    for (const std::string& part : parts_of(path_)) {
        finisher_->add({.written_as = part,
                        .name = part.substr(0, part.size() - std::strlen(kPartSuffix)),
                        .sync = rotation_.sync,
                        .command = rotation_.command,
                        .is_former = true});
    }
}

void FileTransport::hand_to_finisher() {
    if (FileDescriptor whole = std::exchange(file_, FileDescriptor())) {
        finisher_->add({.written_as = written_as_,
                        .name = name_,
                        .sync = rotation_.sync,
                        .command = rotation_.command,
                        .lock = std::move(whole)});
    }
}

void FileTransport::rotate(std::chrono::nanoseconds now) {
    hand_to_finisher();
    name_file();
    opened_at_ = now;
    ++session_;
    if (!open_file()) {
        fail(errno, now);
    }
}

void FileTransport::tell_failures(std::chrono::nanoseconds now) {
    for (std::string note = finisher_->take_note(); !note.empty(); note = finisher_->take_note()) {
        events_.tell(CollectorEventKind::former_file, now, note);
    }
    for (std::string failure = finisher_->take_failure(); !failure.empty();
         failure = finisher_->take_failure()) {
        events_.tell(CollectorEventKind::file_not_finished, now, failure);
    }
}

bool FileTransport::is_full_for(MessageView message) const noexcept {
    return rotates() && rotation_.octets > 0 && whole_octets_ > 0 &&
           static_cast<std::uint64_t>(whole_octets_) + message.size() > rotation_.octets;
}

SendResult FileTransport::send(std::span<const MessageView> messages,
                               std::chrono::nanoseconds now) noexcept {
    std::size_t taken = 0;
    for (; taken < messages.size(); ++taken) {
        if (is_full_for(messages[taken])) {
            rotate(now);
            written_ += taken;
            return {.taken = taken, .rest = failed_ ? SendStatus::lost : SendStatus::would_block};
        }
        if (const SendStatus status = write(messages[taken], now); status != SendStatus::taken) {
            written_ += taken;
            return {.taken = taken, .rest = status};
        }
    }
    written_ += taken;
    return {.taken = taken, .rest = SendStatus::taken};
}

SendStatus FileTransport::write(MessageView message, std::chrono::nanoseconds now) noexcept {
    while (sent_octets_ < message.size() && !failed_) {
        const MessageView rest = message.subspan(sent_octets_);
        const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0 && errno == EAGAIN) {
            return SendStatus::would_block;
        }
        if (written <= 0) {
            fail(written == 0 ? ENOSPC : errno, now);
            return SendStatus::lost;
        }
        sent_octets_ += static_cast<std::size_t>(written);
    }
    if (failed_) {
        return SendStatus::lost;
    }
    sent_octets_ = 0;
    whole_octets_ += static_cast<off_t>(message.size());
    return SendStatus::taken;
}

void FileTransport::fail(int cause, std::chrono::nanoseconds now) noexcept {
    failed_ = true;
    if (file_) {
        // What cannot be cut back is no regular file, and then there is nothing to repair.
        static_cast<void>(::ftruncate(file_.get(), whole_octets_) == 0);
    }
    events_.tell(CollectorEventKind::write_failed, now, words_for(cause));
}

Fates FileTransport::settle(std::chrono::nanoseconds) noexcept {
    return {.delivered = std::exchange(written_, 0), .refused = 0};
}

}  // namespace tributary
