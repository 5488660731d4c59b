// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "export/messages/flow_view.hpp"

namespace tributary {

/// Prints flows as a table, one line each.
///
/// Lines are held back until there are `rows_per_block`, so that columns get the width that they
/// need while memory stays bounded. Later blocks can only widen a column. The columns VLAN and
/// Tunnel appear with the first block that has one, and those of the reverse direction with the
/// first that has a biflow of two directions: its start and duration are those of both. The columns
/// of ListedCounts appear with the first flow that has the count; a biflow has both directions in
/// each, "3/0".
class FlowTable {
public:
    static constexpr std::size_t kRowsPerBlock = 1000;

    /// @param out  outlives the table
    explicit FlowTable(std::ostream& out, std::size_t rows_per_block = kRowsPerBlock)
        : out_(out), rows_per_block_(rows_per_block) {}

    void add(const FlowView& flow);
    /// Prints the lines that are held back; a table without flows is its header.
    void flush();

private:
    enum Column : std::uint8_t {
        start,
        duration,
        protocol,
        source,
        destination,
        vlan,
        tunnel,
        flags,
        tos,
        packets,
        octets,
        first_count,  ///< of the ListedCounts, by their place
        reverse_flags = first_count + kMostListedCounts,
        reverse_packets,
        reverse_octets,
        end_reason,
        columns
    };
    using Row = std::array<std::string, columns>;
    static constexpr std::bitset<columns> kReverseColumns =
        1U << reverse_flags | 1U << reverse_packets | 1U << reverse_octets;

    static constexpr std::bitset<columns> kCountColumns = ((1U << kMostListedCounts) - 1)
                                                          << first_count;

    [[nodiscard]] Row to_row(const FlowView& view) const;
    [[nodiscard]] const char* title_of(std::size_t column) const;
    void print(const Row& row);

    std::ostream& out_;
    ListedCounts counts_;
    std::size_t rows_per_block_;
    std::vector<Row> rows_;
    std::array<std::size_t, columns> widths_{};
    /// Columns that no row so far needs.
    std::bitset<columns> unused_ =
        kReverseColumns | kCountColumns | std::bitset<columns>(1U << vlan | 1U << tunnel);
    std::optional<std::bitset<columns>> unused_in_header_;  ///< nothing: it is not printed yet
};

/// @return  2024-02-29T12:34:56.789Z: UTC, rounded down; "-" for 1970-01-01T00:00:00, which no flow
/// has
[[nodiscard]] std::string time_text(Timestamp time);

/// @return  seconds with three decimals, rounded down
[[nodiscard]] std::string seconds_text(std::chrono::nanoseconds duration);

/// @return  address and port, for instance "192.0.2.1:53" or "[2001:db8::1]:53"; "-" where the
///          record has no address
[[nodiscard]] std::string source_text(const FlowKey& key);
/// The same; for ICMP "192.0.2.1:8.0", type and code.
[[nodiscard]] std::string destination_text(const FlowKey& key);

/// @return  decimal digits
[[nodiscard]] std::string count_text(WideCount count);

}  // namespace tributary
