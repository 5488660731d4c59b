// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "flowcache/record/flow_record.hpp"
#include "parsers/packet_fields.hpp"
#include "perf/support/random.hpp"

namespace tributary::perf {

/// Size of a record without field groups.
inline constexpr std::size_t kPlainRecord = record_size(RecordLayout{});

/// Ended records of IPv4 flows; the packets of the n-th are n.
[[nodiscard]] inline std::vector<FlowRecord<kPlainRecord>> ended_records(std::uint32_t count) {
    std::vector<FlowRecord<kPlainRecord>> records(count);
    for (std::uint32_t n = 0; n < count; ++n) {
        FlowRecordCore& core = records[n].core;
        const std::uint32_t address = scrambled(n);
        core.key.ip_version = 4;
        core.key.protocol = ip_protocol::kUdp;
        core.key.ingress_interface = {1};
        std::memcpy(core.key.source.data(), &address, sizeof address);
        core.packets = n + 1;
        core.octets = 46 * core.packets;
        core.start = Timestamp{std::chrono::seconds{1'600'000'000}};
        core.end = core.start + std::chrono::milliseconds(n);
        core.end_reason = FlowEndReason::idle_timeout;
    }
    return records;
}

}  // namespace tributary::perf
