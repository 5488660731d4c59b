// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "export/options.hpp"
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
    RecordTally lost;  ///< records of the first table for which a ring or cache had no room
    std::vector<RecordTally> further_lost{};  ///< the same of further tables; may be fewer

    /// @param index  of a table
    [[nodiscard]] RecordTally lost_of(std::size_t index) const noexcept {
        if (index == 0) {
            return lost;
        }
        return index <= further_lost.size() ? further_lost[index - 1] : RecordTally{};
    }
};

/// A table of flows beside the first one.
struct FurtherTable {
    std::string name{};  ///< not kMainTable, and not that of another table
    RecordLayout layout;
    TableElements elements{};
};

/// The process that makes the exported records.
struct MeteringProcess {
    RecordLayout layout;  ///< of the records of flows
    KeyDescriptor key{};  ///< of these flows
    /// Other tables. The index of a table is 0 for the first one, and from 1 on for these.
    std::vector<FurtherTable> further{};
    bool knows_drops = true;  ///< PreExportLosses::dropped_packets is there
    std::vector<ObservedInterface> interfaces{};
    std::function<PreExportLosses()>
        totals{};  ///< called by the export thread; empty: nothing is lost

    /// Of all tables, by index.
    [[nodiscard]] std::vector<RecordLayout> layouts() const {
        std::vector<RecordLayout> all{layout};
        for (const FurtherTable& table : further) {
            all.push_back(table.layout);
        }
        return all;
    }
    /// @param index  of a table
    [[nodiscard]] TableElements elements_of(std::size_t index) const {
        if (index == 0) {
            return {.key = key, .name = std::string(kMainTable)};
        }
        TableElements elements = further[index - 1].elements;
        elements.name = further[index - 1].name;
        return elements;
    }
};

}  // namespace tributary
