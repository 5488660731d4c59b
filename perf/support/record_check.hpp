// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "parsers/parse_packet.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/metering.hpp"
#include "perf/support/reference_meter.hpp"

namespace tributary::perf {

inline void meter(ReferenceMeter& reference, const FrameBurst& burst) {
    for (const PacketView& packet : burst.frames) {
        PacketFields fields;
        demand(parse_packet(packet, {}, fields) == ParseStatus::ok, "parsing");
        reference.packet(fields, packet.ingress_interface, packet.seen_at);
    }
}

/// Compares the pipeline's records with those of a slow meter for the same packets.
///
/// @param metering     new
/// @param packet_time  nanoseconds per packet
/// @param what         subject of the check; for messages
inline void check_records(Metering& metering, const FlowTraffic& traffic, double packet_time,
                          const std::string& what) {
    constexpr std::uint64_t kPackets = 200'000;
    ReferenceMeter reference(metering.options());
    metering.listen([&reference](const FlowRecordCore& record, const RecordLayout& layout) {
        reference.expect(record, layout);
    });
    FlowNic nic(traffic);
    const auto both = [&](std::uint64_t packets) {
        metering.run(packets);
        for (std::uint64_t done = 0; done < packets; done += kBurstPackets) {
            meter(reference, nic.receive());
        }
    };
    metering.begin_fill();
    nic.fill(kIdleTimeout);
    while (!nic.filled()) {
        both(kBurstPackets);
    }
    metering.set_packet_time(packet_time);
    nic.set_packet_time(packet_time);
    both(kPackets);
    metering.finish();
    reference.finish(metering.now());
    reference.check(what);
    demand(metering.export_side.records() == metering.counters().flows_created.read(), what);
    demand(metering.counters().ended[5].read() == 0, what + ": flows were evicted");
}

}  // namespace tributary::perf
