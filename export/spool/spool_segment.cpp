// SPDX-License-Identifier: Apache-2.0
#include "export/spool/spool_segment.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

#include "export/transport/file_octets.hpp"

namespace tributary {
namespace {

/// Room for one more and the rest, so that adding them needs no memory, not even after the first.
void make_room(std::vector<SpoolAccount>& accounts) {
    constexpr std::size_t kWanted = 1 + SpoolLedger::kMostRest;
    if (accounts.capacity() - accounts.size() < kWanted) {
        accounts.reserve(2 * accounts.size() + kWanted);
    }
}

/// The header of a message's frame; what says something of entries and content is not there yet.
SpoolFrame header_of(const OutgoingMessage& message) noexcept {
    SpoolFrame frame;
    frame.octets = static_cast<std::uint32_t>(message.octets.size());
    frame.data_records = message.data_records;
    frame.latest_end = message.latest_end.time_since_epoch().count();
    frame.octets_checksum = XXH3_64bits(message.octets.data(), message.octets.size());
    frame.tally = message.inherited;
    for (const RecordEntry& entry : message.entries) {
        frame.tally += entry.tally();
    }
    return frame;
}

/// Whether a frame takes the place of another one. Behind it is nothing, or room for a SpoolRest.
bool fits_in(const SpoolFrame& former, const SpoolFrame& frame) noexcept {
    return frame.size() == former.size() || frame.size() + sizeof(SpoolRest) <= former.size();
}

}  // namespace

SpoolSegment::SpoolSegment(FileDescriptor file, std::string path, const SpoolFingerprints& content,
                           std::uint64_t seed)
    : file_(std::move(file)),
      path_(std::move(path)),
      content_(&content),
      header_(content.header()),
      origin_(Origin::own),
      seed_(seed),
      is_adopted_(true) {}

SpoolSegment::SpoolSegment(FileDescriptor file, std::string path, const SpoolFingerprints& content)
    : file_(std::move(file)), path_(std::move(path)), content_(&content), origin_(Origin::former) {
    struct stat status {};
    octets_ = ::fstat(file_.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
    if (!read_at(file_.get(), header_, 0)) {
        header_ = {.magic = 0, .fingerprint = 0};
    }
    find_frames();
}

/// Finds the frames of a file that a former process has left. Octets behind the last frame are to
/// be cut off.
void SpoolSegment::find_frames() {
    const std::uint64_t size = octets_;
    std::uint64_t end = sizeof(SpoolFileHeader);
    std::optional<std::uint64_t> first_needed;
    std::optional<std::uint32_t> marked;  // the first frame, as this says
    SpoolFrame frame;
    for (std::uint64_t at = end; at < size && find_next(at, frame); end = at += frame.size()) {
        marked = marked.value_or(frame.content);
        note_frame(frame);
        if (is_needed(frame) && !first_needed) {
            first_needed = at;
        }
    }
    if (!header_.is_known()) {
        ++scan_.damages;
    }
    // A damaged header costs nothing if a frame has the same fingerprint.
    const bool frames_fit = marked && content_->layout_of_mark(*marked);
    if (!content_->reads_file(header_.fingerprint) && !frames_fit) {
        origin_ = header_.is_known() ? Origin::others : Origin::unknown;
    }
    damaged_ = scan_.damages;
    octets_ = end;
    read_at_ = first_needed.value_or(end);
    if (end < size) {
        cut_at_ = end;
    }
}

void SpoolSegment::adopt() noexcept {
    for (const auto& [from, end] : gaps_) {
        cover_spool_gap(file_.get(), from, end);
    }
    gaps_.clear();
    if (cut_at_) {
        // If the disk refuses the cut, the next process counts it again.
        static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(*cut_at_)) == 0);
        cut_at_.reset();
    }
    is_adopted_ = true;
}

/// Octets without a frame were found, and are counted.
void SpoolSegment::give_up_gap(std::uint64_t from, std::uint64_t end) {
    if (is_adopted_) {
        cover_spool_gap(file_.get(), from, end);
    } else {
        gaps_.emplace_back(from, end);
    }
}

void SpoolSegment::note_frame(const SpoolFrame& frame) {
    scan_.whole_octets += frame.size();
    scan_.whole += records_of(frame);
    if (is_needed(frame)) {
        ledger_.inherit(records_of(frame));
        unusable_ += layout_of(frame) ? RecordTally{} : records_of(frame);
    }
}

/// The layout of a frame's records, in a file that can be used. Nothing: it is none of today's.
std::optional<std::size_t> SpoolSegment::layout_of(const SpoolFrame& frame) const noexcept {
    if (frame.content == 0 && header_.magic == SpoolFileHeader::kFormerMagic) {
        return 0;
    }
    return content_->layout_of_mark(frame.content);
}

/// Finds the first frame from `at` on, behind damage if there is some.
///
/// @return  false: there is none
bool SpoolSegment::find_next(std::uint64_t& at, SpoolFrame& frame) {
    const auto is_good = [this](const SpoolFrame& header, std::uint64_t place) {
        return is_frame(header, place);
    };
    frame = {};  // the file may end within it
    if (at >= octets_ || (read_at(file_.get(), frame, at) && is_good(frame, at))) {
        return at < octets_;
    }
    const bool is_cut = frame.is_valid() && origin_ != Origin::own;
    if (is_cut && is_needed(frame)) {  // its header is there, and the file ends within it
        scan_.cut += records_of(frame);
        read_ranges(frame, at);
        scan_.cut_ranges.insert(scan_.cut_ranges.end(), ranges_.begin(), ranges_.end());
    }
    const SpoolGap gap =
        find_spool_frame(file_.get(), at, octets_, is_good,
                         [this](std::uint32_t mark) { return is_done_mark(mark); });
    const bool is_rest =
        origin_ != Origin::own && gap.octets == 0;  // of a message that got shorter
    const std::uint64_t damages = is_rest ? 0 : 1;
    damaged_ += at >= gaps_counted_to_ ? damages : 0;  // another read of an own file finds it again
    gaps_counted_to_ = std::max(gaps_counted_to_, gap.end);
    scan_.damages += damages;
    scan_.damaged_octets += is_cut ? 0 : gap.octets;
    if (gap.end < octets_ || origin_ == Origin::own) {  // else it is cut off
        give_up_gap(at, gap.end);
    }
    at = gap.end;
    return at < octets_ && read_at(file_.get(), frame, at) && is_frame(frame, at);
}

/// Whether a frame is at this place. In a file of this process: one that this process has written
/// there.
bool SpoolSegment::is_frame(const SpoolFrame& frame, std::uint64_t at) {
    if (!frame.is_valid() || at + frame.size() > octets_) {
        return false;
    }
    if (origin_ != Origin::own) {
        return true;  // the entries of a former process mean nothing here
    }
    entries_.resize(frame.entries);
    const auto octets = std::as_writable_bytes(std::span(entries_));
    const bool is_own =
        read_all_at(file_.get(), octets, at + sizeof frame) &&
        XXH3_64bits_withSeed(octets.data(), octets.size(), seed_ + at) == frame.entries_checksum;
    if (is_own) {
        take_ranges(frame);
    }
    return is_own;
}

/// Moves the ranges behind the entries to ranges_. If one is not as it was written, none is there.
void SpoolSegment::take_ranges(const SpoolFrame& frame) {
    ranges_.clear();
    bool are_good = true;
    for (std::size_t i = entries_.size() - frame.ranges(); i < entries_.size(); ++i) {
        const auto range = std::bit_cast<SpoolRange>(entries_[i]);
        are_good = are_good && range.checksum == range.checksum_in(frame);
        ranges_.push_back(range.numbers);
    }
    entries_.resize(entries_.size() - frame.ranges());
    if (!are_good) {
        ranges_.clear();
    }
}

/// The same in a former process's file.
void SpoolSegment::read_ranges(const SpoolFrame& frame, std::uint64_t at) {
    entries_.resize(frame.ranges());
    const auto octets = std::as_writable_bytes(std::span(entries_));
    const std::uint64_t ranges_at = at + sizeof frame + frame.tally.records * sizeof(RecordEntry);
    if (!read_all_at(file_.get(), octets, ranges_at)) {
        std::ranges::fill(entries_, RecordEntry{});  // no range has this checksum
    }
    take_ranges(frame);
}

/// Frames that this process has not taken are needed, whatever their mark is.
bool SpoolSegment::is_needed(const SpoolFrame& frame) const noexcept {
    return origin_ == Origin::own || !is_done_mark(frame.mark);
}

bool SpoolSegment::is_done_mark(std::uint32_t mark) const noexcept {
    return mark == SpoolFrame::kDone ||
           (mark == SpoolFrame::kDoneBefore && header_.has_former_marks());
}

/// A former process's frame without entries has the number of records in its header, one octet each
/// at the least.
RecordTally SpoolSegment::records_of(const SpoolFrame& frame) const noexcept {
    RecordTally tally = frame.tally;
    if (origin_ != Origin::own && tally.records == 0) {
        tally.records = std::min(frame.data_records, std::max(frame.octets, 1U));
    }
    return tally;
}

/// Of the frame of the last is_frame().
SpoolAccount SpoolSegment::account_of(const SpoolFrame& frame, std::uint64_t at) {
    SpoolAccount account{.tally = records_of(frame)};
    if (origin_ == Origin::own) {
        account.entries = entries_;
    } else {
        read_ranges(frame, at);
    }
    account.ranges = ranges_;
    return account;
}

bool SpoolSegment::append(const OutgoingMessage& message, bool stays_in_memory,
                          bool keeps_numbers) noexcept {
    try {
        write(message, stays_in_memory, keeps_numbers);
    } catch (const std::system_error& refused) {
        errno = refused.code().value();
        return false;
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        return false;
    }
    return true;
}

/// @errors  std::system_error: the disk refuses it; std::bad_alloc. Nothing has changed then.
void SpoolSegment::write(const OutgoingMessage& message, bool stays_in_memory, bool keeps_numbers) {
    SpoolFrame frame = header_of(message);
    frame.content = content_->mark_of(message.layout);
    content_->read_numbers(message.octets, ranges_);
    make_frame(frame, message, octets_);
    const bool is_written = write_at(file_.get(), buffer_, octets_);
    const int cause = is_written ? ENOMEM : errno;
    if (!is_written ||
        (!stays_in_memory && !ledger_.write(message.entries, ranges_, keeps_numbers))) {
        static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(octets_)) == 0);
        throw std::system_error(cause, std::generic_category());
    }
    octets_ += frame.size();
    if (stays_in_memory) {
        read_at_ = octets_;
        ++taken_;
    }
}

/// Writes a frame to buffer_, with the numbers in ranges_. The entries of a former process's
/// records are empty ones: only their number means something.
///
/// @param at  its place in the file
/// @errors  std::bad_alloc
void SpoolSegment::make_frame(SpoolFrame& frame, const OutgoingMessage& message, std::uint64_t at) {
    static_assert(std::is_trivially_copyable_v<RecordEntry>);
    static_assert(std::is_trivially_copyable_v<SpoolRange>);
    frame.entries = static_cast<std::uint32_t>(frame.tally.records + ranges_.size());
    buffer_.resize(frame.size());
    std::byte* const entries = buffer_.data() + sizeof frame;
    const std::size_t entries_octets = frame.payload() - frame.octets;
    std::byte* out = std::ranges::copy(std::as_bytes(std::span(message.entries)), entries).out;
    out = std::fill_n(out, message.inherited.records * sizeof(RecordEntry), std::byte{});
    for (const NumberRange& numbers : ranges_) {
        SpoolRange range{.numbers = numbers};
        range.checksum = range.checksum_in(frame);
        std::memcpy(out, &range, sizeof range);
        out += sizeof range;
    }
    std::ranges::copy(message.octets, out);
    frame.entries_checksum = XXH3_64bits_withSeed(entries, entries_octets, seed_ + at);
    frame.checksum = frame.header_checksum();
    std::memcpy(buffer_.data(), &frame, sizeof frame);
}

bool SpoolSegment::shorten(std::uint64_t at, const OutgoingMessage& rest) noexcept {
    try {
        return shorten_frame(at, rest);
    } catch (const std::bad_alloc&) {
        return false;
    }
}

/// The frame and what declares its other octets done are one write.
///
/// @errors  std::bad_alloc
bool SpoolSegment::shorten_frame(std::uint64_t at, const OutgoingMessage& rest) {
    SpoolFrame former;
    if (!read_at(file_.get(), former, at) || !former.is_valid()) {
        return false;
    }
    ranges_.clear();
    if (header_.magic == SpoolFileHeader::kNumberedMagic) {
        content_->read_numbers(rest.octets, ranges_);
    }
    SpoolFrame frame = header_of(rest);
    frame.content = former.content;
    make_frame(frame, rest, at);
    if (!fits_in(former, frame)) {  // it has more ranges than before
        ranges_.clear();
        make_frame(frame, rest, at);
    }
    if (!fits_in(former, frame)) {
        return false;
    }
    buffer_.resize(former.size());
    cover_spool_octets(std::span(buffer_).subspan(frame.size()));
    return write_at(file_.get(), buffer_, at);
}

std::optional<OutgoingMessage> SpoolSegment::take(std::uint64_t number,
                                                  std::vector<SpoolAccount>& lost) {
    make_room(lost);  // for the rest, if there is no frame at all
    std::optional<OutgoingMessage> message;
    SpoolFrame frame;
    while (!message && find_next(read_at_, frame)) {
        const std::uint64_t at = read_at_;
        if (is_needed(frame)) {
            message = take_frame(frame, lost);
        }
        read_at_ = at + frame.size();
        if (message) {
            message->place = SpoolPlace{.file = number, .at = at};
        }
    }
    if (!has_untaken()) {  // the file may be removed with this message
        take_rest(lost);
    }
    return message;
}

/// The message of the frame that is read next. @return  nothing: it is damaged
std::optional<OutgoingMessage> SpoolSegment::take_frame(const SpoolFrame& frame,
                                                        std::vector<SpoolAccount>& lost) {
    // All that needs memory comes before the account changes.
    make_room(lost);
    SpoolAccount account = account_of(frame, read_at_);
    ledger_.make_room(account);
    std::optional<OutgoingMessage> message = read_message(frame, read_at_);
    // A frame that is not in the ledger is not the one that was written, or found, here.
    const bool is_known = ledger_.take(account);
    const bool is_usable = layout_of(frame).has_value();
    if (is_known && !is_usable) {
        mark_done(read_at_);
        account.is_unusable = true;
        lost.push_back(std::move(account));
        return std::nullopt;
    }
    if (is_known && message) {
        message->inherited = account.inherited();
        message->entries = std::move(account.entries);
        ++taken_;
        return message;
    }
    ++damaged_;
    mark_done(read_at_);
    if (is_known) {
        account.is_damaged = true;
        lost.push_back(std::move(account));
    }
    return std::nullopt;
}

/// Records that were not found in the whole file are damaged. There is room for their accounts.
void SpoolSegment::take_rest(std::vector<SpoolAccount>& lost) {
    for (SpoolAccount& rest : ledger_.take_rest()) {
        if (rest.tally != RecordTally{}) {
            lost.push_back(std::move(rest));
        }
    }
}

/// @return  nothing: it is damaged, or neither a message nor whole records
std::optional<OutgoingMessage> SpoolSegment::read_message(const SpoolFrame& frame,
                                                          std::uint64_t at) {
    OutgoingMessage message;
    message.octets.resize(frame.octets);
    message.data_records = frame.data_records;
    message.layout = layout_of(frame).value_or(0);
    message.latest_end = Timestamp{std::chrono::nanoseconds{frame.latest_end}};
    const bool has_time = origin_ == Origin::own || (message.latest_end >= kFirstTimestamp &&
                                                     message.latest_end <= kLastTimestamp);
    const bool is_good =
        has_time && read_all_at(file_.get(), message.octets, at + frame.size() - frame.octets) &&
        XXH3_64bits(message.octets.data(), frame.octets) == frame.octets_checksum &&
        content_->is_content(message);
    return is_good ? std::optional(std::move(message)) : std::nullopt;
}

void SpoolSegment::done(std::uint64_t at) noexcept {
    mark_done(at);
    --taken_;
}

/// Does nothing if the frame is not there any more.
void SpoolSegment::mark_done(std::uint64_t at) noexcept {
    std::uint32_t magic = 0;
    if (read_at(file_.get(), magic, at) && magic == SpoolFrame::kMagic) {
        const std::uint32_t mark = header_.magic == SpoolFileHeader::kFormerMagic
                                       ? SpoolFrame::kDoneBefore
                                       : SpoolFrame::kDone;
        static_cast<void>(write_at(file_.get(), std::as_bytes(std::span(&mark, 1)),
                                   at + offsetof(SpoolFrame, mark)));
    }
}

void SpoolSegment::visit(const AccountHandler& handler) {
    SpoolLedger missing = std::exchange(ledger_, {});
    bool is_read = true;
    try {
        visit_frames(missing, handler);
    } catch (const std::bad_alloc&) {
        is_read = false;
    }
    // Records that were not found are damaged. Records that were not searched for are still there.
    for (SpoolAccount& rest : missing.take_rest()) {
        rest.is_damaged = is_read;
        if (!is_read) {
            ledger_.inherit(rest.inherited());
        }
        if (rest.tally != RecordTally{}) {
            handler(rest);
        }
    }
}

/// Takes found records from `missing`. Records that are not taken for good are in the ledger again.
///
/// @errors  std::bad_alloc: some frames were not read
void SpoolSegment::visit_frames(SpoolLedger& missing, const AccountHandler& handler) {
    const bool keeps_numbers = missing.keeps_numbers();
    SpoolFrame frame;
    for (std::uint64_t at = read_at_; find_next(at, frame); at += frame.size()) {
        if (!is_needed(frame)) {
            continue;
        }
        if (origin_ != Origin::own) {
            read_ranges(frame, at);
        }
        SpoolAccount account{.tally = records_of(frame)};
        account.entries.swap(entries_);  // with their memory, for the next frame's
        account.ranges.swap(ranges_);
        missing.make_room(account);
        if (missing.take(account)) {
            ledger_.inherit(account.inherited());
            static_cast<void>(ledger_.write(account.entries, account.ranges, keeps_numbers));
            handler(account);
        } else {
            mark_done(at);
        }
        account.entries.swap(entries_);
        account.ranges.swap(ranges_);
    }
}

bool SpoolSegment::is_removed() const noexcept { return !is_file_at(path_, file_.get()); }

void SpoolSegment::remove() const noexcept {
    if (!is_removed()) {
        static_cast<void>(::unlink(path_.c_str()) == 0);
    }
}

}  // namespace tributary
