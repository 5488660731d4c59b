// SPDX-License-Identifier: Apache-2.0
#include "export/listing/record_viewer.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "flowcache/fields/field_groups.hpp"

using namespace tributary;
using namespace std::chrono_literals;

namespace {

using Record = FlowRecord<456>;
const RecordLayout kLayout =
    RecordLayout::of(groups_of<ExtremesGroup, TcpAnalysisGroup>(), FlowDirection::biflow);

/// A TCP connection, of which both directions were seen.
Record connection() {
    Record record{};
    FlowRecordCore& core = record.core;
    core.key.ip_version = 4;
    core.key.protocol = ip_protocol::kTcp;
    core.key.source = {std::byte{10}, std::byte{1}, std::byte{2}, std::byte{3}};
    core.key.destination = {std::byte{192}, std::byte{0}, std::byte{2}, std::byte{9}};
    core.key.source_port = {5000};
    core.key.destination_port = {443};
    core.packets = 7;
    core.octets = 7000;
    core.start = Timestamp{1'700'000'000s};
    core.end = core.start + 5s;
    core.tcp_control_bits = tcp_flag::kSyn | tcp_flag::kAck;
    core.end_reason = FlowEndReason::idle_timeout;
    auto& reverse = record.group<ReverseGroup>(kLayout.reverse_at);
    reverse.packets = 3;
    reverse.octets = 300;
    reverse.start = core.start + 1s;
    reverse.end = core.start + 6s;
    auto& extremes = record.group<ExtremesGroup>(kLayout.at<ExtremesGroup>());
    extremes.minimum_ttl = 58;
    extremes.maximum_ttl = 64;
    auto& back = record.group<ExtremesGroup>(kLayout.back_at<ExtremesGroup>());
    back.minimum_ttl = back.maximum_ttl = 200;
    return record;
}

bool matches(const std::string& filter, const Record& record = connection()) {
    RecordViewer viewer(kLayout, {}, TimestampUnit::milliseconds);
    const FlowFilter parsed(filter);
    viewer.check(parsed);
    const RecordViewer::View view = viewer.view(reinterpret_cast<const std::byte*>(&record));
    return parsed.matches(view.flow, &view.record);
}

std::size_t places(const std::string& filter) {
    const RecordViewer viewer(kLayout, {}, TimestampUnit::milliseconds);
    const auto found = viewer.changing_places(FlowFilter(filter).condition());
    return found ? found->size() : 1000;
}

}  // namespace

TEST_CASE("RecordViewer: a record is what a filter of its exported form sees", "[export][unit]") {
    for (const char* const filter :
         {"tcp", "host 10.1.2.3 and port 443", "packets = 10", "octets = 7300", "duration = 6s",
          "maximumTTL - minimumTTL = 6", "reverseMinimumTTL = 200", "flags SA", "reason idle",
          "reverse-packets = 3", "sourceTransportPort = 5000", "net 192.0.2.0/24",
          "packets - reverse-packets = 7", "minimumTTL + maximumTTL + 2 = 124",
          "minimumTTL - maximumTTL = -6", "minimumTTL - maximumTTL < - 5",
          "reverseMinimumTTL - maximumTTL > 100 and tcp", "flowStartMilliseconds > 2023-11-14"}) {
        INFO(filter);
        CHECK(matches(filter));
        CHECK_FALSE(matches("not (" + std::string(filter) + ")"));
    }
    for (const char* const filter :
         {"udp", "packets = 7", "maximumTTL - minimumTTL > 6", "reason active", "vlan",
          "retransmissions > 0", "net 10.2.0.0/16"}) {
        CHECK_FALSE(matches(filter));
    }
    Record unanswered = connection();
    unanswered.group<ReverseGroup>(kLayout.reverse_at).packets = 0;
    CHECK_FALSE(matches("reverseMinimumTTL - maximumTTL > 0", unanswered));
    CHECK_FALSE(matches("reverseMinimumTTL - maximumTTL <= 0", unanswered));
}

TEST_CASE("RecordViewer: what later packets may change", "[export][unit]") {
    CHECK(places("tcp and port 80 and dscp = 0") == 0);
    CHECK(places("maximumTTL - minimumTTL > 3") == 4);  // of both directions
    CHECK(places("not (flags S)") == 2);
    CHECK(places("packets > 5") == 1000);
    CHECK(places("tcp and rate > 5 and minimumTTL > 3") == 1000);
    CHECK(depends_on_end(FlowFilter("tcp or not (reason idle)").condition()));
    CHECK(depends_on_end(FlowFilter("flowEndReason = 1").condition()));
    CHECK_FALSE(depends_on_end(FlowFilter("packets > 3").condition()));
}

TEST_CASE("RecordViewer: names and types that records do not have are refused", "[export][unit]") {
    const RecordViewer viewer(kLayout, {}, TimestampUnit::milliseconds);
    const auto fault_of = [&viewer](const std::string& filter) {
        try {
            viewer.check(FlowFilter(filter));
        } catch (const FilterError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(fault_of("tcp and fragmentFlags = 0") ==
          "filter, column 9: 'fragmentFlags' is no word of filters, and no element that the "
          "table's records have");
    CHECK(fault_of("maximumTTL + sourceIPv4Address > 3") ==
          "filter, column 14: 'sourceIPv4Address' is no whole number, and cannot be added");
    CHECK(fault_of("maximumTTL > x").find("is a number, expected one") != std::string::npos);
    CHECK(fault_of("not (maximumTTL > 3) or retransmissions > 3").empty());
}
