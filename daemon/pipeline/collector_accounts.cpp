// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/collector_accounts.hpp"

#include <algorithm>

#include "export/collector_events.hpp"
#include "export/export_error.hpp"

namespace tributary {

CollectorAccounts::CollectorAccounts(const std::vector<CollectorOptions>& collectors) {
    static_cast<void>(choose(collectors));
}

std::vector<std::size_t> CollectorAccounts::choose(
    const std::vector<CollectorOptions>& collectors) {
    rename_moved(collectors);
    for (Account& account : accounts_) {
        account.is_in_use = false;
    }
    std::vector<std::size_t> chosen;
    chosen.reserve(collectors.size());
    for (const CollectorOptions& collector : collectors) {
        chosen.push_back(account_of(collector));
    }
    return chosen;
}

/// Gives accounts with a spool the names of the collectors that have these spools now.
void CollectorAccounts::rename_moved(const std::vector<CollectorOptions>& collectors) {
    for (const CollectorOptions& collector : collectors) {
        const std::string name = describe(collector);
        const auto moved = std::ranges::find_if(accounts_, [&](const Account& account) {
            return account.is_in_use && collector.spool.is_on() &&
                   account.spool == collector.spool.directory;
        });
        if (moved == accounts_.end() || moved->name == name) {
            continue;
        }
        const bool is_taken = std::ranges::any_of(
            accounts_, [&](const Account& account) { return account.name == name; });
        if (is_taken) {
            throw ExportError("there is an account of " + name +
                              " since the start, which the collector with the spool " +
                              collector.spool.directory + " cannot have; that needs a restart");
        }
        moved->name = name;
    }
}

std::size_t CollectorAccounts::account_of(const CollectorOptions& collector) {
    const std::string name = describe(collector);
    auto known = std::ranges::find_if(accounts_, [&](const Account& account) {
        return account.name == name && !account.is_in_use;
    });
    if (known == accounts_.end() && accounts_.size() == kMost) {
        throw ExportError("there have been " + std::to_string(kMost) +
                          " different collectors since the start; a restart clears them");
    }
    if (known == accounts_.end()) {
        known = accounts_.insert(known, {.name = name});
    }
    known->is_in_use = true;
    known->spool = collector.spool.directory;
    return static_cast<std::size_t>(known - accounts_.begin());
}

}  // namespace tributary
