// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flowcache/record/options.hpp"

namespace tributary {

/// Tables that a probe may have beside the main one.
inline constexpr std::size_t kMostTables = 8;

/// Which input thread accounts a packet in a table. Of captures it is always that which owns the
/// key, with at most kMostQueuesBetween queues.
enum class TableSpread : std::uint8_t {
    queue,  ///< that of the packet's queue: a flow has a record for each queue that its packets
            ///< take
    key,    ///< that which owns the key: a flow has one record
};

/// Queues of all inputs, with a table that is spread by key: each sends to each other by a ring of
/// its own. More would take rings in the thousands, and each thread would look into as many of them
/// as there are queues whenever it polls.
inline constexpr std::size_t kMostQueuesBetween = 32;

/// A table of flows as a user declares it. docs/fields.md has the fields that keys and values name.
struct TableDeclaration {
    std::string name;    ///< a small letter, then small letters, digits and '-'; not "main"
    std::string filter;  ///< pcap syntax; empty: all metered packets
    /// Fields by name; addresses with prefix lengths, as in sourceAddress/24/56; a time with an
    /// interval in seconds, as in observationTimeSeconds/60.
    std::vector<std::string> key;
    /// Beside packets, octets, start and end, which every record has: functions of fields, as in
    /// max(ipTTL).
    std::vector<std::string> values;
    FlowDirection direction = FlowDirection::uniflow;
    std::uint32_t max_flows = 100'000;         ///< per queue; 1 .. 2^30
    std::chrono::seconds idle_timeout{30};     ///< 1 .. 2^31 s
    std::chrono::seconds active_timeout{300};  ///< 1 .. 2^31 s
    TableSpread spread = TableSpread::queue;
    bool dump_files = false;  ///< as FlowCacheOptions::dump_files: a trigger names the table

    static constexpr std::size_t kLongestName = 32;

    friend bool operator==(const TableDeclaration&, const TableDeclaration&) = default;
};

/// Whether a text has the form of a table's name; "main" has it too.
[[nodiscard]] bool is_table_name(std::string_view text) noexcept;

}  // namespace tributary
