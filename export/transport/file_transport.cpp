// SPDX-License-Identifier: Apache-2.0
#include "export/transport/file_transport.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "export/transport/file_names.hpp"
#include "export/transport/file_octets.hpp"
#include "export/transport/former_part.hpp"
#include "export/transport/rename_file.hpp"

namespace tributary {
namespace {

/// Why a file cannot be written.
std::string words_for_refusal(const std::string& path, int error) {
    if (error == ENXIO) {
        return kFifoWithoutReader;
    }
    if (error == ETXTBSY) {
        const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        return "another process writes it" + (file ? locking_process(file.get()) : std::string());
    }
    return std::string("cannot be created: ") + words_for(error);
}

/// Finishes the files of a run with rotation that was killed. @return  lines for the log
std::vector<std::string> finish_parts_at_once(const std::string& path) {
    std::vector<std::string> lines;
    for (const std::string& part : parts_of(path)) {
        const FormerPart former = mend_former_part(part);
        const std::string name = part.substr(0, part.size() - std::strlen(kPartSuffix));
        const int refusal = former.is_whole ? rename_without_replacing(part, name) : 0;
        lines.push_back(refusal == 0 ? former.note + former.failure
                                     : part + " cannot be renamed: " + words_for_rename(refusal));
    }
    std::erase(lines, std::string());  // its own process had finished it
    return lines;
}

}  // namespace

FileTransport::FileTransport(const CollectorOptions& collector, CollectorEvents& events)
    : events_(events),
      path_(collector.path),
      rotation_(collector.rotation),
      replaces_(collector.replaces_file) {
    std::vector<std::string> parts;
    if (rotation_.is_on()) {
        finisher_ = std::make_unique<FileFinisher>();
        parts = parts_of(path_);
        refuse_other_writer(path_, parts, {});
    } else if (!replaces_) {
        former_ = finish_parts_at_once(path_);
        if (const std::string aside = move_former_file_aside(path_); !aside.empty()) {
            former_.push_back("its file is now " + aside);
        }
    }
    NewFile first = create_first_file();
    // For standard output, or a file that a user names for one run, the program that reads it
    // decides.
    const bool is_own = !replaces_ && path_ != "/dev/stdout";
    no_room_ = is_own ? errno_of_room(first.opened.file.get()) : 0;
    begin(first);
    if (rotates()) {
        finish_former_parts(parts);
    }
}

/// @errors  ExportError
FileTransport::NewFile FileTransport::create_first_file() {
    NewFile first = create_file();
    if (!first.opened.file) {
        const int error = errno;
        throw ExportError(first.written_as + ": " + words_for_refusal(first.written_as, error));
    }
    if (rotates()) {
        try {
            refuse_other_writer(path_, parts_of(path_), first.written_as);
        } catch (const ExportError&) {
            ::unlink(first.written_as.c_str());
            throw;
        }
    }
    return first;
}

FileTransport::~FileTransport() {
    if (rotates()) {
        hand_to_finisher();
        finisher_->end();
        log_failures(last_now_);
    }
}

/// Finds a name that no file has, nor had in this run: a command may have moved the file away.
/// Files of one second differ by a number.
FileTransport::NewFile FileTransport::name_file() {
    if (!rotates()) {
        return {.written_as = path_, .to_finish = {}, .opened = {}};
    }
    // A clock that was put back does not count.
    if (const std::string now = utc_text(std::time(nullptr)); now > time_) {
        time_ = now;
        number_ = 0;
    }
    for (;;) {
        ++number_;
        const std::string name = dated_name(path_, time_, number_);
        const std::string written_as = name + kPartSuffix;
        // In this order: a file that is just being renamed has one of the names at each test.
        std::error_code unknown;  // opening it reports why
        if (!std::filesystem::exists(written_as, unknown) &&
            !std::filesystem::exists(name, unknown)) {
            NewFile named{.written_as = written_as, .to_finish = {}, .opened = {}};
            named.to_finish.push_back({.written_as = written_as,
                                       .name = name,
                                       .sync = rotation_.sync,
                                       .command = rotation_.command});
            return named;
        }
    }
}

/// Creates the next file; without `file` see errno.
///
/// @errors  std::bad_alloc: there is none, and the present one goes on
FileTransport::NewFile FileTransport::create_file() {
    // A file of a rotation is new, or another process's. Neither opening nor writing may wait for
    // the reader of a FIFO.
    const int how = rotates() ? O_EXCL : replaces_ ? O_TRUNC | O_NONBLOCK : O_NONBLOCK;
    for (;;) {
        NewFile next = name_file();
        next.opened = open_output(next.written_as, how);
        if (!rotates() && !replaces_ && next.opened.file &&
            !lock_file(next.opened.file.get())) {  // begun since the test
            next.opened.file = {};
            errno = ETXTBSY;
        }
        const bool is_taken =
            rotates() &&
            (next.opened.file ? !claim_new_part(next.opened.file.get(), next.written_as)
                              : errno == EEXIST);
        if (!is_taken) {
            return next;
        }
    }
}

void FileTransport::begin(NewFile& next) noexcept {
    file_ = std::move(next.opened.file);
    whole_octets_ = next.opened.at;
    to_finish_.swap(next.to_finish);
}

void FileTransport::advance(std::chrono::nanoseconds now) noexcept {
    last_now_ = now;
    if (!told_) {
        told_ = true;
        opened_at_ = now;
        if (no_room_ != 0) {
            fail(no_room_, now);
        } else {
            events_.report(CollectorEventKind::connected, now, {});
        }
        for (const std::string& line : former_) {
            events_.report(CollectorEventKind::former_file, now, line);
        }
    }
    if (!rotates()) {
        return;
    }
    log_failures(now);
    const bool is_time = rotation_.interval.count() > 0 && now - opened_at_ >= rotation_.interval;
    if (is_time && whole_octets_ > 0 && !failed_) {
        rotate(now);
    }
}

/// Files that a run which was killed had not finished.
void FileTransport::finish_former_parts(const std::vector<std::string>& parts) {
    std::list<FinishedFile> files;
    for (const std::string& part : parts) {
        files.push_back({.written_as = part,
                         .name = part.substr(0, part.size() - std::strlen(kPartSuffix)),
                         .sync = rotation_.sync,
                         .command = rotation_.command,
                         .is_former = true});
    }
    finisher_->add(files);
}

void FileTransport::hand_to_finisher() noexcept {
    if (file_ && whole_octets_ == 0) {  // a full disk: an empty file gets no name, and no command
        const char* const part = to_finish_.front().written_as.c_str();
        if (is_file_at(part, file_.get())) {
            ::unlink(part);
        }
        file_ = {};
    } else if (file_) {
        to_finish_.front().lock = std::exchange(file_, FileDescriptor());
        finisher_->add(to_finish_);
    }
}

/// Ends the file and begins the next one, which is a session of its own. Without a descriptor or
/// memory the file goes on, and a later call tries again.
void FileTransport::rotate(std::chrono::nanoseconds now) noexcept {
    if (now < rotates_after_) {
        return;
    }
    NewFile next;
    try {
        next = create_file();
    } catch (const std::bad_alloc&) {
        return;
    }
    const int cause = errno;
    if (!next.opened.file && may_be_had_later(cause)) {
        rotates_after_ = now + kRotateAgainAfter;
        events_.report(CollectorEventKind::rotation_delayed, now, words_for(cause));
        return;
    }
    hand_to_finisher();
    opened_at_ = now;
    ++session_;
    if (next.opened.file) {
        begin(next);
    } else {
        fail(cause, now);
    }
}

/// The memory of the lines is from the finisher's thread.
void FileTransport::log_failures(std::chrono::nanoseconds now) noexcept {
    for (std::string note = finisher_->take_note(); !note.empty(); note = finisher_->take_note()) {
        events_.report(CollectorEventKind::former_file, now, note);
    }
    for (FileFinisher::Failure failure = finisher_->take_failure(); !failure.text.empty();
         failure = finisher_->take_failure()) {
        events_.report(CollectorEventKind::file_not_finished, now, failure.text, failure.is_news);
    }
}

bool FileTransport::is_full_for(MessageView message) const noexcept {
    return rotates() && rotation_.octets > 0 && whole_octets_ > 0 &&
           static_cast<std::uint64_t>(whole_octets_) + message.size() > rotation_.octets;
}

SendResult FileTransport::send(std::span<const MessageView> messages,
                               std::chrono::nanoseconds now) noexcept {
    std::size_t taken = 0;
    const std::uint64_t session = session_;
    for (; taken < messages.size(); ++taken) {
        if (is_full_for(messages[taken])) {
            rotate(now);
        }
        if (session_ != session) {
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
        // A file that cannot be cut back is no regular file, and then there is nothing to repair.
        static_cast<void>(::ftruncate(file_.get(), whole_octets_) == 0);
    }
    events_.report(CollectorEventKind::write_failed, now, words_for(cause));
}

SendOutcomes FileTransport::collect_outcomes(std::chrono::nanoseconds) noexcept {
    return {.delivered = std::exchange(written_, 0), .refused = 0};
}

}  // namespace tributary
