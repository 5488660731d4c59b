// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rte_ring.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>

#include "daemon/numa_memory.hpp"
#include "daemon/ring_fill.hpp"
#include "flowcache/flow_record.hpp"
#include "flowcache/record_stream.hpp"

namespace tributary {

/// The ring from one input thread to the export thread: rte_ring with one producer and one
/// consumer, records by value, so that nobody has to free anything. It needs no EAL.
template <std::size_t kRecordBytes>
class RecordRing final : public RecordSource {
public:
    using Record = FlowRecord<kRecordBytes>;

    [[nodiscard]] static std::size_t bytes_needed(std::uint32_t slots) noexcept {
        return static_cast<std::size_t>(rte_ring_get_memsize_elem(kRecordBytes, slots));
    }

    /// @param slots   power of two; one of them stays empty
    /// @errors        std::bad_alloc
    RecordRing(std::uint32_t slots, std::optional<unsigned> numa_node, PageUse use)
        : memory_(bytes_needed(slots), numa_node, use),
          ring_(reinterpret_cast<rte_ring*>(memory_.bytes().data())) {
        if (rte_ring_init(ring_, "records", slots, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
            throw std::bad_alloc();
        }
    }

    /// @return  false when the ring is full
    /// @thread  the one producer
    [[nodiscard]] bool try_push(const Record& record) noexcept {
        return rte_ring_sp_enqueue_elem(ring_, const_cast<Record*>(&record), kRecordBytes) == 0;
    }
    [[nodiscard]] std::size_t drain(std::span<std::byte> out,
                                    std::size_t max_records) noexcept override {
        return rte_ring_sc_dequeue_burst_elem(ring_, out.data(), kRecordBytes,
                                              static_cast<unsigned>(max_records), nullptr);
    }
    [[nodiscard]] std::size_t record_bytes() const noexcept override { return kRecordBytes; }
    /// @thread  any
    [[nodiscard]] RingFill fill() const noexcept {
        return {.records = rte_ring_count(ring_), .room = rte_ring_get_capacity(ring_)};
    }

private:
    NumaMemory memory_;
    rte_ring* ring_;
};

/// What a producer does when the ring is full.
enum class WhenRingFull : std::uint8_t {
    refuse,  ///< live: the record waits in its cache, a receive queue never does
    wait,    ///< offline: the reader pauses, nothing is lost
};

/// The producer's end of a ring.
template <std::size_t kRecordBytes>
class RingSink {
public:
    RingSink(RecordRing<kRecordBytes>& ring, WhenRingFull when_full) noexcept
        : ring_(ring), when_full_(when_full) {}

    [[nodiscard]] bool try_push(const FlowRecord<kRecordBytes>& record) noexcept {
        while (!ring_.try_push(record)) {
            if (when_full_ == WhenRingFull::refuse) {
                return false;
            }
            // What is in the ring takes the exporter several milliseconds.
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return true;
    }

private:
    RecordRing<kRecordBytes>& ring_;
    WhenRingFull when_full_;
};

}  // namespace tributary
