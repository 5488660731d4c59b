// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "perf/support/ended_records.hpp"

namespace tributary::perf {

/// Ended records of IPv4 flows. Addresses, ports, flags, counters and times differ from record to
/// record as they do on a link, so that a compressor gains no more than it would there.
[[nodiscard]] inline std::vector<FlowRecord<kPlainRecord>> varied_records(std::uint32_t count) {
    constexpr std::uint32_t kMostPackets = 200;
    constexpr std::uint32_t kShortest = 46;
    constexpr std::uint32_t kLengths = 1400;
    constexpr std::uint32_t kMostMilliseconds = 30'000;
    constexpr std::uint32_t kFlags = 1U << 6U;  // of URG to FIN
    std::vector<FlowRecord<kPlainRecord>> records = ended_records(count);
    std::uint32_t random = 1;
    const auto below = [&random](std::uint32_t end) { return scrambled(random++) % end; };
    for (FlowRecord<kPlainRecord>& record : records) {
        FlowRecordCore& core = record.core;
        const std::uint32_t destination = scrambled(random++);
        std::memcpy(core.key.destination.data(), &destination, sizeof destination);
        core.key.source_port.value = static_cast<std::uint16_t>(below(1U << 16U));
        core.key.destination_port.value = below(2) == 0 ? 443 : 53;
        if (below(2) == 0) {
            core.key.protocol = ip_protocol::kTcp;
            core.tcp_control_bits = static_cast<std::uint16_t>(below(kFlags));
        }
        core.packets = 1 + below(kMostPackets);
        core.octets = core.packets * (kShortest + below(kLengths));
        core.start += std::chrono::milliseconds(below(kMostMilliseconds));
        core.end = core.start + std::chrono::milliseconds(below(kMostMilliseconds));
    }
    return records;
}

}  // namespace tributary::perf
