// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "export/options.hpp"

namespace tributary {

/// A fault of a file of a collector's `tls` at a time.
struct CertificateFault {
    std::string key;   ///< `ca` or `certificate`
    std::string file;  ///< its value
    std::string text;  ///< "its certificate CN=x expired at ..."
};

/// The certificates in a collector's files that have expired at this time, or are not valid yet; of
/// several in a file the first. A file that cannot be read has none: opening a TlsStream reports
/// it.
///
/// @thread  any
[[nodiscard]] std::vector<CertificateFault> untimely_certificates(const CollectorOptions& collector,
                                                                  std::time_t now);

}  // namespace tributary
