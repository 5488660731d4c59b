// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "export/listing/flow_groups.hpp"
#include "export/listing/flow_listing.hpp"
#include "export/listing/flow_ranking.hpp"
#include "export/listing/flow_table.hpp"
#include "export/listing/ipfix_writer.hpp"
#include "export/listing/listed_tables.hpp"

namespace tributary {

/// The output has failed; `error` is the errno of its last write.
struct OutputFailed {
    int error;
};

/// The numbers in the last line of a table.
struct ListingTotals {
    std::uint64_t records{};
    WideCount packets{};
    WideCount octets{};
    Timestamp start = Timestamp::max();
    Timestamp end = Timestamp::min();

    void add(const FlowView& flow) noexcept;
};

/// Takes records one by one and prints the selected ones, at once or in their order at the end.
class ListingWriter {
public:
    /// @param options  outlive the writer, like `out`
    ListingWriter(const FlowListingOptions& options, std::ostream& out);

    /// An input has named a table; before its records.
    void name_table(std::string_view table) { tables_.name(table); }
    /// @errors  OutputFailed; ListingRefused: the listing adds up, and this record is of another
    ///          table than those before it; FilterError
    void add(const IpfixRecord& record);
    /// See ListedTables.
    void mix_up_tables() { tables_.mix_up(); }
    /// No flow has matched so far.
    [[nodiscard]] bool is_empty() const noexcept { return totals_.records == 0; }
    /// Prints the lines that are held back.
    ///
    /// @errors  OutputFailed; ListingRefused: no input has the chosen table, or a summary would be
    ///          of several tables, and all else is printed
    void finish();

private:
    [[nodiscard]] bool needs_one_table() const noexcept;
    void add_options(const IpfixRecord& record);
    void list(const FlowView& flow, const IpfixRecord& record);
    [[nodiscard]] std::string line_of(const FlowView& flow, const IpfixRecord& record) const;
    [[nodiscard]] ListedFlow row_of(const FlowView& flow, const IpfixRecord& record) const;
    void print_header(bool names_tables);
    void print_line(const std::string& line);
    void write_ipfix(const IpfixRecord& record);
    void print_row(const ListedFlow& flow);
    void print_groups();
    void print_summary(std::uint64_t shown, std::uint64_t all);
    void check_output() const;

    const FlowListingOptions& options_;
    std::ostream& out_;
    bool ranked_;
    bool has_header_{};
    bool has_table_column_{};  ///< of CSV
    ListedTables tables_;
    FlowTable table_;
    ListedCounts counts_;
    FlowRanking<ListedFlow> ranked_flows_;
    FlowRanking<std::string> ranked_lines_;
    FlowGroups groups_;
    IpfixWriter ipfix_;
    ListingTotals totals_;
    std::uint64_t printed_{};
};

}  // namespace tributary
