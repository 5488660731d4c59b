// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/ipfix/ipfix_template.hpp"

namespace tributary {

/// What was asked for does not fit the inputs; one line for the user.
struct ListingRefused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The tables of the records of a listing. Several tables may have the same packets, so that sums
/// over all of them would count these more than once.
///
/// The records of an input that names no table are those of the main table: there is no other one.
class ListedTables {
public:
    /// @param chosen  nothing: all
    explicit ListedTables(std::optional<std::string> chosen) : chosen_(std::move(chosen)) {}

    /// An input has named a table.
    void name(std::string_view table);
    /// A record of flows has been read.
    ///
    /// @return  whether it is in the listing: of the chosen table
    [[nodiscard]] bool take(const IpfixRecord& record) {
        const std::string_view table = name_of(record);
        if (table != last_) {
            change_to(table);
        }
        return last_is_taken_;
    }
    /// Records were read before the input named its first table: which tables they are of, is not
    /// known.
    void mix_up();

    /// The table of a record of flows.
    [[nodiscard]] static std::string_view name_of(const IpfixRecord& record) noexcept;
    [[nodiscard]] bool is_one_chosen() const noexcept { return chosen_.has_value(); }
    /// Whether sums over the records so far are of one table.
    [[nodiscard]] bool are_one() const noexcept {
        return !is_mixed_ && (chosen_.has_value() || with_records_.size() <= 1);
    }
    /// @errors  ListingRefused: sums would be over several tables
    void check_sums() const;
    /// @errors  ListingRefused: no input has the chosen table
    void check_choice() const;

private:
    void change_to(std::string_view table);
    [[nodiscard]] std::string all_names() const;

    std::optional<std::string> chosen_;
    std::vector<std::string> known_;  ///< of options records and of flow records, as they came
    std::vector<std::string> with_records_;  ///< tables of which a flow record was read
    std::string last_;                       ///< of the record before; empty: there is none
    bool last_is_taken_{};
    bool is_mixed_{};
};

}  // namespace tributary
