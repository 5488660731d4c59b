// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "export/metering_process.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_hasher.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/key_extractor.hpp"

namespace tributary {

/// Which of several places gets a flow of a table: the same one for both directions, from every
/// queue and in every run.
/// @thread  any; it does not change
class FlowShare {
public:
    /// Of a table whose key is that of FlowRecordCore. The interface does not count: the two
    /// directions of a tap come through two.
    FlowShare() = default;
    /// Of any table. The key of a declared one has the octets of its extension, too; and the
    /// interface, if nothing in the key belongs to one of two ends.
    ///
    /// @param layout  of the records that of() gets
    FlowShare(const RecordLayout& layout, const TableElements& table) noexcept;

    /// The flow's number, evenly over all 32 bits.
    ///
    /// @param record  of the table, aligned to 8
    [[nodiscard]] std::uint32_t of(const std::byte* record) const noexcept {
        return is_declared_ ? of_declared(record) : of_core(record);
    }

private:
    [[nodiscard]] std::uint32_t of_core(const std::byte* record) const noexcept;
    [[nodiscard]] std::uint32_t of_declared(const std::byte* record) const noexcept;

    FlowHasher hasher_{0};  // a seed of its own would give a flow another place after each start
    bool is_declared_{};
    bool has_ends_{};                  ///< something in the declared key belongs to one of two ends
    const KeyExtractor* extractor_{};  ///< of the declared key's extension; nullptr: it has none
    std::uint16_t extension_at_{};     ///< in a record
};

/// Those of all tables, by index.
[[nodiscard]] std::vector<FlowShare> flow_shares(const MeteringProcess& metering);

}  // namespace tributary
