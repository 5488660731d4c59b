// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace tributary {

/// A number with one writer and any reader. The writer's load, add and store compile to plain
/// instructions on x86; readers see a value that is recent, never torn.
class Counter {
public:
    /// @thread  the one writer
    void add(std::uint64_t n = 1) noexcept {
        value_.store(read() + n, std::memory_order_relaxed);  // one writer: no lock prefix needed
    }
    /// For gauges. @thread the one writer
    void set(std::uint64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
    /// @thread  any
    [[nodiscard]] std::uint64_t read() const noexcept {
        return value_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// Flow records with their packets and octets: the ledger counts all three wherever records go.
struct RecordTally {
    std::uint64_t records{};
    std::uint64_t packets{};
    std::uint64_t octets{};

    RecordTally& operator+=(const RecordTally& other) noexcept {
        records += other.records;
        packets += other.packets;
        octets += other.octets;
        return *this;
    }
    friend bool operator==(const RecordTally&, const RecordTally&) = default;
};

/// A RecordTally with one writer and any reader.
struct RecordCounter {
    Counter records;
    Counter packets;
    Counter octets;

    void add(const RecordTally& tally) noexcept {
        records.add(tally.records);
        packets.add(tally.packets);
        octets.add(tally.octets);
    }
    [[nodiscard]] RecordTally read() const noexcept {
        return {records.read(), packets.read(), octets.read()};
    }
};

}  // namespace tributary
