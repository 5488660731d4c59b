// SPDX-License-Identifier: Apache-2.0
#include "export/spool.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <type_traits>

#include "export/spool_file.hpp"

namespace tributary {
namespace {

constexpr std::uint64_t kFileMagic = 0x3230'4C50'5342'5254;  // "TRBSPL02" on disk
constexpr std::uint32_t kFrameMagic = 0x454D'5246;           // "FRME"
constexpr std::uint32_t kMostOctets = 65'535;                // of an IPFIX message
constexpr std::uint32_t kMostEntries = 65'535;

/// Spools are read where they were written, so all is in host byte order.
struct FileHeader {
    std::uint64_t magic = kFileMagic;
    std::uint64_t fingerprint{};
};

}  // namespace

/// What a frame begins with; the accounts of its records and the message follow.
struct Spool::Frame {
    std::uint32_t magic = kFrameMagic;
    std::uint32_t is_done{};           ///< the one thing that changes
    std::uint64_t checksum{};          ///< of what follows in this header
    std::uint64_t entries_checksum{};  ///< of the accounts of its records
    std::uint64_t octets_checksum{};   ///< of the message
    std::uint32_t octets{};
    std::uint32_t entries{};
    std::uint32_t data_records{};
    std::uint32_t padding{};
    std::int64_t latest_end{};  ///< nanoseconds since 1970
    RecordTally tally;          ///< of its records

    static constexpr std::size_t kChecked = 16;  ///< the checksum is of all from here on

    [[nodiscard]] std::uint64_t payload() const noexcept {
        return std::uint64_t{entries} * sizeof(RecordEntry) + octets;
    }
    [[nodiscard]] std::uint64_t size() const noexcept { return sizeof(Frame) + payload(); }
    [[nodiscard]] std::uint64_t header_checksum() const noexcept {
        const auto header = std::as_bytes(std::span(this, 1)).subspan(kChecked);
        return XXH3_64bits(header.data(), header.size());
    }
};

Spool::Spool(const SpoolOptions& options, std::uint64_t fingerprint)
    : directory_(options.directory),
      max_octets_(options.max_octets),
      segment_octets_(options.max_octets / kFiles),
      fingerprint_(fingerprint) {
    static_assert(sizeof(Frame) == 80 && std::is_trivially_copyable_v<RecordEntry>);
    std::error_code fault;
    std::filesystem::create_directories(directory_, fault);
    if (!fault) {
        lock();
        inherit(fault);
    }
    if (fault) {
        throw ExportError("spool " + directory_ + ": " + fault.message());
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
                          (errno == EWOULDBLOCK ? "another process uses it" : words_for(errno)));
    }
}

void Spool::inherit(std::error_code& fault) {
    for (std::filesystem::directory_iterator entry(directory_, fault);
         !fault && entry != std::filesystem::directory_iterator(); entry.increment(fault)) {
        if (const auto number = spool_file_number(entry->path().filename().string())) {
            inherit_file(*number, entry->path().string());
        }
    }
}

void Spool::inherit_file(std::uint64_t number, const std::string& path) {
    Segment segment;
    segment.path = path;
    segment.is_inherited = true;
    segment.file = FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!segment.file) {
        throw ExportError("spool " + path + ": " + words_for(errno));
    }
    next_number_ = std::max(next_number_, number + 1);
    FileHeader header;
    if (!read_at(segment.file.get(), header, 0) || header.magic != kFileMagic) {
        ++damaged_;  // nobody knows whose it is: it stays
        return;
    }
    segment.is_usable = header.fingerprint == fingerprint_;
    segment.read_at = segment.octets = sizeof header;
    const bool is_whole = scan(segment);
    damaged_ += is_whole ? 0 : 1;
    const auto placed = segments_.emplace(number, std::move(segment)).first;
    remove_if_done(placed);
}

/// Finds the frames of a file that a former process has left. @return  it ends behind one
bool Spool::scan(Segment& segment) const {
    struct stat status {};
    if (::fstat(segment.file.get(), &status) != 0) {
        return false;
    }
    const auto octets = static_cast<std::uint64_t>(status.st_size);
    Frame frame;
    while (segment.octets < octets && read_frame(segment, segment.octets, frame) &&
           segment.octets + frame.size() <= octets) {
        const bool all_done = segment.read_at == segment.octets && frame.is_done != 0;
        segment.octets += frame.size();
        segment.read_at = all_done ? segment.octets : segment.read_at;
    }
    return segment.octets == octets;
}

bool Spool::read_frame(const Segment& segment, std::uint64_t at, Frame& frame) const {
    return read_at(segment.file.get(), frame, at) && frame.magic == kFrameMagic &&
           frame.checksum == frame.header_checksum() && frame.octets <= kMostOctets &&
           frame.entries <= kMostEntries;
}

bool Spool::has_untaken() const noexcept {
    return std::ranges::any_of(segments_, [](const auto& each) {
        return each.second.is_usable && each.second.read_at < each.second.octets;
    });
}

bool Spool::has_room_for(const OutgoingMessage& message) const noexcept {
    const std::uint64_t size =
        sizeof(Frame) + message.entries.size() * sizeof(RecordEntry) + message.octets.size();
    return octets() + sizeof(FileHeader) + size <= max_octets_;
}

std::uint64_t Spool::octets() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& [number, segment] : segments_) {
        sum += segment.octets;
    }
    return sum;
}

bool Spool::begin_segment() noexcept {
    const std::string path = directory_ + "/" + spool_file_name(next_number_);
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
    const FileHeader header{.fingerprint = fingerprint_};
    if (!file || !write_at(file.get(), std::as_bytes(std::span(&header, 1)), 0)) {
        const int cause = errno;
        static_cast<void>(::unlink(path.c_str()) == 0);
        errno = cause;
        return false;
    }
    writing_ = next_number_++;
    Segment& segment = segments_[writing_];
    segment.file = std::move(file);
    segment.path = path;
    segment.read_at = segment.octets = sizeof header;
    return true;
}

bool Spool::append(OutgoingMessage& message, bool stays_in_memory) noexcept {
    auto current = segments_.find(writing_);
    if (current == segments_.end() || current->second.octets >= segment_octets_ ||
        is_removed(current->second.file.get())) {
        if (!begin_segment()) {
            return false;
        }
        current = segments_.find(writing_);
    }
    Segment& segment = current->second;
    Frame frame;
    frame.octets = static_cast<std::uint32_t>(message.octets.size());
    frame.entries = static_cast<std::uint32_t>(message.entries.size());
    frame.data_records = message.data_records;
    frame.latest_end = message.latest_end.time_since_epoch().count();
    frame.octets_checksum = XXH3_64bits(message.octets.data(), message.octets.size());
    for (const RecordEntry& entry : message.entries) {
        frame.tally += entry.tally();
    }
    buffer_.resize(frame.size());
    std::byte* out = buffer_.data() + sizeof frame;
    std::memcpy(out, message.entries.data(), frame.payload() - frame.octets);
    std::memcpy(out + frame.payload() - frame.octets, message.octets.data(), frame.octets);
    frame.entries_checksum = XXH3_64bits(out, frame.payload() - frame.octets);
    frame.checksum = frame.header_checksum();
    std::memcpy(buffer_.data(), &frame, sizeof frame);
    if (!write_at(segment.file.get(), buffer_, segment.octets)) {
        const int cause = errno;
        static_cast<void>(::ftruncate(segment.file.get(), static_cast<off_t>(segment.octets)) == 0);
        errno = cause;
        return false;
    }
    message.place = SpoolPlace{.file = writing_, .at = segment.octets};
    segment.octets += frame.size();
    if (stays_in_memory) {
        segment.read_at = segment.octets;
        ++segment.taken;
    }
    return true;
}

std::optional<OutgoingMessage> Spool::take() {
    std::optional<OutgoingMessage> message;
    for (auto segment = segments_.begin(); segment != segments_.end() && !message;) {
        const auto next = std::next(segment);
        message = take_from(segment->first, segment->second);
        remove_if_done(segment);  // what was damaged in it is in nobody's hands
        segment = next;
    }
    return message;
}

/// The first message of a file that is not done and can be read.
std::optional<OutgoingMessage> Spool::take_from(std::uint64_t number, Segment& segment) {
    while (segment.is_usable && segment.read_at < segment.octets) {
        const std::uint64_t at = segment.read_at;
        Frame frame;
        if (!read_frame(segment, at, frame)) {
            ++damaged_;
            segment.read_at = segment.octets;  // where the next frame begins nobody knows
            break;
        }
        segment.read_at += frame.size();
        OutgoingMessage message;
        if (frame.is_done == 0 && read_message(segment, frame, at, message)) {
            ++segment.taken;
            message.place = SpoolPlace{.file = number, .at = at};
            return message;
        }
        if (frame.is_done == 0) {
            ++damaged_;
            Account account;
            static_cast<void>(read_account(segment, frame, at, account));
            lost_.push_back(std::move(account));
        }
    }
    segment.read_at = std::min(segment.read_at, segment.octets);
    return std::nullopt;
}

bool Spool::read_message(const Segment& segment, const Frame& frame, std::uint64_t at,
                         OutgoingMessage& message) const {
    Account account;
    if (!read_account(segment, frame, at, account)) {
        return false;
    }
    message.octets.resize(frame.octets);
    const std::uint64_t octets_at = at + frame.size() - frame.octets;
    if (::pread(segment.file.get(), message.octets.data(), frame.octets,
                static_cast<off_t>(octets_at)) != static_cast<ssize_t>(frame.octets) ||
        XXH3_64bits(message.octets.data(), frame.octets) != frame.octets_checksum) {
        return false;
    }
    message.entries = std::move(account.entries);
    message.inherited = segment.is_inherited ? account.tally : RecordTally{};
    message.data_records = frame.data_records;
    message.latest_end = Timestamp{std::chrono::nanoseconds{frame.latest_end}};
    return true;
}

/// @return  false: it is damaged, and `account` empty
bool Spool::read_account(const Segment& segment, const Frame& frame, std::uint64_t at,
                         Account& account) const {
    account.tally = frame.tally;
    if (segment.is_inherited) {
        return true;  // who they are means nothing here
    }
    const std::size_t size = frame.entries * sizeof(RecordEntry);
    account.entries.resize(frame.entries);
    if (::pread(segment.file.get(), account.entries.data(), size,
                static_cast<off_t>(at + sizeof frame)) != static_cast<ssize_t>(size) ||
        XXH3_64bits(account.entries.data(), size) != frame.entries_checksum) {
        account = {};
        return false;
    }
    return true;
}

void Spool::done(const SpoolPlace& place) noexcept {
    const auto segment = segments_.find(place.file);
    if (segment == segments_.end()) {
        return;  // given up meanwhile
    }
    const std::uint32_t is_done = 1;
    static_cast<void>(write_at(segment->second.file.get(), std::as_bytes(std::span(&is_done, 1)),
                               place.at + offsetof(Frame, is_done)));
    --segment->second.taken;
    remove_if_done(segment);
}

void Spool::remove_if_done(Segments::iterator segment) noexcept {
    if (segment->second.taken == 0 && segment->second.read_at >= segment->second.octets) {
        remove(segment);
    }
}

void Spool::remove(Segments::iterator segment) noexcept {
    static_cast<void>(::unlink(segment->second.path.c_str()) == 0);
    writing_ = segment->first == writing_ ? 0 : writing_;
    segments_.erase(segment);
}

void Spool::drop_oldest(const AccountHandler& handler) {
    if (!segments_.empty()) {
        visit(segments_.begin()->second, handler);
        remove(segments_.begin());
    }
}

bool Spool::is_kept(const SpoolPlace& place) const noexcept {
    const auto segment = segments_.find(place.file);
    return segment != segments_.end() && !is_removed(segment->second.file.get());
}

void Spool::drop_unusable(const AccountHandler& handler) {
    drop_if([](const Segment& segment) { return !segment.is_usable; }, handler);
}

void Spool::drop_removed(const AccountHandler& handler) {
    drop_if([](const Segment& segment) { return is_removed(segment.file.get()); }, handler);
}

template <class Predicate>
void Spool::drop_if(Predicate is_to_go, const AccountHandler& handler) {
    for (auto segment = segments_.begin(); segment != segments_.end();) {
        const auto next = std::next(segment);
        if (is_to_go(segment->second)) {
            visit(segment->second, handler);
            remove(segment);
        }
        segment = next;
    }
}

void Spool::visit_untaken(const AccountHandler& handler) {
    for (const auto& [number, segment] : segments_) {
        visit(segment, handler);
    }
}

void Spool::visit(const Segment& segment, const AccountHandler& handler) const {
    Frame frame;
    for (std::uint64_t at = segment.read_at; at < segment.octets && read_frame(segment, at, frame);
         at += frame.size()) {
        Account account{.tally = frame.tally, .entries = {}};
        if (frame.is_done == 0 && read_account(segment, frame, at, account)) {
            handler(account);
        }
    }
}

}  // namespace tributary
