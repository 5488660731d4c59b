// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_listing.hpp"

#include <memory>
#include <string>
#include <vector>

#include "export/listing/ipfix_reader.hpp"
#include "export/listing/listing_input.hpp"
#include "export/listing/listing_run.hpp"

namespace tributary {
namespace {

/// Lists a file, or all files of a directory.
void list_path(const std::string& path, ListingRun& run) {
    std::vector<std::string> files;
    try {
        files = files_of(path);
    } catch (const IpfixInputError&) {
        run.list_input([] { throw; });
    }
    for (const std::string& file : files) {
        run.list_input([&] {
            const std::unique_ptr<ListingInput> input =
                file == path ? ListingInput::open(file) : ListingInput::open_of_directory(file);
            run.list_stream(input->stream(), input->name());
        });
    }
}

}  // namespace

ListingResult list_flows(const FlowListingOptions& options, std::ostream& out,
                         const std::function<void(const std::string&)>& warning) {
    ListingRun run(options, out, warning);
    return run.list([&] {
        for (const std::string& path : options.files) {
            list_path(path, run);
        }
    });
}

}  // namespace tributary
