// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_ring.h>
#include <rte_ring_peek_zc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include "daemon/pipeline/ring_fill.hpp"
#include "flowcache/record/counter.hpp"

namespace tributary {

/// A ring of slots whose size is known at run time: rte_ring with one producer and one consumer.
/// Extracts of packets go through it between input threads, and events of triggers. It needs no
/// EAL.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): counters are aligned to cache lines
class ExtractRing {
public:
    /// @param slot_octets  a multiple of 8
    /// @param slots        power of two
    [[nodiscard]] static std::size_t bytes_needed(std::size_t slot_octets,
                                                  std::uint32_t slots) noexcept {
        return static_cast<std::size_t>(
            rte_ring_get_memsize_elem(static_cast<unsigned>(slot_octets), slots));
    }

    /// @param memory  bytes_needed(), aligned to a cache line; outlives the ring
    /// @param slots   power of two; one of them stays empty
    /// @errors        std::bad_alloc
    ExtractRing(std::byte* memory, std::size_t slot_octets, std::uint32_t slots)
        : ring_(reinterpret_cast<rte_ring*>(memory)),
          slot_octets_(static_cast<unsigned>(slot_octets)) {
        if (rte_ring_init(ring_, "extracts", slots, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
            throw std::bad_alloc();
        }
    }
    ExtractRing(const ExtractRing&) = delete;
    ExtractRing& operator=(const ExtractRing&) = delete;

    /// Fills slots, as far as there is room.
    ///
    /// @param count  slots that are wanted; not 0
    /// @param write  called with 0, 1, ... and the octets of the slot to be written
    /// @return       how many were written
    /// @thread       the one producer
    template <class Write>
    [[nodiscard]] std::size_t push(std::size_t count, Write write) noexcept {
        rte_ring_zc_data place{};
        const unsigned room = rte_ring_enqueue_zc_burst_elem_start(
            ring_, slot_octets_, static_cast<unsigned>(count), &place, nullptr);
        if (room == 0) {
            return 0;
        }
        const Slots slots(place, room, slot_octets_);
        for (std::size_t i = 0; i < room; ++i) {
            write(i, slots[i]);
        }
        rte_ring_enqueue_zc_finish(ring_, room);
        pushed_.add(room);
        return room;
    }

    /// Slots that lie in the ring.
    class Slots {
    public:
        Slots() = default;
        Slots(const rte_ring_zc_data& place, std::size_t count, std::size_t slot_octets) noexcept
            : first_(static_cast<std::byte*>(place.ptr1)),
              second_(static_cast<std::byte*>(place.ptr2)),
              in_first_(place.n1),
              count_(count),
              octets_(slot_octets) {}
        [[nodiscard]] std::size_t count() const noexcept { return count_; }
        [[nodiscard]] std::byte* operator[](std::size_t place) const noexcept {
            return place < in_first_ ? first_ + place * octets_
                                     : second_ + (place - in_first_) * octets_;
        }

    private:
        std::byte* first_ = nullptr;
        std::byte* second_ = nullptr;
        std::size_t in_first_ = 0;
        std::size_t count_ = 0;
        std::size_t octets_ = 0;
    };

    /// The slots that came first. If there are any, end_look() must follow before the next look().
    ///
    /// @thread  the one consumer
    [[nodiscard]] Slots look(std::size_t most) noexcept {
        rte_ring_zc_data place{};
        const unsigned count = rte_ring_dequeue_zc_burst_elem_start(
            ring_, slot_octets_, static_cast<unsigned>(most), &place, nullptr);
        return count == 0 ? Slots{} : Slots(place, count, slot_octets_);
    }
    /// Frees so many of the slots that look() gave; the others stay.
    ///
    /// @thread  the one consumer
    void end_look(std::size_t freed) noexcept {
        rte_ring_dequeue_zc_finish(ring_, static_cast<unsigned>(freed));
        drained_.add(freed);
    }
    /// From counters, as RecordRing::fill().
    /// @thread  any
    [[nodiscard]] RingFill fill() const noexcept {
        const std::uint64_t room = rte_ring_get_capacity(ring_);
        const std::uint64_t drained = drained_.read();
        const std::uint64_t pushed = pushed_.read();
        return {.records = pushed > drained ? std::min(pushed - drained, room) : 0, .room = room};
    }

private:
    rte_ring* ring_;
    unsigned slot_octets_;
    alignas(64) Counter pushed_;   ///< slots; the producer's
    alignas(64) Counter drained_;  ///< slots; the consumer's
};

}  // namespace tributary
