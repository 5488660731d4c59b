// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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
    /// The same of further tables, present and former, by name; may be fewer.
    std::map<std::string, RecordTally, std::less<>> further_lost{};

    [[nodiscard]] RecordTally lost_of(std::string_view table) const {
        if (table == kMainTable) {
            return lost;
        }
        const auto found = further_lost.find(table);
        return found == further_lost.end() ? RecordTally{} : found->second;
    }
};

/// Places that further tables may have: eight tables, and as many former ones that still end.
inline constexpr std::size_t kTablePlaces = 16;

/// A table of flows beside the first one.
struct FurtherTable {
    /// Not kMainTable. Two places have the same one only where one of the tables is ending. Empty:
    /// the place is free.
    std::string name{};
    RecordLayout layout;
    TableElements elements{};
    /// Its flows have ended, and its last records are on their way to the collectors that took it.
    bool is_ending = false;

    [[nodiscard]] bool is_there() const noexcept { return !name.empty(); }
    /// Whether these are the same but for is_ending.
    [[nodiscard]] bool is_same_as(const FurtherTable& other) const {
        return name == other.name && layout == other.layout && elements == other.elements;
    }
};

/// The process that makes the exported records.
struct MeteringProcess {
    RecordLayout layout;  ///< of the records of flows
    KeyDescriptor key{};  ///< of these flows
    /// Other tables, by place; some places may be free. The index of a table is 0 for the first
    /// one, and its place + 1 for these. At most kTablePlaces.
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
    /// Whether there is a table with this index.
    [[nodiscard]] bool has(std::size_t index) const noexcept {
        return index == 0 || (index <= further.size() && further[index - 1].is_there());
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
