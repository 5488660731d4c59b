// SPDX-License-Identifier: Apache-2.0
#include "export/spool/spool.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <random>
#include <span>
#include <system_error>

#include "export/spool/spool_file.hpp"
#include "export/transport/file_octets.hpp"
#include "export/transport/rename_file.hpp"

namespace tributary {
namespace {

std::uint64_t random_seed() {
    std::random_device random;
    return std::uint64_t{random()} << 32U | random();
}

/// Opens a regular file. Another kind of file with such a name is not a spool's.
FileDescriptor open_file(const std::string& path) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        throw ExportError("spool " + path + ": " + words_for(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        throw ExportError("spool " + path + ": is not a regular file");
    }
    return file;
}

/// Whether a file is too short for a record, and does not begin as a spool's file does: it can be
/// removed without a loss.
bool is_foreign(const FileDescriptor& file) {
    struct stat status {};
    SpoolFileHeader header;
    return ::fstat(file.get(), &status) == 0 && read_at(file.get(), header, 0) &&
           !header.is_known() &&
           static_cast<std::uint64_t>(status.st_size) < sizeof header + sizeof(SpoolFrame);
}

/// The process that has locked a file and has written its number there, if that is sure: a process
/// of that number runs, and it has had the time to write it.
std::string user_of(const FileDescriptor& lock) {
    constexpr std::size_t kDigits = 10;
    std::array<char, kDigits> text{};
    const ssize_t octets = ::pread(lock.get(), text.data(), text.size(), 0);
    pid_t pid = 0;
    if (octets > 0) {
        std::from_chars(text.data(), text.data() + octets, pid);
    }
    const bool is_running = pid > 0 && (::kill(pid, 0) == 0 || errno == EPERM);
    return is_running ? "process " + std::to_string(pid) : "another process";
}

}  // namespace

Spool::Spool(const SpoolOptions& options, const SpoolContent& content)
    : directory_(options.directory),
      max_octets_(options.max_octets),
      segment_octets_(options.max_octets / kFiles),
      content_(content),
      seed_(random_seed()) {
    try {
        std::filesystem::create_directories(directory_);
        lock();
        inherit();
    } catch (const std::filesystem::filesystem_error& fault) {
        throw ExportError("spool " + directory_ + ": " + fault.code().message());
    }
}

Spool::~Spool() = default;

void Spool::lock() {
    const std::string path = directory_ + "/lock";
    lock_ = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
    if (!lock_) {
        throw ExportError("spool " + path + ": " + words_for(errno));
    }
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
        throw ExportError("spool " + directory_ + ": " +
                          (errno == EWOULDBLOCK ? user_of(lock_) + " uses it" : words_for(errno)));
    }
    // For that message of another process. A disk that refuses it costs only the message.
    const std::string pid = std::to_string(::getpid()) + "\n";
    const bool is_written =
        ::ftruncate(lock_.get(), 0) == 0 &&
        write_at(lock_.get(), std::as_bytes(std::span(pid.data(), pid.size())), 0);
    static_cast<void>(is_written);
}

void Spool::inherit() {
    for (const std::string& name : spool_files_in(directory_)) {
        inherit_file(name);
    }
    estimate_damage();
}

void Spool::inherit_file(const std::string& name) {
    FileDescriptor file = open_file(directory_ + "/" + name);
    if (is_foreign(file)) {
        ++damaged_;
        const std::uint64_t number = spool_file_number(name).value_or(0);
        if (name == spool_file_name(number) && number <= kMostSpoolFile) {
            next_number_ = std::max(next_number_, number + 1);
        }
        return;
    }
    std::string known_as = name;
    give_it_a_number(known_as);
    const std::uint64_t number = spool_file_number(known_as).value_or(0);
    next_number_ = std::max(next_number_, number + 1);
    const auto placed =
        segments_
            .emplace(number, SpoolSegment(std::move(file), directory_ + "/" + known_as, content_))
            .first;
    const SpoolScan& scan = placed->second.scan();
    if (scan.cut != RecordTally{}) {
        lost_.push_back({.tally = scan.cut, .ranges = scan.cut_ranges, .is_damaged = true});
    }
    scan_.damages += scan.damages;
    scan_.damaged_octets += scan.damaged_octets;
    scan_.whole_octets += scan.whole_octets;
    scan_.whole += scan.whole;
}

void Spool::adopt() noexcept {
    for (auto segment = segments_.begin(); segment != segments_.end();) {
        const auto next = std::next(segment);
        segment->second.adopt();
        remove_if_done(segment);
        segment = next;
    }
}

RecordTally Spool::inherited() const noexcept {
    RecordTally sum;
    for (const auto& [number, segment] : segments_) {
        sum += segment.inherited();
    }
    return sum;
}

/// Gives a file the next number, if its name is not one of tributary's.
void Spool::give_it_a_number(std::string& name) {
    const std::uint64_t number = spool_file_number(name).value_or(0);
    if (number > 0 && number <= kMostSpoolFile && name == spool_file_name(number)) {
        return;
    }
    const std::string path = directory_ + "/" + name;
    const auto rename = [&] {
        name = spool_file_name(next_number_);
        return rename_without_replacing(path, directory_ + "/" + name);
    };
    int refusal = rename();
    for (; refusal == EEXIST; refusal = rename()) {
        ++next_number_;
    }
    if (refusal != 0) {
        throw ExportError("spool " + path + ": cannot be renamed " + name + ": " +
                          words_for_rename(refusal));
    }
}

/// Makes an account of records that former processes' files have lost, and whose number is unknown.
/// It is estimated: as many as the same octets hold elsewhere in the spool.
void Spool::estimate_damage() {
    if (scan_.damaged_octets == 0) {
        return;
    }
    constexpr std::size_t kUsualIpv4 = 50;  // of a record in its message
    const double usual_octets = static_cast<double>(
        sizeof(RecordEntry) + (content_.record_bytes() > 0 ? content_.record_bytes() : kUsualIpv4));
    constexpr double kMost = 0x1p62;  // whatever number is in a header
    const auto known = static_cast<double>(scan_.whole.records);
    const double octets =
        known > 0 ? static_cast<double>(scan_.whole_octets) / known : usual_octets;
    const double records = std::max(1.0, static_cast<double>(scan_.damaged_octets) / octets + 0.5);
    const auto share = [&](std::uint64_t of_known) {
        const double each = known > 0 ? static_cast<double>(of_known) / known : 0;
        return static_cast<std::uint64_t>(std::min(records * each, kMost));
    };
    lost_.push_back({.tally = {static_cast<std::uint64_t>(records), share(scan_.whole.packets),
                               share(scan_.whole.octets)},
                     .is_damaged = true,
                     .is_estimate = true});
}

bool Spool::has_untaken() const noexcept {
    return std::ranges::any_of(segments_, [](const auto& each) {
        return each.second.is_usable() && each.second.has_untaken();
    });
}

bool Spool::has_room_for(const OutgoingMessage& message) const noexcept {
    // An upper bound: each record has a SpoolRange of its own at most.
    const std::uint64_t ranges = content_.has_numbers() ? message.data_records : 0;
    const std::uint64_t entries = message.entries.size() + message.inherited.records + ranges;
    const std::uint64_t size =
        sizeof(SpoolFrame) + SpoolFrame::payload_of(entries, message.octets.size());
    return octets() + sizeof(SpoolFileHeader) + size <= max_octets_;
}

std::uint64_t Spool::octets() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& [number, segment] : segments_) {
        sum += segment.octets();
    }
    return sum;
}

std::uint64_t Spool::damaged() const noexcept {
    std::uint64_t sum = damaged_;
    for (const auto& [number, segment] : segments_) {
        sum += segment.damaged();
    }
    return sum;
}

/// @return  false: see errno
bool Spool::begin_segment() noexcept {
    std::string path;
    bool is_created = false;
    try {
        path = directory_ + "/" + spool_file_name(next_number_);
        FileDescriptor file = create_file(path);
        is_created = static_cast<bool>(file);
        if (is_created) {
            // Files far apart, so that no two places have the same seed.
            segments_.emplace(next_number_, SpoolSegment(std::move(file), path, content_,
                                                         seed_ + (next_number_ << 40U)));
            writing_ = next_number_++;
        }
    } catch (const std::bad_alloc&) {
        if (is_created) {
            static_cast<void>(::unlink(path.c_str()) == 0);
        }
        errno = ENOMEM;
        return false;
    }
    return is_created;
}

/// @return  nothing: see errno, and no file is left
FileDescriptor Spool::create_file(const std::string& path) noexcept {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
    const SpoolFileHeader header = content_.header();
    if (!file || !write_at(file.get(), std::as_bytes(std::span(&header, 1)), 0)) {
        const int cause = errno;
        if (file) {
            static_cast<void>(::unlink(path.c_str()) == 0);
        } else if (cause == EEXIST) {
            ++next_number_;  // it came after the start: it is the next process's
        }
        file = FileDescriptor();
        errno = cause;
    }
    return file;
}

bool Spool::append(OutgoingMessage& message, bool stays_in_memory) noexcept {
    auto current = segments_.find(writing_);
    if (current == segments_.end() || current->second.octets() >= segment_octets_ ||
        current->second.is_removed()) {
        if (!begin_segment()) {
            return false;
        }
        current = segments_.find(writing_);
    }
    const std::uint64_t at = current->second.octets();
    if (!current->second.append(message, stays_in_memory, keeps_numbers_)) {
        return false;
    }
    message.place = SpoolPlace{.file = writing_, .at = at};
    return true;
}

bool Spool::shorten(const SpoolPlace& place, const OutgoingMessage& rest) noexcept {
    const auto segment = segments_.find(place.file);
    return segment != segments_.end() && segment->second.shorten(place.at, rest);
}

std::optional<OutgoingMessage> Spool::take() {
    std::optional<OutgoingMessage> message;
    for (auto segment = segments_.begin(); segment != segments_.end() && !message;) {
        const auto next = std::next(segment);
        if (segment->second.is_usable()) {
            message = segment->second.take(segment->first, lost_);
        }
        remove_if_done(segment);  // its damaged records were given up
        segment = next;
    }
    return message;
}

void Spool::done(const SpoolPlace& place) noexcept {
    const auto segment = segments_.find(place.file);
    if (segment != segments_.end()) {  // else it was given up meanwhile
        segment->second.done(place.at);
        remove_if_done(segment);
    }
}

void Spool::remove_if_done(Segments::iterator segment) noexcept {
    if (segment->second.is_done()) {
        remove(segment);
    }
}

void Spool::remove(Segments::iterator segment) noexcept {
    segment->second.remove();
    damaged_ += segment->second.damaged();
    writing_ = segment->first == writing_ ? 0 : writing_;
    segments_.erase(segment);
}

void Spool::drop_oldest(const AccountHandler& handler) {
    if (!segments_.empty()) {
        segments_.begin()->second.visit(handler);
        remove(segments_.begin());
    }
}

bool Spool::is_kept(const SpoolPlace& place) const noexcept {
    const auto segment = segments_.find(place.file);
    return segment != segments_.end() && !segment->second.is_removed();
}

void Spool::drop_unusable(const AccountHandler& handler) {
    const auto of_unknown = [&handler](const Account& account) {
        Account damaged = account;
        damaged.is_damaged = true;
        handler(damaged);
    };
    drop_if(
        [](const SpoolSegment& segment) {
            return segment.origin() == SpoolSegment::Origin::unknown;
        },
        of_unknown);
    drop_if([](const SpoolSegment& segment) { return !segment.is_usable(); }, handler);
}

void Spool::drop_removed(const AccountHandler& handler) {
    drop_if([](const SpoolSegment& segment) { return segment.is_removed(); }, handler);
}

template <class Predicate>
void Spool::drop_if(Predicate is_to_go, const AccountHandler& handler) {
    for (auto segment = segments_.begin(); segment != segments_.end();) {
        const auto next = std::next(segment);
        if (is_to_go(segment->second)) {
            segment->second.visit(handler);
            remove(segment);
        }
        segment = next;
    }
}

void Spool::visit_untaken(const AccountHandler& handler) {
    for (auto& [number, segment] : segments_) {
        segment.visit(handler);
    }
}

}  // namespace tributary
