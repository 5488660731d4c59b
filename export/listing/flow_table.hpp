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

#include "export/listing/further_values.hpp"
#include "export/messages/flow_view.hpp"

namespace tributary {

/// A flow as a table shows it.
struct ListedFlow {
    FlowView flow;
    std::string table{};                  ///< printable; empty: not shown
    std::vector<FurtherValue> further{};  ///< that no column of flows shows
};

/// Prints flows as a table, one line each.
///
/// Lines are held back until there are `rows_per_block`, so that columns get the width that they
/// need while memory stays bounded. Later blocks can only widen a column. The columns VLAN and
/// Tunnel appear with the first block that has one, and those of the reverse direction with the
/// first that has a biflow of two directions: its start and duration are those of both. The columns
/// of ListedCounts appear with the first flow that has the count; a biflow has both directions in
/// each, "3/0". Table, and the columns of further values, appear with the first flow that has one.
/// The columns that most flows have are hidden as long as none has them.
class FlowTable {
public:
    static constexpr std::size_t kRowsPerBlock = 1000;
    /// Columns of further values; others are in JSON alone.
    static constexpr std::size_t kMostFurther = 32;

    /// @param out  outlives the table
    explicit FlowTable(std::ostream& out, std::size_t rows_per_block = kRowsPerBlock)
        : out_(out), rows_per_block_(rows_per_block) {}

    void add(const ListedFlow& listed);
    void add(const FlowView& flow) { add(ListedFlow{.flow = flow}); }
    /// Prints the lines that are held back; a table without flows is its header.
    void flush();

private:
    enum Column : std::uint8_t {
        table,
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
    struct Row {
        std::array<std::string, columns> cells;
        std::vector<std::string> further;  ///< by column of further values; may be shorter
    };
    static constexpr std::bitset<columns> kReverseColumns =
        1U << reverse_flags | 1U << reverse_packets | 1U << reverse_octets;
    static constexpr std::bitset<columns> kUsualColumns =
        1U << protocol | 1U << source | 1U << destination | 1U << flags | 1U << tos;

    static constexpr std::bitset<columns> kCountColumns = ((1U << kMostListedCounts) - 1)
                                                          << first_count;

    /// A column of further values.
    struct Further {
        std::string title;
        std::size_t width;
        bool is_number;
    };

    [[nodiscard]] Row to_row(const FlowView& view) const;
    [[nodiscard]] const char* title_of(std::size_t column) const;
    void use(const FlowView& flow);
    void add_further(const std::vector<FurtherValue>& values, Row& row);
    [[nodiscard]] std::optional<std::size_t> place_of(const FurtherValue& value);
    void widen(const Row& row);
    void print_header();
    void print(const Row& row);
    void append_cells(std::string& line, const Row& row, std::size_t first, std::size_t end) const;
    void append_further(std::string& line, const Row& row) const;

    std::ostream& out_;
    ListedCounts counts_;
    std::size_t rows_per_block_;
    std::vector<Row> rows_;
    std::array<std::size_t, columns> widths_{};
    std::vector<Further> further_;
    bool has_rows_{};
    /// Columns that no row so far needs. The usual ones are shown where there is no row.
    std::bitset<columns> unused_ = kUsualColumns | kReverseColumns | kCountColumns |
                                   std::bitset<columns>(1U << table | 1U << vlan | 1U << tunnel);
    std::bitset<columns> hidden_;                           ///< in what is printed now
    std::optional<std::bitset<columns>> hidden_in_header_;  ///< nothing: it is not printed yet
    std::size_t further_in_header_{};
};

/// @return  2024-02-29T12:34:56.789Z: UTC, rounded down; "-" for 1970-01-01T00:00:00, which no flow
/// has
[[nodiscard]] std::string time_text(Timestamp time);

/// @return  seconds with three decimals, rounded down
[[nodiscard]] std::string seconds_text(std::chrono::nanoseconds duration);

/// @return  address and port, for instance "192.0.2.1:53" or "[2001:db8::1]:53"; of a prefix
///          "10.1.2.0/24" or "[10.1.2.0/24]:53"; ":53" where the record has no address, and "-"
///          where it has neither
[[nodiscard]] std::string source_text(const FlowView& flow);
/// The same; for ICMP "192.0.2.1:8.0", type and code.
[[nodiscard]] std::string destination_text(const FlowView& flow);

/// @return  decimal digits
[[nodiscard]] std::string count_text(WideCount count);

}  // namespace tributary
