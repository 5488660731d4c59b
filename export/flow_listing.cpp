// SPDX-License-Identifier: Apache-2.0
#include "export/flow_listing.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <system_error>

#include "export/flow_json.hpp"
#include "export/flow_ranking.hpp"
#include "export/flow_table.hpp"
#include "export/flow_view.hpp"
#include "export/ipfix_reader.hpp"

namespace tributary {
namespace {

/// The output has failed; `error` is the errno of its last write.
struct OutputFailed {
    int error;
};

/// What the last line of a table says.
struct Totals {
    RecordTally tally;
    Timestamp start = Timestamp::max();
    Timestamp end = Timestamp::min();

    void add(const FlowView& flow) {
        tally += flow.tally();
        if (flow.start() != Timestamp{}) {
            start = std::min(start, flow.start());
            end = std::max(end, flow.end());
        }
    }
};

std::uint64_t rank_of(const FlowView& flow, FlowOrder order) {
    const RecordTally tally = flow.tally();
    if (order == FlowOrder::packets) {
        return tally.packets;
    }
    if (order == FlowOrder::rate) {
        constexpr double kSecond = 1e9;
        const auto lasts = static_cast<double>((flow.end() - flow.start()).count());
        return static_cast<std::uint64_t>(static_cast<double>(tally.octets) /
                                          std::max(1.0, lasts / kSecond));
    }
    return tally.octets;
}

/// Takes records one by one and prints those that are asked for, at once or in their order at the
/// end.
class Listing {
public:
    Listing(const FlowListingOptions& options, std::ostream& out)
        : options_(options),
          out_(out),
          ranked_(options.top || options.order != FlowOrder::as_read),
          table_(out),
          ranked_flows_(options.top),
          ranked_lines_(options.top) {}

    void add(const IpfixRecord& record) {
        if (record.layout->options) {
            if (options_.json && !ranked_ && options_.filter.matches_all()) {
                print_line(record_json(record));
            }
            return;
        }
        const FlowView flow = view_flow(record);
        if (!options_.filter.matches(flow)) {
            return;
        }
        totals_.add(flow);
        if (ranked_) {
            rank(flow, record);
        } else if (options_.json) {
            print_line(record_json(record));
        } else {
            print_row(flow);
        }
    }

    [[nodiscard]] bool is_empty() const noexcept { return totals_.tally.records == 0; }

    void finish() {
        ranked_lines_.drain([this](const std::string& line) { print_line(line); });
        ranked_flows_.drain([this](const FlowView& flow) { print_row(flow); });
        errno = 0;
        if (!options_.json) {
            table_.flush();
            print_summary();
        }
        out_.flush();
        check_output();
    }

private:
    void rank(const FlowView& flow, const IpfixRecord& record) {
        const std::uint64_t rank = rank_of(flow, options_.order);
        if (!options_.json) {
            ranked_flows_.add(rank, flow);
        } else if (ranked_lines_.admits(rank)) {
            ranked_lines_.add(rank, record_json(record));
        }
    }
    void print_line(const std::string& line) {
        errno = 0;
        out_ << line << '\n';
        check_output();
    }
    void print_row(const FlowView& flow) {
        errno = 0;
        table_.add(flow);
        ++printed_;
        check_output();
    }
    void print_summary() {
        out_ << totals_.tally.records << " records, " << totals_.tally.packets << " packets, "
             << totals_.tally.octets << " octets";
        if (totals_.start <= totals_.end) {
            out_ << ", " << time_text(totals_.start) << " to " << time_text(totals_.end) << " ("
                 << seconds_text(totals_.end - totals_.start) << " s)";
        }
        if (printed_ < totals_.tally.records) {
            out_ << "; the first " << printed_ << " shown";
        }
        out_ << '\n';
    }
    void check_output() const {
        if (!out_) {
            throw OutputFailed{errno};
        }
    }

    const FlowListingOptions& options_;
    std::ostream& out_;
    bool ranked_;
    FlowTable table_;
    FlowRanking<FlowView> ranked_flows_;
    FlowRanking<std::string> ranked_lines_;
    Totals totals_;
    std::uint64_t printed_{};
};

void list_stream(std::istream& input, const std::string& name, Listing& listing,
                 const std::function<void(const std::string&)>& warning) {
    IpfixReader reader(input, name);
    while (const IpfixRecord* record = reader.next()) {
        listing.add(*record);
    }
    if (reader.sets_without_template() != 0) {
        warning(name + ": " + std::to_string(reader.sets_without_template()) +
                " sets skipped, for want of their template");
    }
}

void list_file(const std::string& path, Listing& listing,
               const std::function<void(const std::string&)>& warning) {
    if (path == "-") {
        list_stream(std::cin, "standard input", listing, warning);
        return;
    }
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw IpfixInputError(
            path + ": cannot open: " + std::generic_category().message(errno != 0 ? errno : EIO));
    }
    list_stream(file, path, listing, warning);
}

/// Reads all that there is. @param read  does it
ListingResult read_all(const std::function<void()>& read) {
    try {
        read();
    } catch (const IpfixDataError& error) {
        return {ListingStatus::data_error, error.what()};
    } catch (const IpfixInputError& error) {
        return {ListingStatus::no_input, error.what()};
    }
    return {};
}

/// Lists what is read, and tells how it went.
ListingResult list_all(Listing& listing, const std::function<void()>& read) {
    try {
        ListingResult result = read_all(read);
        if (result.status == ListingStatus::ok || !listing.is_empty()) {
            listing.finish();
        }
        return result;
    } catch (const OutputFailed& failed) {
        if (failed.error == EPIPE) {
            return {ListingStatus::output_closed, {}};
        }
        return {ListingStatus::write_failure,
                "cannot write the listing: " +
                    std::generic_category().message(failed.error != 0 ? failed.error : EIO)};
    }
}

}  // namespace

ListingResult list_flows(const FlowListingOptions& options, std::ostream& out,
                         const std::function<void(const std::string&)>& warning) {
    Listing listing(options, out);
    return list_all(listing, [&] {
        for (const std::string& path : options.files) {
            list_file(path, listing, warning);
        }
    });
}

ListingResult list_flow_stream(std::istream& input, const std::string& name,
                               const FlowListingOptions& options, std::ostream& out,
                               const std::function<void(const std::string&)>& warning) {
    Listing listing(options, out);
    return list_all(listing, [&] { list_stream(input, name, listing, warning); });
}

}  // namespace tributary
