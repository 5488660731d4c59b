// SPDX-License-Identifier: Apache-2.0
#include "export/listing/listed_tables.hpp"

#include <algorithm>

#include "export/listing/printable_text.hpp"
#include "export/options.hpp"

namespace tributary {
namespace {

void add_once(std::vector<std::string>& names, std::string_view name) {
    if (std::ranges::find(names, name) == names.end()) {
        names.emplace_back(name);
    }
}

}  // namespace

void ListedTables::name(std::string_view table) { add_once(known_, table); }

std::string_view ListedTables::name_of(const IpfixRecord& record) noexcept {
    return record.table.empty() ? kMainTable : record.table;
}

void ListedTables::change_to(std::string_view table) {
    last_ = table;
    last_is_taken_ = !chosen_ || *chosen_ == table;
    add_once(known_, table);
    add_once(with_records_, table);
}

void ListedTables::mix_up() {
    name(kUnnamedTable);
    is_mixed_ = is_mixed_ || !chosen_ || *chosen_ == kMainTable;
}

void ListedTables::check_sums() const {
    if (is_mixed_) {
        throw ListingRefused(
            "records were read before their tables were named, and may be of any of " +
            all_names() + ": they are not added up");
    }
    if (!are_one()) {
        throw ListingRefused("the records are of the tables " + all_names() +
                             ": choose one with --table");
    }
}

void ListedTables::check_choice() const {
    if (!chosen_ || std::ranges::find(known_, *chosen_) != known_.end()) {
        return;
    }
    const std::string fault = "there is no table '" + printable(*chosen_) + "'";
    if (!known_.empty()) {
        throw ListingRefused(fault + "; the tables are " + all_names());
    }
    if (*chosen_ != kMainTable) {
        throw ListingRefused(fault + ", and no record");
    }
}

/// For instance "main, subnets".
std::string ListedTables::all_names() const {
    std::string names;
    for (const std::string& each : known_) {
        names += (names.empty() ? "" : ", ") + each;
    }
    return names;
}

}  // namespace tributary
