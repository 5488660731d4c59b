// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "flowcache/record/prefetch.hpp"
#include "perf/support/huge_memory.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/made_burst.hpp"
#include "perf/support/rte_table.hpp"

namespace tributary::perf {

/// rte_hash in a flow cache's place: the same packets, the same keys, a burst at a time. It needs
/// an Eal.
class RteBench {
public:
    [[nodiscard]] static std::uint64_t bytes_needed(std::uint32_t flows) {
        return 2 * RteTable::bytes_needed(entries_for(flows), sizeof(ShortKey));
    }

    explicit RteBench(std::uint32_t flows)
        : flows_(flows),
          table_(entries_for(flows), sizeof(ShortKey)),
          second_(entries_for(flows), sizeof(ShortKey)),
          memory_(std::size_t{flows} * sizeof(Line)),
          lines_(std::span(reinterpret_cast<Line*>(memory_.bytes().data()), flows)) {
        next_ = 0;
        const auto next = [this] { return next_++; };
        for (std::uint32_t flow = 0; flow < flows_;) {
            for (const KeyedPacket& packet : burst_.make(next, {})) {
                if (flow < flows_) {
                    demand(table_.insert(&packet.key, flow), "rte_hash: room for all flows");
                    lines_[flow++] = {};
                }
            }
        }
    }

    /// Makes the packets of the other operations, without a table.
    void make_only(std::uint64_t packets) {
        for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
            keep(burst_.make([this] { return random_.below(flows_); }, {}).front());
        }
    }
    void find_known(std::uint64_t packets) {
        for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
            keep(find([this] { return random_.below(flows_); }));
        }
    }
    void find_unknown(std::uint64_t packets) {
        for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
            keep(find([this] { return kUnknown | random_.below(flows_); }));
        }
    }
    /// Adds each packet to the line of its flow, like a flow cache.
    void update_known(std::uint64_t packets) {
        for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
            keep(find([this] { return random_.below(flows_); }));
            for (const std::uint32_t number : numbers_) {
                prefetch_to_write(&lines_[number]);
            }
            for (const std::uint32_t number : numbers_) {
                lines_[number].packets += 1;
                lines_[number].octets += 46;
            }
        }
    }
    /// @param flows  after clear_second(), at most the table's size
    void insert(std::uint64_t flows) {
        const auto next = [this] { return next_++; };
        for (std::uint64_t done = 0; done < flows; done += kBurstPackets) {
            for (const KeyedPacket& packet : burst_.make(next, {})) {
                keep(second_.insert(&packet.key, 0));
            }
        }
    }
    void clear_second() noexcept {
        second_.clear();
        next_ = 0;
    }

    /// Checks the found numbers against the flows' numbers.
    void check() {
        for (int turn = 0; turn < 100; ++turn) {
            std::vector<std::uint32_t> asked;
            const auto half_known = [this, &asked] {
                asked.push_back(random_.below(2 * flows_));
                return asked.back();
            };
            const std::uint64_t found = find(half_known);
            for (std::size_t i = 0; i < kBurstPackets; ++i) {
                const bool is_known = asked[i] < flows_;
                demand((found >> i & 1U) == std::uint64_t{is_known}, "rte_hash: found");
                demand(!is_known || numbers_[i] == asked[i], "rte_hash: the flow's number");
            }
        }
        update_known(64 * kBurstPackets);
        std::uint64_t packets = 0;
        for (const Line& line : lines_) {
            packets += line.packets;
        }
        demand(packets == 64 * kBurstPackets, "rte_hash: updates");
        clear_second();
        insert(flows_);
    }

private:
    struct alignas(64) Line {
        std::uint64_t packets;
        std::uint64_t octets;
    };
    static constexpr std::uint32_t kUnknown = 0x8000'0000;

    /// An eighth more than flows: rte_hash refuses keys before it is quite full.
    [[nodiscard]] static constexpr std::uint32_t entries_for(std::uint32_t flows) noexcept {
        return flows + flows / 8;
    }

    /// @return  mask of a burst's flows in the table; their numbers are in numbers_
    template <class NextFlow>
    std::uint64_t find(NextFlow next_flow) noexcept {
        const std::span<const KeyedPacket> packets = burst_.make(next_flow, {});
        std::array<const void*, kBurstPackets> keys;
        for (std::size_t i = 0; i < kBurstPackets; ++i) {
            keys[i] = &packets[i].key;
        }
        return table_.find(keys, numbers_);
    }

    std::uint32_t flows_;
    RteTable table_;
    RteTable second_;  ///< for insertions
    HugeMemory memory_;
    std::span<Line> lines_;
    MadeBurst burst_;
    Random random_;
    std::uint32_t next_ = 0;
    std::array<std::uint32_t, kBurstPackets> numbers_{};
};

}  // namespace tributary::perf
