// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "export/number_ranges.hpp"
#include "export/outgoing_message.hpp"
#include "flowcache/record/counter.hpp"

namespace tributary {

/// The beginning of a spool's file. Spools are read where they were written, so all is in host byte
/// order.
struct SpoolFileHeader {
    static constexpr std::uint64_t kMagic = 0x3330'4C50'5342'5254;  ///< "TRBSPL03" on disk
    /// "TRBSPL04": its frames have the numbers of their records. Formats with numbers have it.
    static constexpr std::uint64_t kNumberedMagic = 0x3430'4C50'5342'5254;
    static constexpr std::uint64_t kFormerMagic = 0x3230'4C50'5342'5254;  ///< "TRBSPL02"

    std::uint64_t magic = kMagic;
    std::uint64_t fingerprint{};  ///< SpoolFingerprints::of_files()

    [[nodiscard]] bool is_known() const noexcept {
        return magic == kMagic || magic == kNumberedMagic || magic == kFormerMagic;
    }
    /// Whether its frames may have the mark SpoolFrame::kDoneBefore.
    [[nodiscard]] bool has_former_marks() const noexcept {
        return magic != kMagic && magic != kNumberedMagic;
    }
};

struct SpoolFrame;

/// Numbers of a frame's records.
struct SpoolRange {
    NumberRange numbers;
    std::uint64_t checksum{};  ///< of it, with the frame's octets_checksum as seed

    [[nodiscard]] std::uint64_t checksum_in(const SpoolFrame& frame) const noexcept;
};

/// The beginning of a frame. The entries of its records, their numbers and the message follow, or,
/// in the spool of a group, the records themselves in the place of the message.
struct SpoolFrame {
    static constexpr std::uint32_t kMagic = 0x454D'5246;           ///< "FRME"
    static constexpr std::uint32_t kDone = 0x454E'4F44;            ///< "DONE"
    static constexpr std::uint32_t kDoneBefore = 1;                ///< of files with kFormerMagic
    static constexpr std::uint32_t kMostOctets = 65'535;           ///< of an IPFIX message
    static constexpr std::uint32_t kMostRecordOctets = 1U << 20U;  ///< of the records of one
    static constexpr std::uint32_t kMostEntries = 65'535;
    static constexpr std::size_t kChecked = 16;  ///< the checksum is of all from here on

    std::uint32_t magic = kMagic;
    /// The only member that changes. A damaged octet does not turn it into kDone: a message in
    /// doubt is sent again.
    std::uint32_t mark{};
    std::uint64_t checksum{};  ///< of what follows in this header
    /// Of the entries and SpoolRanges, with the seed of file and place.
    std::uint64_t entries_checksum{};
    std::uint64_t octets_checksum{};  ///< of the message, or the records
    std::uint32_t octets{};
    std::uint32_t entries{};  ///< and SpoolRanges behind them: each has the size of an entry
    std::uint32_t data_records{};
    std::uint32_t content{};    ///< low bits of its fingerprint; 0 in files with kFormerMagic
    std::int64_t latest_end{};  ///< nanoseconds since 1970
    RecordTally tally;          ///< of the entries

    /// SpoolRanges among the entries. None: the numbers of the records are not known.
    [[nodiscard]] std::uint64_t ranges() const noexcept { return entries - tally.records; }
    /// Of the entries and the message.
    [[nodiscard]] std::uint64_t payload() const noexcept { return payload_of(entries, octets); }
    [[nodiscard]] static std::uint64_t payload_of(std::uint64_t entries,
                                                  std::uint64_t octets) noexcept {
        return entries * sizeof(RecordEntry) + octets;
    }
    [[nodiscard]] std::uint64_t size() const noexcept { return sizeof(SpoolFrame) + payload(); }
    [[nodiscard]] std::uint64_t header_checksum() const noexcept;
    /// Whether the header is as it was written.
    [[nodiscard]] bool is_valid() const noexcept;
};
static_assert(sizeof(SpoolFrame) == 80);
static_assert(sizeof(SpoolRange) == sizeof(RecordEntry));

/// Octets of a spool's file in which there is no frame.
struct SpoolGap {
    std::uint64_t end{};     ///< where the next frame is, or the end of the search
    std::uint64_t octets{};  ///< of it that no mark declares done
};

/// Searches for the next frame.
///
/// @param from  where there is none
/// @param end   where the search ends
/// @param is_frame  whether a header at a place begins a frame
/// @param is_done   whether a mark means that a frame is needed no more
/// @cost  reads the file once; holes are not read
[[nodiscard]] SpoolGap find_spool_frame(
    int file, std::uint64_t from, std::uint64_t end,
    const std::function<bool(const SpoolFrame&, std::uint64_t)>& is_frame,
    const std::function<bool(std::uint32_t)>& is_done);

/// The beginning of octets that are needed no more, and are too few for the header of a frame that
/// says so.
struct SpoolRest {
    std::uint32_t magic = SpoolFrame::kMagic;
    std::uint32_t mark = SpoolFrame::kDone;
};

/// Makes octets of a file frames that are done, or a SpoolRest.
///
/// @param octets  none, or room for a SpoolRest
void cover_spool_octets(std::span<std::byte> octets) noexcept;

/// Covers octets with frames that are done, so that no later process counts them again. Too few
/// octets for a header stay as they are, and so do more than a gigabyte (a hole) and octets that
/// the disk cannot write.
void cover_spool_gap(int file, std::uint64_t from, std::uint64_t end) noexcept;

}  // namespace tributary
