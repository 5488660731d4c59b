// SPDX-License-Identifier: Apache-2.0
#include "export/listing/listing_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "export/listing/entry_json.hpp"
#include "export/listing/flow_json.hpp"
#include "export/listing/further_values.hpp"
#include "export/listing/group_listing.hpp"
#include "export/messages/flow_csv.hpp"
#include "export/options.hpp"

namespace tributary {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// Octets of 2^63 ns at the flow's rate, so that whole numbers distinguish slow flows, too: octets
/// have 65 bits, and a time less than 2^63 ns. A flow shorter than a second, or without both times,
/// counts as one of a second.
WideCount rate_of(const FlowView& flow) {
    constexpr unsigned kScaleBits = 63;
    const std::int64_t lasts = flow.is_timed() ? (flow.end() - flow.start()).count() : 0;
    return (flow.octets() << kScaleBits) / static_cast<std::uint64_t>(std::max(kSecond, lasts));
}

/// A flow without the count is ranked behind a count of 0.
WideCount rank_of_count(const std::optional<WideCount>& count) {
    return count ? *count + 1 : WideCount{0};
}

std::optional<WideCount> count_of(const FlowView& flow, std::size_t place) {
    FlowGroup alone;
    alone.add(flow);
    return alone.count(place);
}

WideCount rank_of(const FlowView& flow, const FlowListingOptions& options) {
    switch (options.order) {
        case FlowOrder::count:
            return rank_of_count(count_of(flow, options.count));
        case FlowOrder::packets:
            return flow.packets();
        case FlowOrder::rate:
            return rate_of(flow);
        case FlowOrder::octets:
        case FlowOrder::as_read:
        case FlowOrder::flows:
            break;
    }
    return flow.octets();
}

/// A sum may be of 2^32 flows and more, so a rate is in octets per 1000 seconds here.
WideCount rank_of(const FlowGroup& group, const FlowListingOptions& options) {
    constexpr std::uint64_t kScale = 1'000'000'000'000;
    const std::int64_t lasts = group.is_timed() ? (group.end - group.start).count() : 0;
    switch (options.order) {
        case FlowOrder::count:
            return rank_of_count(group.count(options.count));
        case FlowOrder::packets:
            return group.packets + group.reverse_packets;
        case FlowOrder::rate:
            return (group.octets + group.reverse_octets) * kScale /
                   static_cast<std::uint64_t>(std::max(kSecond, lasts));
        case FlowOrder::flows:
            return group.flows;
        case FlowOrder::octets:
        case FlowOrder::as_read:
            break;
    }
    return group.octets + group.reverse_octets;
}

/// Whether an options record says what an element is (RFC 5610).
bool describes_element(const IpfixRecord& record) {
    constexpr std::uint16_t kElementName = 341;
    return std::ranges::any_of(record.layout->fields, [](const IpfixField& field) {
        return field.element->enterprise == 0 && field.element->number == kElementName;
    });
}

/// @source  RFC 4180 §2
std::string csv_text(std::string_view text) {
    if (text.find_first_of(",\"") == std::string_view::npos) {
        return std::string(text);
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted.append(c == '"' ? 2 : 1, c);
    }
    return quoted + '"';
}

}  // namespace

void ListingTotals::add(const FlowView& flow) noexcept {
    ++records;
    packets += flow.packets();
    octets += flow.octets();
    if (flow.start() != Timestamp{}) {
        start = std::min(start, flow.start());
        end = std::max(end, flow.end());
    }
}

ListingWriter::ListingWriter(const FlowListingOptions& options, std::ostream& out)
    : options_(options),
      out_(out),
      ranked_(options.top ||
              (options.order != FlowOrder::as_read && options.order != FlowOrder::flows)),
      tables_(options.table),
      table_(out),
      ranked_flows_(options.top),
      ranked_lines_(options.top),
      groups_(options.by),
      ipfix_(out) {}

/// Whether records of a second table are refused at once: each record changes what is printed of
/// others, or a line does not tell its table.
bool ListingWriter::needs_one_table() const noexcept {
    const bool tells_tables = options_.format != ListingFormat::csv || has_table_column_;
    return !options_.by.empty() || options_.top || !tells_tables;
}

void ListingWriter::add(const IpfixRecord& record) {
    if (record.layout->options) {
        add_options(record);
        return;
    }
    if (!tables_.take(record)) {
        return;
    }
    print_header(!tables_.is_one_chosen() && !record.table.empty());
    if (needs_one_table()) {
        tables_.check_sums();
    }
    const FlowView flow = view_flow(record);
    if (!options_.filter.matches(flow, &record) || !options_.window.has(flow)) {
        return;
    }
    totals_.add(flow);
    if (options_.by.empty()) {
        list(flow, record);
    } else {
        groups_.add(flow);
    }
}

void ListingWriter::add_options(const IpfixRecord& record) {
    const bool wants_all = !ranked_ && options_.by.empty() && options_.filter.matches_all() &&
                           options_.window.is_endless() && !tables_.is_one_chosen();
    if (options_.format == ListingFormat::json && wants_all) {
        print_line(record_json(record));
    } else if (options_.format == ListingFormat::ipfix &&
               (wants_all || describes_element(record))) {
        write_ipfix(record);
    }
}

void ListingWriter::list(const FlowView& flow, const IpfixRecord& record) {
    if (options_.format == ListingFormat::ipfix) {
        write_ipfix(record);
        return;
    }
    const bool in_lines = options_.format != ListingFormat::table;
    if (!ranked_) {
        in_lines ? print_line(line_of(flow, record)) : print_row(row_of(flow, record));
        return;
    }
    const WideCount rank = rank_of(flow, options_);
    if (!in_lines && ranked_flows_.admits(rank)) {
        ranked_flows_.add(rank, row_of(flow, record));
    } else if (in_lines && ranked_lines_.admits(rank)) {
        ranked_lines_.add(rank, line_of(flow, record));
    }
}

/// Records of the main table have columns for what they have.
ListedFlow ListingWriter::row_of(const FlowView& flow, const IpfixRecord& record) const {
    const bool is_declared = !record.table.empty() && record.table != kMainTable;
    return {.flow = flow,
            .table = std::string(tables_.is_one_chosen() ? std::string_view() : record.table),
            .further = is_declared ? further_values(record, flow) : std::vector<FurtherValue>()};
}

std::string ListingWriter::line_of(const FlowView& flow, const IpfixRecord& record) const {
    switch (options_.format) {
        case ListingFormat::json:
            return record_json(record);
        case ListingFormat::entry_json:
            return entry_json(record);
        case ListingFormat::csv:
        case ListingFormat::ipfix:
        case ListingFormat::table:
            break;
    }
    std::string line = flow_csv(flow, counts_);
    if (has_table_column_) {
        line += ',' + csv_text(ListedTables::name_of(record));
    }
    return line;
}

void ListingWriter::finish() {
    tables_.check_choice();
    if (needs_one_table()) {
        tables_.check_sums();
    }
    print_header(false);
    ranked_lines_.drain([this](const std::string& line) { print_line(line); });
    ranked_flows_.drain([this](const ListedFlow& flow) { print_row(flow); });
    errno = 0;
    ipfix_.finish();
    if (!options_.by.empty()) {
        print_groups();
    } else if (options_.format == ListingFormat::table) {
        table_.flush();
        if (tables_.are_one()) {
            print_summary(printed_, totals_.records);
        }
    }
    out_.flush();
    check_output();
    if (options_.format == ListingFormat::table) {
        tables_.check_sums();
    }
}

void ListingWriter::print_groups() {
    const GroupRows all = groups_.groups();
    FlowRanking<const FlowGroup*> ranking(options_.top);
    for (const FlowGroup* const group : all) {
        ranking.add(rank_of(*group, options_), group);
    }
    GroupRows rows;
    ranking.drain([&rows](const FlowGroup* group) { rows.push_back(group); });
    if (options_.format == ListingFormat::table) {
        print_group_table(groups_.fields(), rows, out_);
        print_summary(rows.size(), all.size());
        return;
    }
    for (const FlowGroup* const group : rows) {
        print_line(options_.format == ListingFormat::json ? group_json(groups_.fields(), *group)
                                                          : group_csv(groups_.fields(), *group));
    }
}

/// Once, for CSV: not before there is something to list, so that an input that is no IPFIX, or has
/// not the chosen table, lists nothing.
///
/// @param names_tables  a column has the name of the flow's table
void ListingWriter::print_header(bool names_tables) {
    const bool is_due = options_.format == ListingFormat::csv && !has_header_;
    if (!is_due) {
        return;
    }
    has_header_ = true;
    has_table_column_ = names_tables && options_.by.empty();
    const std::string header =
        options_.by.empty() ? flow_csv_header() : group_csv_header(options_.by);
    print_line(header + (has_table_column_ ? ",table" : ""));
}

void ListingWriter::print_line(const std::string& line) {
    errno = 0;
    out_ << line << '\n';
    check_output();
}

void ListingWriter::write_ipfix(const IpfixRecord& record) {
    errno = 0;
    ipfix_.add(record);
    check_output();
}

void ListingWriter::print_row(const ListedFlow& flow) {
    errno = 0;
    table_.add(flow);
    ++printed_;
    check_output();
}

/// @param shown  flows or groups, of `all`
void ListingWriter::print_summary(std::uint64_t shown, std::uint64_t all) {
    out_ << totals_.records << " records, " << count_text(totals_.packets) << " packets, "
         << count_text(totals_.octets) << " octets";
    if (totals_.start <= totals_.end) {
        out_ << ", " << time_text(totals_.start) << " to " << time_text(totals_.end) << " ("
             << seconds_text(totals_.end - totals_.start) << " s)";
    }
    if (!options_.by.empty()) {
        out_ << ", " << all << " groups";
    }
    if (shown < all) {
        out_ << "; the first " << shown << " shown";
    }
    out_ << '\n';
}

void ListingWriter::check_output() const {
    if (!out_) {
        throw OutputFailed{errno};
    }
}

}  // namespace tributary
