// SPDX-License-Identifier: Apache-2.0
#include "flowcache/record/flow_record.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>

using namespace tributary;

namespace {

constexpr FieldGroups kCommon{.extremes = true, .layer2 = true, .tcp_counts = true};

FlowRecord<280> biflow(const RecordLayout& layout, std::uint64_t packets_back) {
    FlowRecord<280> record{};
    record.core.packets = 10;
    record.core.octets = 1000;
    record.core.end = Timestamp{std::chrono::seconds{5}};
    auto& reverse = record.group<ReverseGroup>(layout.reverse_at);
    reverse.packets = packets_back;
    reverse.octets = 100 * packets_back;
    reverse.end = Timestamp{std::chrono::seconds{9}};
    return record;
}

const std::byte* bytes_of(const FlowRecord<280>& record) {
    return reinterpret_cast<const std::byte*>(&record);
}

}  // namespace

TEST_CASE("RecordLayout: a biflow has each chosen group once more", "[flowcache][unit]") {
    const RecordLayout plain = RecordLayout::of({}, FlowDirection::biflow);
    CHECK(plain.reverse_at == 80);
    CHECK(plain.forward_span_at == 120);
    CHECK(plain.bytes == 136);
    CHECK(plain.reverse_extremes_at == 0);
    CHECK(record_size(plain) == 144);

    const RecordLayout common = RecordLayout::of(kCommon, FlowDirection::biflow);
    CHECK(common.reverse_at == 80);
    CHECK(common.extremes_at == 136);
    CHECK(common.layer2_at == 152);
    CHECK(common.tcp_counts_at == 184);
    CHECK(common.reverse_extremes_at == 208);
    CHECK(common.reverse_layer2_at == 224);
    CHECK(common.reverse_tcp_counts_at == 256);
    CHECK(common.reverse_mpls_at == 0);
    CHECK(common.bytes == 280);
    CHECK(record_size(common) == 280);
}

TEST_CASE("RecordLayout: a uniflow has no group of the reverse direction", "[flowcache][unit]") {
    CHECK(RecordLayout::of({}).bytes == 80);
    CHECK(RecordLayout::of({}).reverse_at == 0);
    const RecordLayout common = RecordLayout::of(kCommon);
    CHECK(common.extremes_at == 80);
    CHECK(common.reverse_extremes_at == 0);
    CHECK(common.bytes == 152);
    CHECK(record_size(common) == 152);
}

TEST_CASE("RecordLayout: analysed TCP takes 64 octets a direction, whole cache lines",
          "[flowcache][unit]") {
    const RecordLayout uniflow = RecordLayout::of({.tcp_analysis = true});
    CHECK(uniflow.tcp_analysis_at == 80);
    CHECK(uniflow.reverse_tcp_analysis_at == 0);
    CHECK(record_size(uniflow) == record_size(RecordLayout::of({})) + 64);

    const RecordLayout biflow = RecordLayout::of({.tcp_analysis = true}, FlowDirection::biflow);
    CHECK(biflow.tcp_analysis_at == 80);
    CHECK(biflow.reverse_tcp_analysis_at == 144);
    CHECK(biflow.reverse_at == 208);
    CHECK(biflow.reversed().tcp_analysis_at == 144);
    CHECK(biflow.groups() == FieldGroups{.tcp_analysis = true});
    CHECK(record_size(biflow) == record_size(RecordLayout::of({}, FlowDirection::biflow)) + 128);

    const FieldGroups common{
        .extremes = true, .layer2 = true, .tcp_counts = true, .tcp_analysis = true};
    CHECK(record_size(RecordLayout::of(common)) == record_size(RecordLayout::of(kCommon)) + 64);
}

TEST_CASE("tally_of: one record, with what both directions have", "[flowcache][unit]") {
    const RecordLayout layout = RecordLayout::of({.extremes = true}, FlowDirection::biflow);
    CHECK(tally_of(biflow(layout, 3), layout) == RecordTally{1, 13, 1300});
    CHECK(tally_of(biflow(layout, 0), layout) == RecordTally{1, 10, 1000});
    CHECK(tally_of(biflow(layout, 3), {}) == RecordTally{1, 10, 1000});  // the same as a uniflow
}

TEST_CASE("latest_packet: of either direction, if it has a packet", "[flowcache][unit]") {
    using std::chrono::seconds;
    const RecordLayout layout = RecordLayout::of({.extremes = true}, FlowDirection::biflow);
    FlowRecord<280> record = biflow(layout, 3);
    CHECK(latest_packet(bytes_of(record), layout) == Timestamp{seconds{9}});
    record.core.end = Timestamp{seconds{10}};
    CHECK(latest_packet(bytes_of(record), layout) == Timestamp{seconds{10}});
    record = biflow(layout, 0);
    CHECK(latest_packet(bytes_of(record), layout) == Timestamp{seconds{5}});
    CHECK(latest_packet(bytes_of(record), {}) == Timestamp{seconds{5}});
}
