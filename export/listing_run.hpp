// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>

#include "export/flow_listing.hpp"
#include "export/listing_writer.hpp"

namespace tributary {

/// One listing of any number of inputs. Where they come from is the caller's business: what opens
/// files links libarchive, which is too much for tributaryd.
/// @thread  one
class ListingRun {
public:
    /// @param options  outlive the run, like `out` and `warning`
    ListingRun(const FlowListingOptions& options, std::ostream& out,
               const std::function<void(const std::string&)>& warning);

    /// Lists all inputs, and tells how it went.
    ///
    /// @param read  calls list_stream() for each
    [[nodiscard]] ListingResult list(const std::function<void()>& read);
    /// Lists one input.
    ///
    /// @errors  IpfixDataError, IpfixInputError, OutputFailed
    void list_stream(std::istream& input, const std::string& name);

private:
    [[nodiscard]] ListingResult read_all(const std::function<void()>& read) const;

    ListingWriter listing_;
    const std::function<void(const std::string&)>& warning_;
    std::shared_ptr<const ElementRegistry> registry_;
    std::string refusal_;  ///< the first, of all inputs; empty: all templates were taken
};

}  // namespace tributary
