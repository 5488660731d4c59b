// SPDX-License-Identifier: Apache-2.0
#include "daemon/collector_accounts.hpp"

#include <algorithm>

#include "export/collector_events.hpp"
#include "export/export_error.hpp"

namespace tributary {

CollectorAccounts::CollectorAccounts(const std::vector<CollectorOptions>& collectors) {
    static_cast<void>(choose(collectors));
}

std::vector<std::size_t> CollectorAccounts::choose(
    const std::vector<CollectorOptions>& collectors) {
    for (Account& account : accounts_) {
        account.is_in_use = false;
    }
    std::vector<std::size_t> chosen;
    for (const CollectorOptions& collector : collectors) {
        const std::string name = describe(collector);
        const auto known = std::ranges::find_if(accounts_, [&](const Account& account) {
            return account.name == name && !account.is_in_use;
        });
        if (known == accounts_.end() && accounts_.size() == kMost) {
            throw ExportError("there have been " + std::to_string(kMost) +
                              " different collectors since the start; a restart forgets them");
        }
        chosen.push_back(static_cast<std::size_t>(known - accounts_.begin()));
        if (known == accounts_.end()) {
            accounts_.push_back({.name = name, .is_in_use = true});
        } else {
            known->is_in_use = true;
        }
    }
    return chosen;
}

}  // namespace tributary
