// SPDX-License-Identifier: Apache-2.0
#include "export/listing/listing_run.hpp"

#include <cerrno>
#include <cstddef>
#include <system_error>

#include "export/listing/ipfix_reader.hpp"
#include "export/listing/printable_text.hpp"

namespace tributary {

ListingRun::ListingRun(const FlowListingOptions& options, std::ostream& out,
                       const std::function<void(const std::string&)>& warning)
    : listing_(options, out),
      warning_(warning),
      registry_(options.registry != nullptr ? options.registry
                                            : std::make_shared<ElementRegistry>()),
      unknown_(options.filter.elements()) {
    std::erase_if(unknown_, [this](const FlowFilter::NamedElement& each) {
        return registry_->has(each.name);
    });
}

ListingResult ListingRun::list(const std::function<void()>& read) {
    try {
        return list_all(read);
    } catch (const OutputFailed& failed) {
        if (failed.error == EPIPE) {
            return {ListingStatus::output_closed, {}};
        }
        return {ListingStatus::write_failure,
                "cannot write the listing: " +
                    std::generic_category().message(failed.error != 0 ? failed.error : EIO)};
    } catch (const ListingRefused& refused) {
        return {ListingStatus::usage, refused.what()};
    } catch (const FilterError& error) {
        return {ListingStatus::usage, error.what()};
    }
}

/// @errors  OutputFailed, ListingRefused, FilterError
ListingResult ListingRun::list_all(const std::function<void()>& read) {
    ListingResult result = read_all(read);
    if (result.status == ListingStatus::ok && !knows_elements()) {
        return {ListingStatus::usage, unknown_.front().fault()};
    }
    if (result.status == ListingStatus::ok) {
        listing_.finish();
    } else if (!listing_.is_empty()) {
        try {
            listing_.finish();
        } catch (const ListingRefused& refused) {  // not the first fault
            warning_(refused.what());
        }
    }
    return result;
}

void ListingRun::list_stream(std::istream& input, const std::string& name) {
    IpfixReader reader(input, name, registry_);
    list_records(reader);
    warn(reader, printable(name) + ": ");
}

void ListingRun::list_records(IpfixReader& reader) {
    std::size_t tables = 0;
    while (const IpfixRecord* record = reader.next()) {
        name_tables(reader, tables);
        has_records_ = true;
        listing_.add(*record);
    }
    std::erase_if(unknown_, [&reader](const FlowFilter::NamedElement& each) {
        return reader.has_element(each.name);
    });
}

/// Tells the listing of the tables that the input has named by now.
///
/// @param known  of them, from before
void ListingRun::name_tables(const IpfixReader& reader, std::size_t& known) {
    if (known == reader.tables().size()) {
        return;
    }
    for (; known < reader.tables().size(); ++known) {
        listing_.name_table(reader.tables()[known]);
    }
    if (reader.records_before_tables() != 0) {
        listing_.mix_up_tables();
    }
}

/// Reports what was not taken of an input.
///
/// @param place  of the input, for the front of a message
void ListingRun::warn(const IpfixReader& reader, const std::string& place) {
    if (reader.refused_names() != 0) {
        warning_(place + std::to_string(reader.refused_names()) +
                 " names of elements not taken, longer than " +
                 std::to_string(ElementNames::kLongestName) +
                 " octets or another element's: numbers stand for them");
    }
    if (reader.refused_tables() != 0) {
        warning_(place + std::to_string(reader.refused_tables()) +
                 " names of tables not taken, longer than " +
                 std::to_string(IpfixReader::kLongestTable) + " octets or more than " +
                 std::to_string(IpfixReader::kMostTables) + ": their records are of '" +
                 std::string(kUnnamedTable) + "'");
    }
    if (reader.refused_templates() != 0) {
        warning_(place + std::to_string(reader.refused_templates()) +
                 " templates refused, because there are too many; their records are not "
                 "listed");
        refusal_ = refusal_.empty() ? reader.first_refusal() : refusal_;
    }
    if (reader.sets_without_template() != 0) {
        warning_(place + std::to_string(reader.sets_without_template()) +
                 " sets skipped, for want of their template");
    }
}

void ListingRun::list_input(const std::function<void()>& read) {
    ++inputs_;
    try {
        read();
    } catch (const IpfixDataError& error) {
        note_failure(ListingStatus::data_error, error.what());
    } catch (const IpfixInputError& error) {
        note_failure(ListingStatus::no_input, error.what());
    }
}

void ListingRun::note_failure(ListingStatus status, const char* message) {
    if (failed_ > 0) {
        warning_(failure_.message);
    } else {
        failure_.status = status;
    }
    ++failed_;
    failure_.message = message;
}

/// Reads all inputs.
ListingResult ListingRun::read_all(const std::function<void()>& read) {
    try {
        read();
    } catch (const IpfixDataError& error) {
        return {ListingStatus::data_error, error.what()};
    } catch (const IpfixInputError& error) {
        return {ListingStatus::no_input, error.what()};
    }
    if (failed_ > 0) {
        const std::string of_all = " (" + std::to_string(failed_) + " of " +
                                   std::to_string(inputs_) +
                                   " inputs could not be read to the end)";
        return {failure_.status, failure_.message + (inputs_ > 1 ? of_all : "")};
    }
    if (!refusal_.empty()) {
        return {ListingStatus::data_error, refusal_};
    }
    return {};
}

ListingResult list_flow_stream(std::istream& input, const std::string& name,
                               const FlowListingOptions& options, std::ostream& out,
                               const std::function<void(const std::string&)>& warning) {
    ListingRun run(options, out, warning);
    return run.list([&] { run.list_stream(input, name); });
}

}  // namespace tributary
