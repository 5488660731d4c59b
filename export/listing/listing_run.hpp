// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "export/listing/flow_filter.hpp"
#include "export/listing/flow_listing.hpp"
#include "export/listing/ipfix_reader.hpp"
#include "export/listing/listing_writer.hpp"

namespace tributary {

/// One listing of any number of inputs. The caller opens them: the code that opens files links
/// libarchive, which is too much for tributaryd.
/// @thread  one
class ListingRun {
public:
    /// @param options  outlive the run, like `out` and `warning`
    ListingRun(const FlowListingOptions& options, std::ostream& out,
               const std::function<void(const std::string&)>& warning);

    /// Lists all inputs, and returns the result.
    ///
    /// @param read  calls list_stream() for each, or list_input()
    [[nodiscard]] ListingResult list(const std::function<void()>& read);
    /// One of several inputs. If it fails, that is reported, and the inputs behind it are listed
    /// all the same.
    ///
    /// @param read    calls list_stream()
    /// @errors        OutputFailed, ListingRefused, FilterError
    void list_input(const std::function<void()>& read);
    /// Lists one input.
    ///
    /// @errors  IpfixDataError, IpfixInputError, OutputFailed, ListingRefused, FilterError
    void list_stream(std::istream& input, const std::string& name);

private:
    [[nodiscard]] ListingResult list_all(const std::function<void()>& read);
    [[nodiscard]] ListingResult read_all(const std::function<void()>& read);
    void list_records(IpfixReader& reader);
    void name_tables(const IpfixReader& reader, std::size_t& known);
    void warn(const IpfixReader& reader, const std::string& place);
    [[nodiscard]] bool knows_elements() const noexcept { return unknown_.empty() || !has_records_; }
    void note_failure(ListingStatus status, const char* message);

    ListingWriter listing_;
    const std::function<void(const std::string&)>& warning_;
    std::shared_ptr<const ElementRegistry> registry_;
    /// Elements of the filter that no input so far has named, and that are not registered.
    std::vector<FlowFilter::NamedElement> unknown_;
    bool has_records_{};
    std::string refusal_;  ///< the first, of all inputs; empty: all templates were taken
    std::size_t inputs_{};
    std::size_t failed_{};   ///< of them
    ListingResult failure_;  ///< the first one's status, and the last one's message
};

}  // namespace tributary
