// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "daemon/base/options.hpp"
#include "daemon/machine/numa_memory.hpp"
#include "flowcache/record/load_word.hpp"
#include "parsers/packet.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// What is kept of a packet beside its octets.
struct KeptMetadata {
    Timestamp seen_at{};
    std::uint32_t octets{};      ///< kept, from the link-layer header on
    std::uint32_t wire_bytes{};  ///< as PacketView::wire_bytes
    std::uint32_t flow_hash{};   ///< symmetric_hash(); 0: it was not metered
    /// Its hash may not be that of its outermost addresses and ports. The ring notes it for the
    /// packet's block alone: a reader does not get it back.
    bool is_unknown{};
    std::uint32_t rss_hash{};  ///< symmetric_rss_hash(); means nothing if it was not metered
    InterfaceIndex ingress_interface{};
    LinkType link_type{};
};

/// The last packets of one queue, oldest overwritten first. One thread writes, and never waits for
/// a reader; each reader copies, and learns afterwards whether the octets were overwritten
/// meanwhile.
///
///     memory   block 0 | block 1 | .. | block N-1     block `b` since the start lies at b % N
///     block    entry, entry, ..                        whole entries alone
///     entry    4 words of metadata, then the packet's octets, padded with zeros to whole words
///     mark     of each block: number of its first packet, its times, its octets in use
///     flows    of each block: a bit for each flow hash, so that a search for one flow passes over
///              blocks without it
///
/// How a reader knows that what it copied is whole: the writer raises `begun` before it writes into
/// a block, with a release fence between. A reader copies, and reads `begun` after an acquire
/// fence. If it has seen one octet of a later block, it sees that `begun` too. All words are atomic
/// and relaxed, so that a word which is overwritten while it is read is no data race; on x86 these
/// are plain instructions.
///
/// Packets have numbers from 0 in the order in which they were kept. A reader that was overtaken
/// therefore knows exactly how many it has missed.
///
/// @thread  append() and publish() by the one writer, the rest by any
class PacketRing {
public:
    /// Octets of a block: large enough to keep marks few, small enough to be copied whole.
    static constexpr std::size_t kBlockOctets = std::size_t{256} << 10U;
    /// With fewer, a reader would hardly find a block that is not being overwritten.
    static constexpr std::size_t kLeastBlocks = 4;
    /// Octets that are kept of the longest frame.
    static constexpr std::size_t kMostOctets = RecorderOptions::kMostOctets;
    /// Octets of an entry beside those of its packet, without padding.
    static constexpr std::size_t kMetadataOctets = 32;

    /// Bits of a block's flows: with small packets a twelfth of them is set, and they stay in the
    /// first-level cache.
    static constexpr std::size_t kFlowBits = std::size_t{1} << 15U;
    /// Octets of memory for a block, its mark apart.
    static constexpr std::size_t kOctetsForBlock = kBlockOctets + kFlowBits / 8;

    /// Octets of memory that a ring takes of so many: for whole blocks.
    [[nodiscard]] static constexpr std::size_t rounded(std::size_t octets) noexcept {
        return std::max(octets / kOctetsForBlock, kLeastBlocks) * kOctetsForBlock;
    }

    /// Makes the memory and touches it.
    ///
    /// @param octets  rounded()
    /// @errors        MemoryShortage, std::bad_alloc
    /// @cost          some 0.5 s of CPU time for each GiB
    PacketRing(std::size_t octets, std::optional<unsigned> numa_node, PageUse pages)
        : memory_(octets, numa_node, pages),
          words_(reinterpret_cast<std::uint64_t*>(memory_.bytes().data())),
          blocks_(octets / kOctetsForBlock),
          flows_(words_ + blocks_ * kWordsOfBlock),
          marks_(blocks_) {
        begin_block(0);
        publish(kFirstTimestamp);
    }
    PacketRing(const PacketRing&) = delete;
    PacketRing& operator=(const PacketRing&) = delete;
    ~PacketRing() = default;

    // Of the writer

    /// Keeps a packet. Readers see it after publish().
    ///
    /// @param metadata  `octets` is not read
    /// @param octets    at most kMostOctets
    /// @cost            one copy
    void append(const KeptMetadata& metadata, std::span<const std::byte> octets) noexcept {
        const std::size_t words = words_of(octets.size());
        if (offset_ + words * kWord >= kBlockOctets) [[unlikely]] {
            end_block();
            begin_block(block_ + 1);
        }
        std::uint64_t* const to = block_words_ + offset_ / kWord;
        store(to, static_cast<std::uint64_t>(metadata.seen_at.time_since_epoch().count()));
        store(to + 1, octets.size() | std::uint64_t{metadata.wire_bytes} << kHalf);
        store(to + 2,
              metadata.flow_hash | std::uint64_t{metadata.ingress_interface.value} << kHalf);
        store(to + 3, static_cast<std::uint32_t>(metadata.link_type) |
                          std::uint64_t{metadata.rss_hash} << kHalf);
        copy(octets, to + kMetadataOctets / kWord);
        note_flow(metadata);
        offset_ += words * kWord;
        ++number_;
        earliest_ = std::min(earliest_, metadata.seen_at);
        latest_ = std::max(latest_, metadata.seen_at);
    }
    /// Shows readers what was appended, and the source's clock.
    void publish(Timestamp clock) noexcept {
        mark_of(block_).set_times(earliest_, latest_);
        // Release, for the acquire in published(): entries and marks before it are whole.
        published_.store(block_ * kBlockOctets + offset_, std::memory_order_release);
        numbered_.store(number_, std::memory_order_relaxed);
        // Behind the packets, and released: a reader of this clock then sees them.
        clock_.store(clock.time_since_epoch().count(), std::memory_order_release);
    }

    // Of readers

    /// A place in the ring: octets since the start, as if it had no end.
    using Position = std::uint64_t;
    [[nodiscard]] static constexpr std::uint64_t block_of(Position position) noexcept {
        return position / kBlockOctets;
    }
    /// The place behind the last packet that can be read.
    [[nodiscard]] Position published() const noexcept {
        return published_.load(std::memory_order_acquire);
    }
    /// Packets that were kept since the start.
    [[nodiscard]] std::uint64_t kept() const noexcept {
        return numbered_.load(std::memory_order_relaxed);
    }
    /// The source's clock at the last publish(). What is read of the ring after this call has all
    /// packets that were kept before that clock.
    [[nodiscard]] Timestamp clock() const noexcept {
        return Timestamp(Timestamp::duration(clock_.load(std::memory_order_acquire)));
    }
    /// The oldest block that is not being overwritten.
    [[nodiscard]] std::uint64_t oldest_block() const noexcept {
        const std::uint64_t begun = begun_.load(std::memory_order_relaxed);
        return begun > blocks_ ? begun - blocks_ : 0;
    }
    /// What a block holds; times are of its packets. Without a packet `earliest` is behind
    /// `latest`.
    struct BlockLook {
        std::uint64_t first_number{};
        Timestamp earliest{};
        Timestamp latest{};
        std::size_t octets{};  ///< in use; of the block that is being written not yet known
    };
    /// @return  nothing: the block is overwritten
    [[nodiscard]] std::optional<BlockLook> look_at(std::uint64_t block) const noexcept {
        const Mark& mark = mark_of(block);
        const BlockLook look{.first_number = mark.first_number.load(std::memory_order_relaxed),
                             .earliest = time_of(mark.earliest),
                             .latest = time_of(mark.latest),
                             .octets = mark.octets.load(std::memory_order_relaxed)};
        return is_there(block) ? std::optional(look) : std::nullopt;
    }
    /// look_at() the oldest block with a packet; nothing: the ring is empty.
    [[nodiscard]] std::optional<BlockLook> oldest() const noexcept {
        // The end is asked for anew each time: the ring may have turned since.
        for (std::uint64_t block = oldest_block(); block <= block_of(published());) {
            const std::optional<BlockLook> look = look_at(block);
            if (look && look->earliest <= look->latest) {
                return look;
            }
            block = std::max(block + 1, oldest_block());
        }
        return std::nullopt;
    }
    /// Whether packets of flows with one of these hashes may be in a block, which is not being
    /// written any more.
    ///
    /// @return  nothing: the block is overwritten
    [[nodiscard]] std::optional<bool> may_have(
        std::uint64_t block, std::span<const std::uint32_t> flow_hashes) const noexcept {
        const std::uint64_t* const flows = flows_of(block);
        bool may = mark_of(block).has_unknown.load(std::memory_order_relaxed);
        for (const std::uint32_t hash : flow_hashes) {
            may = may || (load(flows + flow_word(hash)) & flow_bit(hash)) != 0;
        }
        return is_there(block) ? std::optional(may) : std::nullopt;
    }
    /// Copies octets of a block.
    ///
    /// @param from  multiples of 8, at most the block's octets in use
    /// @param to    room for them
    /// @return      false: the block is overwritten, and what was copied means nothing
    [[nodiscard]] bool copy_of(std::uint64_t block, std::size_t from, std::size_t until,
                               std::uint64_t* to) const noexcept {
        const std::uint64_t* const words = words_ + block % blocks_ * kWordsOfBlock;
        for (std::size_t word = from / kWord; word < until / kWord; ++word) {
            *to++ = load(words + word);
        }
        return is_there(block);
    }
    /// The metadata of an entry that was copied.
    ///
    /// @param words  kMetadataOctets
    [[nodiscard]] static KeptMetadata metadata_of(const std::uint64_t* words) noexcept {
        return {.seen_at = Timestamp(Timestamp::duration(static_cast<std::int64_t>(words[0]))),
                .octets = static_cast<std::uint32_t>(words[1]),
                .wire_bytes = static_cast<std::uint32_t>(words[1] >> kHalf),
                .flow_hash = static_cast<std::uint32_t>(words[2]),
                .rss_hash = static_cast<std::uint32_t>(words[3] >> kHalf),
                .ingress_interface = {static_cast<std::uint32_t>(words[2] >> kHalf)},
                .link_type = static_cast<LinkType>(words[3] & kLowHalf)};
    }
    /// Octets from one entry to the next.
    [[nodiscard]] static constexpr std::size_t entry_octets(std::size_t octets) noexcept {
        return words_of(octets) * kWord;
    }

    [[nodiscard]] bool huge_pages() const noexcept { return memory_.huge_pages(); }

private:
    static constexpr std::size_t kWord = sizeof(std::uint64_t);
    static constexpr std::size_t kWordsOfBlock = kBlockOctets / kWord;
    static constexpr std::size_t kWordBits = 64;
    static constexpr std::size_t kWordsOfFlows = kFlowBits / kWordBits;
    static constexpr unsigned kHalf = 32;
    static constexpr std::uint64_t kLowHalf = 0xFFFF'FFFF;

    struct Mark {
        std::atomic<std::uint64_t> first_number{0};
        std::atomic<Timestamp::rep> earliest{0};
        std::atomic<Timestamp::rep> latest{0};
        std::atomic<std::uint64_t> octets{0};
        std::atomic<bool> has_unknown{false};  ///< KeptMetadata::is_unknown of one of its packets

        void set_times(Timestamp first, Timestamp last) noexcept {
            earliest.store(first.time_since_epoch().count(), std::memory_order_relaxed);
            latest.store(last.time_since_epoch().count(), std::memory_order_relaxed);
        }
    };

    [[nodiscard]] static constexpr std::size_t words_of(std::size_t octets) noexcept {
        return (kMetadataOctets + octets + kWord - 1) / kWord;
    }
    [[nodiscard]] static Timestamp time_of(const std::atomic<Timestamp::rep>& time) noexcept {
        return Timestamp(Timestamp::duration(time.load(std::memory_order_relaxed)));
    }
    static void store(std::uint64_t* to, std::uint64_t word) noexcept {
        std::atomic_ref(*to).store(word, std::memory_order_relaxed);
    }
    [[nodiscard]] static std::uint64_t load(const std::uint64_t* from) noexcept {
        // atomic_ref of a const object comes with C++26.
        return std::atomic_ref(*const_cast<std::uint64_t*>(from)).load(std::memory_order_relaxed);
    }
    static void copy(std::span<const std::byte> octets, std::uint64_t* to) noexcept {
        const std::byte* from = octets.data();
        const std::byte* const end = from + octets.size() / kWord * kWord;
        for (; from != end; from += kWord) {
            store(to++, load_word(from));
        }
        if (const std::size_t rest = octets.size() % kWord; rest != 0) {
            std::uint64_t word = 0;
            std::memcpy(&word, from, rest);
            store(to, word);
        }
    }
    [[nodiscard]] static constexpr std::size_t flow_word(std::uint32_t hash) noexcept {
        return hash / kWordBits % kWordsOfFlows;
    }
    [[nodiscard]] static constexpr std::uint64_t flow_bit(std::uint32_t hash) noexcept {
        return std::uint64_t{1} << hash % kWordBits;
    }
    [[nodiscard]] std::uint64_t* flows_of(std::uint64_t block) const noexcept {
        return flows_ + block % blocks_ * kWordsOfFlows;
    }
    void note_flow(const KeptMetadata& metadata) noexcept {
        std::uint64_t* const word = block_flows_ + flow_word(metadata.flow_hash);
        store(word, load(word) | flow_bit(metadata.flow_hash));
        if (metadata.is_unknown) [[unlikely]] {
            mark_of(block_).has_unknown.store(true, std::memory_order_relaxed);
        }
    }
    [[nodiscard]] Mark& mark_of(std::uint64_t block) noexcept { return marks_[block % blocks_]; }
    [[nodiscard]] const Mark& mark_of(std::uint64_t block) const noexcept {
        return marks_[block % blocks_];
    }
    /// Whether nothing of a block that a reader has just read was overwritten.
    [[nodiscard]] bool is_there(std::uint64_t block) const noexcept {
        std::atomic_thread_fence(std::memory_order_acquire);  // with that of begin_block()
        return begun_.load(std::memory_order_relaxed) <= block + blocks_;
    }
    void end_block() noexcept {
        Mark& mark = mark_of(block_);
        mark.set_times(earliest_, latest_);
        mark.octets.store(offset_, std::memory_order_relaxed);
    }
    void begin_block(std::uint64_t block) noexcept {
        block_ = block;
        offset_ = 0;
        earliest_ = Timestamp::max();
        latest_ = Timestamp::min();
        begun_.store(block + 1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);  // with that of is_there()
        Mark& mark = mark_of(block);
        mark.first_number.store(number_, std::memory_order_relaxed);
        mark.set_times(earliest_, latest_);
        mark.has_unknown.store(false, std::memory_order_relaxed);
        // For append(), which would need a division by the number of blocks.
        block_words_ = words_ + block % blocks_ * kWordsOfBlock;
        block_flows_ = flows_of(block);
        for (std::size_t word = 0; word < kWordsOfFlows; ++word) {
            store(block_flows_ + word, 0);
        }
    }

    NumaMemory memory_;
    std::uint64_t* words_;
    std::size_t blocks_;
    std::uint64_t* flows_;  ///< kWordsOfFlows of each block
    std::vector<Mark> marks_;
    // Of the writer alone.
    std::uint64_t block_ = 0;  ///< that is being written, since the start
    std::size_t offset_ = 0;   ///< octets of it in use
    std::uint64_t* block_words_ = nullptr;
    std::uint64_t* block_flows_ = nullptr;  ///< of it
    std::uint64_t number_ = 0;              ///< of the next packet
    Timestamp earliest_{};                  ///< of the block's packets
    Timestamp latest_{};
    // For readers.
    alignas(64) std::atomic<std::uint64_t> begun_{0};  ///< blocks, the one that is written included
    std::atomic<Position> published_{0};
    std::atomic<std::uint64_t> numbered_{0};
    std::atomic<Timestamp::rep> clock_{0};
};

}  // namespace tributary
