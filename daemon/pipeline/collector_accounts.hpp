// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "export/options.hpp"

namespace tributary {

/// Assigns each collector an account of the export's counters. A collector that returns after a
/// change gets its former account again.
/// @thread  any, one at a time
class CollectorAccounts {
public:
    /// Different collectors over the whole life of a probe.
    static constexpr std::size_t kMost = 256;

    struct Account {
        std::string name;  ///< describe() of its collector
        bool is_in_use{};
        std::string spool{};  ///< directory of its spool; empty: it has none
    };

    explicit CollectorAccounts(const std::vector<CollectorOptions>& collectors);

    /// The accounts of these collectors, in their order; all others become unused. An account in
    /// use with a spool stays with the spool, and gets the name of the spool's collector.
    ///
    /// @errors  ExportError: too many collectors since the start, or another account has that name;
    ///          nothing that matters has changed then
    [[nodiscard]] std::vector<std::size_t> choose(const std::vector<CollectorOptions>& collectors);
    [[nodiscard]] const std::vector<Account>& all() const noexcept { return accounts_; }

private:
    [[nodiscard]] std::size_t account_of(const CollectorOptions& collector);
    void rename_moved(const std::vector<CollectorOptions>& collectors);

    std::vector<Account> accounts_;
};

}  // namespace tributary
