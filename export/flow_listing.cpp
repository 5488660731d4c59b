// SPDX-License-Identifier: Apache-2.0
#include "export/flow_listing.hpp"

#include <cerrno>
#include <memory>
#include <system_error>

#include "export/ipfix_reader.hpp"
#include "export/listing_input.hpp"
#include "export/listing_writer.hpp"
#include "export/printable_text.hpp"

namespace tributary {
namespace {

/// What all inputs of a listing share, and what it tells beside the flows.
struct Remarks {
    const std::function<void(const std::string&)>& warning;
    std::shared_ptr<const ElementRegistry> registry;
    std::string refusal;  ///< the first, of all inputs; empty: all templates were taken
};

std::shared_ptr<const ElementRegistry> registry_for(const FlowListingOptions& options) {
    return options.registry != nullptr ? options.registry : std::make_shared<ElementRegistry>();
}

void list_stream(std::istream& input, const std::string& name, ListingWriter& listing,
                 Remarks& remarks) {
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

/// A file, or all of a directory.
void list_path(const std::string& path, ListingWriter& listing, Remarks& remarks) {
    for (const std::string& file : files_of(path)) {
        const std::unique_ptr<ListingInput> input =
            file == path ? ListingInput::open(file) : ListingInput::open_of_directory(file);
        list_stream(input->stream(), input->name(), listing, remarks);
    }
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
ListingResult list_all(ListingWriter& listing, Remarks& remarks,
                       const std::function<void()>& read) {
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
    ListingWriter listing(options, out);
    Remarks remarks{warning, registry_for(options), {}};
    return list_all(listing, remarks, [&] {
        for (const std::string& path : options.files) {
            list_path(path, listing, remarks);
        }
    });
}

ListingResult list_flow_stream(std::istream& input, const std::string& name,
                               const FlowListingOptions& options, std::ostream& out,
                               const std::function<void(const std::string&)>& warning) {
    ListingWriter listing(options, out);
    Remarks remarks{warning, registry_for(options), {}};
    return list_all(listing, remarks, [&] { list_stream(input, name, listing, remarks); });
}

}  // namespace tributary
