// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "export/file_descriptor.hpp"
#include "export/number_ranges.hpp"
#include "export/outgoing_message.hpp"
#include "export/spool/spool_fingerprints.hpp"
#include "export/spool/spool_frame.hpp"
#include "export/spool_account.hpp"

namespace tributary {

/// The content of a former process's file beside its account.
struct SpoolScan {
    std::uint64_t damages{};              ///< places that cannot be read
    std::uint64_t damaged_octets{};       ///< their records are unknown
    RecordTally cut;                      ///< records of a frame that the file's end cuts
    std::vector<NumberRange> cut_ranges;  ///< their numbers, if these are known
    std::uint64_t whole_octets{};         ///< of frames that can be read
    RecordTally whole;                    ///< their records
};

/// One file of a Spool. Its account is in memory, so that the records that can no longer be read
/// from the file are known exactly: octets that change, an end that is cut, a file that another
/// process writes to. Damage costs the frames that it is in. Frames that are given up are marked as
/// done, or covered by frames that are, so that no later process counts them again. A former
/// process's file is only read until adopt(): a start that fails leaves it as it was.
/// @thread  the export thread
class SpoolSegment {
public:
    enum class Origin : std::uint8_t {
        own,     ///< this process writes it
        former,  ///< of a former process
        others,  ///< of a former process, for templates that are not today's
        unknown  ///< the same, and its header does not show which
    };
    using AccountHandler = std::function<void(const SpoolAccount&)>;

    /// A new file.
    ///
    /// @param content  outlives it; its header is in the file already
    /// @param seed     of this process and file: nothing else has entries with these checksums
    SpoolSegment(FileDescriptor file, std::string path, const SpoolFingerprints& content,
                 std::uint64_t seed);
    /// A file that a former process has left. Nothing in it changes.
    ///
    /// @param content  of today; outlives it
    SpoolSegment(FileDescriptor file, std::string path, const SpoolFingerprints& content);

    /// The result of scan() is in the accounts: the damage of a former process's file is covered,
    /// and its end is cut, so that no later process counts them again.
    void adopt() noexcept;
    /// @return  false: the disk refused it; see errno
    [[nodiscard]] bool append(const OutgoingMessage& message, bool stays_in_memory,
                              bool keeps_numbers) noexcept;
    /// Replaces a message that was taken, or stayed in memory, by what is left of it. A kill
    /// meanwhile damages it.
    ///
    /// @param at  its place
    /// @return  false: the frame is not as it was written, or the disk refused it
    [[nodiscard]] bool shorten(std::uint64_t at, const OutgoingMessage& rest) noexcept;
    /// The first message that was not taken.
    ///
    /// @param number  of this file, for the message's place
    /// @param lost    gets the accounts of unreadable records
    /// @errors  std::bad_alloc: none was taken
    [[nodiscard]] std::optional<OutgoingMessage> take(std::uint64_t number,
                                                      std::vector<SpoolAccount>& lost);
    /// A message that was taken, or stayed in memory, is needed no more.
    void done(std::uint64_t at) noexcept;
    /// All records that were not taken. Unreadable ones are damaged, and are reported once. Without
    /// memory to read the frames, their account comes without entries.
    void visit(const AccountHandler& handler);
    /// The result of the constructor.
    [[nodiscard]] const SpoolScan& scan() const noexcept { return scan_; }
    /// Records of a former process that were found, and not taken.
    [[nodiscard]] const RecordTally& inherited() const noexcept { return ledger_.inherited(); }
    /// Of these, those that cannot be sent because they were written for other content.
    [[nodiscard]] RecordTally unusable() const noexcept {
        return is_usable() ? unusable_ : inherited();
    }

    [[nodiscard]] Origin origin() const noexcept { return origin_; }
    [[nodiscard]] bool is_usable() const noexcept {
        return origin_ == Origin::own || origin_ == Origin::former;
    }
    [[nodiscard]] bool has_untaken() const noexcept { return read_at_ < octets_; }
    /// Nothing in it is needed any more.
    [[nodiscard]] bool is_done() const noexcept { return taken_ == 0 && !has_untaken(); }
    /// Where the next frame goes.
    [[nodiscard]] std::uint64_t octets() const noexcept { return octets_; }
    /// Its path leads to another file, or nowhere.
    [[nodiscard]] bool is_removed() const noexcept;
    /// Number of places that could not be read.
    [[nodiscard]] std::uint64_t damaged() const noexcept { return damaged_; }
    void remove() const noexcept;

private:
    void write(const OutgoingMessage& message, bool stays_in_memory, bool keeps_numbers);
    void make_frame(SpoolFrame& frame, const OutgoingMessage& message, std::uint64_t at);
    [[nodiscard]] bool shorten_frame(std::uint64_t at, const OutgoingMessage& rest);
    void find_frames();
    void note_frame(const SpoolFrame& frame);
    void give_up_gap(std::uint64_t from, std::uint64_t end);
    [[nodiscard]] bool find_next(std::uint64_t& at, SpoolFrame& frame);
    [[nodiscard]] bool is_frame(const SpoolFrame& frame, std::uint64_t at);
    [[nodiscard]] bool is_needed(const SpoolFrame& frame) const noexcept;
    [[nodiscard]] bool is_done_mark(std::uint32_t mark) const noexcept;
    [[nodiscard]] RecordTally records_of(const SpoolFrame& frame) const noexcept;
    [[nodiscard]] SpoolAccount account_of(const SpoolFrame& frame, std::uint64_t at);
    void take_ranges(const SpoolFrame& frame);
    void read_ranges(const SpoolFrame& frame, std::uint64_t at);
    [[nodiscard]] std::optional<OutgoingMessage> read_message(const SpoolFrame& frame,
                                                              std::uint64_t at);
    [[nodiscard]] std::optional<std::size_t> layout_of(const SpoolFrame& frame) const noexcept;
    void mark_done(std::uint64_t at) noexcept;
    [[nodiscard]] std::optional<OutgoingMessage> take_frame(const SpoolFrame& frame,
                                                            std::vector<SpoolAccount>& lost);
    void visit_frames(SpoolLedger& missing, const AccountHandler& handler);
    void take_rest(std::vector<SpoolAccount>& lost);

    FileDescriptor file_;
    std::string path_;
    const SpoolFingerprints* content_;
    SpoolFileHeader header_;
    Origin origin_;
    std::uint64_t seed_{};
    std::uint64_t octets_ = sizeof(SpoolFileHeader);
    std::uint64_t read_at_ = sizeof(SpoolFileHeader);  ///< frames before it are taken or done
    std::size_t taken_{};  ///< frames in memory: not done, and before read_at_
    std::uint64_t damaged_{};
    std::uint64_t gaps_counted_to_{};  ///< damage before it is in damaged_ already
    SpoolLedger ledger_;               ///< of records that were not taken
    SpoolScan scan_;
    RecordTally unusable_;  ///< in frames that the constructor found
    bool is_adopted_{};
    std::vector<std::pair<std::uint64_t, std::uint64_t>> gaps_;  ///< from, end; until adopt()
    std::optional<std::uint64_t> cut_at_;  ///< octets to which adopt() cuts the file
    std::vector<RecordEntry> entries_;     ///< of the own frame that was read last
    std::vector<NumberRange> ranges_;      ///< of the frame that was read, or is written
    std::vector<std::byte> buffer_;
};

}  // namespace tributary
