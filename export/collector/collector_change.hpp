// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "export/options.hpp"

namespace tributary {

/// Whether a spool, or files that are rotated, bind a collector to the probe: it cannot be replaced
/// while the probe runs, but its limits, its address and its tables can change.
[[nodiscard]] inline bool is_bound(const CollectorOptions& collector) noexcept {
    return collector.spool.is_on() || collector.rotation.is_on();
}

/// Whether two collectors have one file or one spool.
[[nodiscard]] bool share_place(const CollectorOptions& a, const CollectorOptions& b);

/// Whether two collectors are one topic of Kafka: its name is the same, and a broker of one is
/// among those of the other.
[[nodiscard]] bool share_topic(const CollectorOptions& a, const CollectorOptions& b) noexcept;

/// The keys that would change of a bound collector, and that no reload changes: "timestamps and
/// direction". Empty: only its limits and, with a spool, its address differ.
[[nodiscard]] std::string fixed_changes(const CollectorOptions& today,
                                        const CollectorOptions& wanted);

/// The keys of all collectors that would change and that restart all sessions: "export.timestamps".
/// Empty: none.
[[nodiscard]] std::string common_changes(const ExportOptions& today, const ExportOptions& wanted);

}  // namespace tributary
