// SPDX-License-Identifier: Apache-2.0
#include "flowcache/entry_update.hpp"

using namespace tributary;

std::uint64_t packets_of(const EntryUpdate<sizeof(FlowRecordCore)>& update, HotEntry& entry) {
    static_cast<void>(entry.counts.counts_.packets);  // forbidden
    return update.expanded(entry).packets;
}
