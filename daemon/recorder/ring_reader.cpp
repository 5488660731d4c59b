// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/ring_reader.hpp"

#include <algorithm>
#include <array>

namespace tributary {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

}  // namespace

RingReader::RingReader(const PacketRing& ring, Timestamp since)
    : ring_(ring), copy_(PacketRing::kBlockOctets / kWord) {
    const std::uint64_t written = PacketRing::block_of(ring.published());
    std::uint64_t block = ring.oldest_block();
    for (; block < written; ++block) {
        const auto look = ring.look_at(block);
        if (look && look->latest >= since) {
            break;
        }
    }
    begin_at(block);
}

/// From here on a packet that is overwritten before it is read counts as that.
void RingReader::begin_at(std::uint64_t block) noexcept {
    block_ = block;
    offset_ = 0;
    for (;;) {
        if (const auto look = ring_.look_at(block_)) {
            next_ = look->first_number;
            return;
        }
        block_ = std::max(ring_.oldest_block(), block_ + 1);
    }
}

/// Goes on with the oldest packet that is there.
void RingReader::pass_overwritten() noexcept {
    const std::uint64_t missing = next_;
    begin_at(std::max(ring_.oldest_block(), block_ + 1));
    overwritten_ += std::max(std::min(next_, end_number_), missing) - missing;
}

void RingReader::stop_at(PacketRing::Position end) noexcept {
    end_number_ = number_at(end);
    end_ = end;
}

/// The number of the packet that begins at a place, or will.
std::uint64_t RingReader::number_at(PacketRing::Position place) const noexcept {
    const std::uint64_t block = PacketRing::block_of(place);
    const std::size_t until = place % PacketRing::kBlockOctets;
    const auto look = ring_.look_at(block);
    std::uint64_t packets = 0;
    std::array<std::uint64_t, PacketRing::kMetadataOctets / kWord> metadata{};
    std::size_t at = 0;
    while (look && at < until &&
           ring_.copy_of(block, at, at + PacketRing::kMetadataOctets, metadata.data())) {
        at += PacketRing::entry_octets(PacketRing::metadata_of(metadata.data()).octets);
        ++packets;
    }
    // If the writer has overwritten the block since, the number is not known. Then packets count as
    // overwritten that came until now.
    return look && at == until ? look->first_number + packets : ring_.kept();
}

bool RingReader::is_complete() const noexcept {
    return block_ < PacketRing::block_of(ring_.published());
}

std::optional<std::size_t> RingReader::readable_end() const noexcept {
    const PacketRing::Position published = std::min(ring_.published(), end_);
    if (block_ < PacketRing::block_of(published)) {
        const auto look = ring_.look_at(block_);
        return look ? std::optional(look->octets) : std::nullopt;
    }
    return block_ == PacketRing::block_of(published) ? published % PacketRing::kBlockOctets : 0;
}

bool RingReader::has_ended() const noexcept {
    const std::uint64_t last = PacketRing::block_of(end_);
    return block_ > last || (block_ == last && offset_ >= end_ % PacketRing::kBlockOctets);
}

std::span<const RecordedPacket> RingReader::read() {
    while (!has_ended()) {
        const bool was_complete = is_complete();  // before its end is asked for
        if (was_complete && pass_over()) {
            continue;
        }
        const std::optional<std::size_t> until = readable_end();
        if (!until || (*until > offset_ && !ring_.copy_of(block_, offset_, *until, copy_.data()))) {
            pass_overwritten();
        } else if (*until > offset_) {
            return take(*until);
        } else if (was_complete) {
            ++block_;
            offset_ = 0;
        } else {
            break;
        }
    }
    return {};
}

/// Passes over a whole block in which no packet is wanted.
///
/// @return  false: it has to be read
bool RingReader::pass_over() noexcept {
    if (hashes_.empty() || offset_ != 0 || block_ >= PacketRing::block_of(end_)) {
        return false;
    }
    const auto next = ring_.look_at(block_ + 1);  // which has begun
    const std::optional<bool> may_have = ring_.may_have(block_, hashes_);
    if (!next || !may_have || *may_have) {
        return false;
    }
    packets_ += next->first_number - next_;
    next_ = next->first_number;
    ++block_;
    return true;
}

/// Finds the packets in what was copied of the present block.
///
/// @param until  where it ends in the block
std::span<const RecordedPacket> RingReader::take(std::size_t until) {
    read_.clear();
    const std::uint64_t* at = copy_.data();
    while (offset_ < until) {
        const KeptMetadata metadata = PacketRing::metadata_of(at);
        const auto* const octets =
            reinterpret_cast<const std::byte*>(at) + PacketRing::kMetadataOctets;
        read_.push_back({.metadata = metadata, .octets = {octets, metadata.octets}});
        const std::size_t entry = PacketRing::entry_octets(metadata.octets);
        at += entry / kWord;
        offset_ += entry;
    }
    next_ += read_.size();
    packets_ += read_.size();
    return read_;
}

}  // namespace tributary
