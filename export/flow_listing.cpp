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
#include "export/printable_text.hpp"

namespace tributary {
namespace {

/// The output has failed; `error` is the errno of its last write.
struct OutputFailed {
    int error;
};

/// What the last line of a table says.
struct Totals {
    std::uint64_t records{};
    WideCount packets{};
    WideCount octets{};
    Timestamp start = Timestamp::max();
    Timestamp end = Timestamp::min();

    void add(const FlowView& flow) {
        ++records;
        packets += flow.packets();
        octets += flow.octets();
        if (flow.start() != Timestamp{}) {
            start = std::min(start, flow.start());
            end = std::max(end, flow.end());
        }
    }
};

/// Octets of 2^63 ns at the flow's rate, so that whole numbers tell slow flows apart, too: octets
/// have 65 bits, and a time less than 2^63 ns. A flow shorter than a second, or without both times,
/// counts as one of a second.
WideCount rate_of(const FlowView& flow) {
    constexpr unsigned kScaleBits = 63;
    constexpr std::int64_t kSecond = 1'000'000'000;
    const std::int64_t lasts = flow.is_timed() ? (flow.end() - flow.start()).count() : 0;
    return (flow.octets() << kScaleBits) / static_cast<std::uint64_t>(std::max(kSecond, lasts));
}

WideCount rank_of(const FlowView& flow, FlowOrder order) {
    switch (order) {
        case FlowOrder::packets:
            return flow.packets();
        case FlowOrder::rate:
            return rate_of(flow);
        case FlowOrder::octets:
        case FlowOrder::as_read:
            break;
    }
    return flow.octets();
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

    [[nodiscard]] bool is_empty() const noexcept { return totals_.records == 0; }

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
        const WideCount rank = rank_of(flow, options_.order);
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
        out_ << totals_.records << " records, " << count_text(totals_.packets) << " packets, "
             << count_text(totals_.octets) << " octets";
        if (totals_.start <= totals_.end) {
            out_ << ", " << time_text(totals_.start) << " to " << time_text(totals_.end) << " ("
                 << seconds_text(totals_.end - totals_.start) << " s)";
        }
        if (printed_ < totals_.records) {
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

/// What all inputs of a listing share, and what it tells beside the flows.
struct Remarks {
    const std::function<void(const std::string&)>& warning;
    std::shared_ptr<const ElementRegistry> registry;
    std::string refusal;  ///< the first, of all inputs; empty: all templates were taken
};

std::shared_ptr<const ElementRegistry> registry_for(const FlowListingOptions& options) {
    return options.registry != nullptr ? options.registry : std::make_shared<ElementRegistry>();
}

void list_stream(std::istream& input, const std::string& name, Listing& listing, Remarks& remarks) {
    IpfixReader reader(input, name, remarks.registry);
    while (const IpfixRecord* record = reader.next()) {
        listing.add(*record);
    }
    const std::string place = printable(name) + ": ";
    if (reader.refused_names() != 0) {
        remarks.warning(place + std::to_string(reader.refused_names()) +
                        " names of elements not taken, longer than " +
                        std::to_string(ElementNames::kLongestName) +
                        " octets or another element's: numbers stand for them");
    }
    if (reader.refused_templates() != 0) {
        remarks.warning(place + std::to_string(reader.refused_templates()) +
                        " templates refused, because there are too many; their records are not "
                        "listed");
        remarks.refusal = remarks.refusal.empty() ? reader.first_refusal() : remarks.refusal;
    }
    if (reader.sets_without_template() != 0) {
        remarks.warning(place + std::to_string(reader.sets_without_template()) +
                        " sets skipped, for want of their template");
    }
}

void list_file(const std::string& path, Listing& listing, Remarks& remarks) {
    if (path == "-") {
        std::cin.tie(nullptr);  // else reading writes out what was printed, and finds its fault
        list_stream(std::cin, "standard input", listing, remarks);
        return;
    }
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw IpfixInputError(printable(path) + ": cannot open: " +
                              std::generic_category().message(errno != 0 ? errno : EIO));
    }
    list_stream(file, path, listing, remarks);
}

/// Reads all that there is. @param read  does it
ListingResult read_all(Remarks& remarks, const std::function<void()>& read) {
    try {
        read();
    } catch (const IpfixDataError& error) {
        return {ListingStatus::data_error, error.what()};
    } catch (const IpfixInputError& error) {
        return {ListingStatus::no_input, error.what()};
    }
    if (!remarks.refusal.empty()) {
        return {ListingStatus::data_error, remarks.refusal};
    }
    return {};
}

/// Lists what is read, and tells how it went.
ListingResult list_all(Listing& listing, Remarks& remarks, const std::function<void()>& read) {
    try {
        ListingResult result = read_all(remarks, read);
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
    Remarks remarks{warning, registry_for(options), {}};
    return list_all(listing, remarks, [&] {
        for (const std::string& path : options.files) {
            list_file(path, listing, remarks);
        }
    });
}

ListingResult list_flow_stream(std::istream& input, const std::string& name,
                               const FlowListingOptions& options, std::ostream& out,
                               const std::function<void(const std::string&)>& warning) {
    Listing listing(options, out);
    Remarks remarks{warning, registry_for(options), {}};
    return list_all(listing, remarks, [&] { list_stream(input, name, listing, remarks); });
}

}  // namespace tributary
