// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/ledger_rows.hpp"

using namespace tributary;

struct MoreCounters : QueueLedger {
    std::uint64_t without_row{};
};

static_assert(has_row_for_each_member<QueueLedger>(kQueueRows));
static_assert(has_row_for_each_member<MoreCounters>(kQueueRows));  // forbidden
