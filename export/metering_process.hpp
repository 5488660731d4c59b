// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flowcache/record/counter.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/key_descriptor.hpp"
#include "flowcache/record/options.hpp"

namespace tributary {

/// An interface whose packets are metered, as options records describe it.
struct ObservedInterface {
    std::uint32_t index{};    ///< ingressInterface of its packets
    std::string name;         ///< interfaceName
    std::string description;  ///< interfaceDescription
    SamplingOptions sampling;
};

/// Losses before the export, since the start; the same as in the ledger.
struct PreExportLosses {
    std::uint64_t ignored_packets{};
    std::uint64_t ignored_octets{};  ///< of these, on the wire
    /// By the NIC: missed, and without a buffer; nothing: unknown.
    std::optional<std::uint64_t> dropped_packets{0};
    RecordTally lost;  ///< records for which a ring or cache had no room
};

/// The process that makes the exported records.
struct MeteringProcess {
    RecordLayout layout;  ///< of the records of flows
    KeyDescriptor key{};  ///< of these flows
    /// Of further records, of other tables. An index of a layout is 0 for `layout`, and from 1 on
    /// for these.
    std::vector<RecordLayout> further_layouts{};
    /// The keys of those tables, in the same order. A table that has none here has the default key.
    std::vector<KeyDescriptor> further_keys{};
    bool knows_drops = true;  ///< PreExportLosses::dropped_packets is there
    std::vector<ObservedInterface> interfaces{};
    std::function<PreExportLosses()>
        totals{};  ///< called by the export thread; empty: nothing is lost

    /// All of them, by index.
    [[nodiscard]] std::vector<RecordLayout> layouts() const {
        std::vector<RecordLayout> all{layout};
        all.insert(all.end(), further_layouts.begin(), further_layouts.end());
        return all;
    }
    /// @param index  of a layout
    [[nodiscard]] KeyDescriptor key_of(std::size_t index) const {
        if (index == 0) {
            return key;
        }
        return index <= further_keys.size() ? further_keys[index - 1] : KeyDescriptor{};
    }
};

}  // namespace tributary
