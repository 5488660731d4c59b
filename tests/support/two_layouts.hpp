// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "export/metering_process.hpp"
#include "flowcache/record/flow_record.hpp"
#include "tests/support/export_harness.hpp"

// Records of two tables, for exports that have both: uniflows with the default fields, and, in the
// table `second`, biflows with the groups extremes and layer2.
namespace tributary::test {

inline const RecordLayout kSecondLayout =
    RecordLayout::of(groups_of<ExtremesGroup, Layer2Group>(), FlowDirection::biflow);

inline MeteringProcess two_layouts() {
    MeteringProcess metering;
    metering.further = {{.name = "second", .layout = kSecondLayout}};
    return metering;
}

/// Has all collectors take both tables.
inline void take_both(ExportOptions& options) {
    for (CollectorOptions& collector : options.collectors) {
        collector.tables = {std::string(kMainTable), "second"};
    }
}

/// A biflow of the second layout: 10 packets of 1000 octets there, 3 of 300 back, and a VLAN for
/// each third, whose template is another one.
inline Record biflow_of(std::uint16_t number) {
    Record record = record_of(number, number % 2 == 0 ? 4 : 6);
    record.core.key.vlan = {static_cast<std::uint16_t>(number % 3 == 0 ? 100 : 0)};
    auto& reverse = record.group<ReverseGroup>(kSecondLayout.reverse_at);
    reverse.packets = 3;
    reverse.octets = 300;
    reverse.start = record.core.start;
    reverse.end = record.core.end;
    for (const std::uint16_t at :
         {kSecondLayout.at<ExtremesGroup>(), kSecondLayout.back_at<ExtremesGroup>()}) {
        record.group<ExtremesGroup>(at) = {.minimum_ip_total_length = 100,
                                           .maximum_ip_total_length = 100,
                                           .minimum_ttl = 60,
                                           .maximum_ttl = 64};
    }
    for (const std::uint16_t at :
         {kSecondLayout.at<Layer2Group>(), kSecondLayout.back_at<Layer2Group>()}) {
        record.group<Layer2Group>(at).layer2_octets = 1400;
        record.group<Layer2Group>(at).has_mac_addresses = true;
    }
    return record;
}

}  // namespace tributary::test
