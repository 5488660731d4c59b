// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tests/support/cache_harness.hpp"
#include "tests/support/packet_builder.hpp"

namespace tributary::test::biflow {

using namespace std::chrono_literals;

/// Short timeouts.
inline constexpr FlowCacheOptions kOptions{.max_flows = 64,
                                           .idle_timeout = 10s,
                                           .active_timeout = 60s,
                                           .direction = FlowDirection::biflow};
inline constexpr RecordLayout kLayout = RecordLayout::of({}, FlowDirection::biflow);
inline constexpr std::uint16_t kPushAck = 0x018;
inline constexpr std::uint16_t kSyn = tcp_flag::kSyn;
inline constexpr std::uint16_t kSynAck = tcp_flag::kSyn | tcp_flag::kAck;
inline constexpr std::uint16_t kAck = tcp_flag::kAck;
inline constexpr std::uint16_t kFinAck = tcp_flag::kFin | tcp_flag::kAck;
inline constexpr std::uint16_t kRst = tcp_flag::kRst;
inline constexpr std::uint16_t kSynRst = tcp_flag::kSyn | tcp_flag::kRst;

using BiflowHarness = CacheHarness<144>;

/// A packet from port 40000 of 192.0.2.1 to port 443 of 198.51.100.2.
inline PacketFields request(std::uint16_t tcp_control_bits = kPushAck) {
    return {.source = ip_address("192.0.2.1"),
            .destination = ip_address("198.51.100.2"),
            .source_port = {40000},
            .destination_port = {443},
            .protocol = ip_protocol::kTcp,
            .ip_version = 4,
            .ip_bytes = 100,
            .tcp_control_bits = tcp_control_bits};
}

inline PacketFields answer_to(PacketFields fields, std::uint16_t tcp_control_bits = kPushAck) {
    std::swap(fields.source, fields.destination);
    std::swap(fields.source_port, fields.destination_port);
    fields.tcp_control_bits = tcp_control_bits;
    fields.ip_bytes = 1000;
    return fields;
}

template <std::size_t kBytes>
ReverseGroup& reverse_of(FlowRecord<kBytes>& record) {
    return record.template group<ReverseGroup>(kLayout.reverse_at);
}

/// Ends all flows.
///
/// @return  all records so far; each flow that was created is one of them
template <class Harness>
auto end_all(Harness& harness, Timestamp now) {
    CHECK(harness.cache.end_all(now, harness.sink));
    CHECK(harness.counters.entries.read() == 0);
    CHECK(harness.counters.flows_created.read() == harness.sink.records.size());
    return harness.sink.records;
}

}  // namespace tributary::test::biflow
