// SPDX-License-Identifier: Apache-2.0
#include "export/spool/spool_frame.hpp"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "export/transport/file_octets.hpp"

namespace tributary {
namespace {

constexpr std::size_t kChunk = 65'536;
constexpr std::uint64_t kMostCover = sizeof(SpoolFrame) + SpoolFrame::kMostOctets;

/// The first frame of those that cover so many octets. The octets behind it have room for another
/// header, or there are none.
SpoolFrame cover_of(std::uint64_t octets) noexcept {
    const std::uint64_t size =
        octets <= kMostCover ? octets : std::min(kMostCover, octets - sizeof(SpoolFrame));
    SpoolFrame cover;
    cover.mark = SpoolFrame::kDone;
    cover.octets = static_cast<std::uint32_t>(size - sizeof cover);
    cover.checksum = cover.header_checksum();
    return cover;
}

/// Where the file has data next, from `at` on: a hole of any size is passed at once.
std::uint64_t next_data(int file, std::uint64_t at, std::uint64_t end) noexcept {
    const off_t data = ::lseek(file, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0) {
        return errno == ENXIO ? end : at;  // there is none, or the file system has no holes
    }
    return std::clamp(static_cast<std::uint64_t>(data), at, end);
}

/// The parts of a gap, each from one frame's magic to the next one's.
class GapParts {
public:
    explicit GapParts(std::uint64_t from) noexcept : begin_(from) {}
    void begin_part(std::uint64_t at, bool is_done) noexcept {
        end_at(at);
        begin_ = at;
        is_done_ = is_done;
    }
    void end_at(std::uint64_t at) noexcept { octets_ += is_done_ ? 0 : at - begin_; }
    [[nodiscard]] std::uint64_t octets() const noexcept { return octets_; }

private:
    std::uint64_t begin_;
    std::uint64_t octets_{};
    bool is_done_{};
};

/// Where the magic of a frame begins in these octets; their size: nowhere.
std::size_t find_magic(std::span<const std::byte> octets, std::size_t from) noexcept {
    const std::uint32_t magic = SpoolFrame::kMagic;
    const void* const found =
        ::memmem(octets.data() + from, octets.size() - from, &magic, sizeof magic);
    return found == nullptr
               ? octets.size()
               : static_cast<std::size_t>(static_cast<const std::byte*>(found) - octets.data());
}

/// Looks for a frame in a file's octets, chunk by chunk.
class FrameSearch {
public:
    FrameSearch(std::uint64_t from,
                const std::function<bool(const SpoolFrame&, std::uint64_t)>& is_frame,
                const std::function<bool(std::uint32_t)>& is_done)
        : parts_(from), is_frame_(is_frame), is_done_(is_done) {}

    /// @param at  of the chunk in the file
    /// @return  octets that are done: a header that the chunk cuts is read with the next chunk,
    ///          which begins there
    std::size_t look_through(std::span<const std::byte> octets, std::uint64_t at) {
        const bool goes_on = octets.size() == kChunk;
        const std::size_t end = goes_on ? octets.size() - sizeof(SpoolFrame) + 1 : octets.size();
        for (std::size_t next = find_magic(octets, 0); next < end && !has_found_;
             next = find_magic(octets, next + 1)) {
            look_at(octets.subspan(next), at + next);
        }
        return end;
    }
    [[nodiscard]] bool has_found() const noexcept { return has_found_; }
    [[nodiscard]] std::uint64_t found_at() const noexcept { return found_at_; }
    [[nodiscard]] SpoolGap gap_until(std::uint64_t end) noexcept {
        parts_.end_at(end);
        return {.end = end, .octets = parts_.octets()};
    }

private:
    void look_at(std::span<const std::byte> octets, std::uint64_t at) {
        SpoolFrame frame{};
        std::memcpy(&frame, octets.data(), std::min(sizeof frame, octets.size()));
        if (octets.size() >= sizeof frame && is_frame_(frame, at)) {
            has_found_ = true;
            found_at_ = at;
        } else {
            parts_.begin_part(at, is_done_(frame.mark));
        }
    }

    GapParts parts_;
    const std::function<bool(const SpoolFrame&, std::uint64_t)>& is_frame_;
    const std::function<bool(std::uint32_t)>& is_done_;
    bool has_found_{};
    std::uint64_t found_at_{};
};

}  // namespace

std::uint64_t SpoolFrame::header_checksum() const noexcept {
    const auto header = std::as_bytes(std::span(this, 1)).subspan(kChecked);
    return XXH3_64bits(header.data(), header.size());
}

bool SpoolFrame::is_valid() const noexcept {
    return magic == kMagic && octets <= kMostRecordOctets && entries <= kMostEntries &&
           tally.records <= entries && checksum == header_checksum();
}

std::uint64_t SpoolRange::checksum_in(const SpoolFrame& frame) const noexcept {
    return XXH3_64bits_withSeed(&numbers, sizeof numbers, frame.octets_checksum);
}

SpoolGap find_spool_frame(int file, std::uint64_t from, std::uint64_t end,
                          const std::function<bool(const SpoolFrame&, std::uint64_t)>& is_frame,
                          const std::function<bool(std::uint32_t)>& is_done) {
    FrameSearch search(from, is_frame, is_done);
    std::vector<std::byte> buffer(kChunk);
    for (std::uint64_t at = next_data(file, from, end); at < end; at = next_data(file, at, end)) {
        const std::size_t wanted = std::min<std::uint64_t>(kChunk, end - at);
        const ssize_t got = ::pread(file, buffer.data(), wanted, static_cast<off_t>(at));
        if (got <= 0) {  // the file ends, or the disk cannot read this page
            constexpr std::uint64_t kPage = 4096;
            at = got == 0 ? end : at - at % kPage + kPage;
            continue;
        }
        at += search.look_through(std::span(buffer).first(static_cast<std::size_t>(got)), at);
        if (search.has_found()) {
            return search.gap_until(search.found_at());
        }
    }
    return search.gap_until(end);
}

void cover_spool_octets(std::span<std::byte> octets) noexcept {
    while (octets.size() >= sizeof(SpoolFrame)) {
        const SpoolFrame cover = cover_of(octets.size());
        std::memcpy(octets.data(), &cover, sizeof cover);
        octets = octets.subspan(cover.size());
    }
    if (!octets.empty()) {
        const SpoolRest rest;
        std::memcpy(octets.data(), &rest, sizeof rest);
    }
}

void cover_spool_gap(int file, std::uint64_t from, std::uint64_t end) noexcept {
    constexpr std::uint64_t kMostFrames = 16'384;
    if ((end - from) / kMostCover > kMostFrames) {
        return;
    }
    while (end - from >= sizeof(SpoolFrame)) {
        const SpoolFrame cover = cover_of(end - from);
        if (!write_at(file, std::as_bytes(std::span(&cover, 1)), from)) {
            return;
        }
        from += cover.size();
    }
}

}  // namespace tributary
