// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "flowcache/flow_record.hpp"

namespace tributary {

/// Prints flows as a table, one line each.
///
/// Lines are held back until there are `rows_per_block`, so that columns get the width that they
/// need while memory stays bounded. Later blocks can only widen a column. The VLAN column comes
/// with the first block that has one.
class FlowTable {
public:
    static constexpr std::size_t kRowsPerBlock = 1000;

    /// @param out  outlives the table
    explicit FlowTable(std::ostream& out, std::size_t rows_per_block = kRowsPerBlock)
        : out_(out), rows_per_block_(rows_per_block) {}

    void add(const FlowRecordCore& flow);
    /// Prints what is held back; a table without flows is its header.
    void flush();

private:
    enum Column : std::uint8_t {
        start,
        duration,
        protocol,
        source,
        destination,
        vlan,
        flags,
        tos,
        packets,
        octets,
        end_reason,
        columns
    };
    using Row = std::array<std::string, columns>;

    [[nodiscard]] static Row to_row(const FlowRecordCore& flow);
    void print(const Row& row);

    std::ostream& out_;
    std::size_t rows_per_block_;
    std::vector<Row> rows_;
    std::array<std::size_t, columns> widths_{};
    bool has_vlan_{};  ///< some row so far has one
    bool header_is_printed_{};
    bool header_has_vlan_{};
};

/// @return  2024-02-29T12:34:56.789Z: UTC, rounded down; "-" for 1970-01-01T00:00:00, which no flow
/// has
[[nodiscard]] std::string time_text(Timestamp time);

/// @return  seconds with three decimals, rounded down
[[nodiscard]] std::string seconds_text(std::chrono::nanoseconds duration);

}  // namespace tributary
