// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "export/export_error.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"

namespace tributary {

/// The tables whose records a collector takes, by their index in the MeteringProcess.
class TakenTables {
public:
    /// Indexes are below that.
    static constexpr std::size_t kMost = 64;
    static_assert(kTablePlaces < kMost);

    void add(std::size_t table) noexcept { bits_ |= bit_of(table); }
    void add(const TakenTables& others) noexcept { bits_ |= others.bits_; }
    [[nodiscard]] TakenTables common(const TakenTables& others) const noexcept {
        TakenTables both;
        both.bits_ = bits_ & others.bits_;
        return both;
    }
    void remove(std::size_t table) noexcept { bits_ &= ~bit_of(table); }
    [[nodiscard]] bool has(std::size_t table) const noexcept {
        return (bits_ & bit_of(table)) != 0;
    }
    friend bool operator==(const TakenTables&, const TakenTables&) = default;

private:
    [[nodiscard]] static std::uint64_t bit_of(std::size_t table) noexcept {
        return std::uint64_t{1} << table;
    }

    std::uint64_t bits_{};
};

/// The tables of a collector from a change on.
struct TableChoice {
    TakenTables taken;      ///< that it takes
    TakenTables staying;    ///< that are the same as before the change
    bool takes_new = true;  ///< new records; false: a retired session, which sends those it has
};

/// The names of all tables, by index; those of free places are empty.
///
/// @errors  ExportError: there are more than kTablePlaces further ones
[[nodiscard]] std::vector<std::string> table_names(const MeteringProcess& metering);

/// The tables that the collector's options name: all that have one of the names.
///
/// @param names    of table_names()
/// @errors  ExportError: a name is not among them
[[nodiscard]] TakenTables taken_tables(const CollectorOptions& collector,
                                       std::span<const std::string> names);

}  // namespace tributary
