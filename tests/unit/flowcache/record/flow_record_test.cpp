// SPDX-License-Identifier: Apache-2.0
#include "flowcache/record/flow_record.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>

using namespace tributary;

namespace {

constexpr FieldGroups kCommon = groups_of<ExtremesGroup, Layer2Group, TcpCountsGroup>();

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
    CHECK(plain.back_at<ExtremesGroup>() == 0);
    CHECK(record_size(plain) == 144);

    const RecordLayout common = RecordLayout::of(kCommon, FlowDirection::biflow);
    CHECK(common.reverse_at == 80);
    CHECK(common.at<ExtremesGroup>() == 136);
    CHECK(common.at<Layer2Group>() == 152);
    CHECK(common.at<TcpCountsGroup>() == 184);
    CHECK(common.back_at<ExtremesGroup>() == 208);
    CHECK(common.back_at<Layer2Group>() == 224);
    CHECK(common.back_at<TcpCountsGroup>() == 256);
    CHECK(common.back_at<MplsGroup>() == 0);
    CHECK(common.bytes == 280);
    CHECK(record_size(common) == 280);
}

TEST_CASE("RecordLayout: a uniflow has no group of the reverse direction", "[flowcache][unit]") {
    CHECK(RecordLayout::of({}).bytes == 80);
    CHECK(RecordLayout::of({}).reverse_at == 0);
    const RecordLayout common = RecordLayout::of(kCommon);
    CHECK(common.at<ExtremesGroup>() == 80);
    CHECK(common.back_at<ExtremesGroup>() == 0);
    CHECK(common.bytes == 152);
    CHECK(record_size(common) == 152);
}

TEST_CASE("RecordLayout: analysed TCP takes 64 octets a direction, whole cache lines",
          "[flowcache][unit]") {
    const RecordLayout uniflow = RecordLayout::of(groups_of<TcpAnalysisGroup>());
    CHECK(uniflow.at<TcpAnalysisGroup>() == 80);
    CHECK(uniflow.back_at<TcpAnalysisGroup>() == 0);
    CHECK(record_size(uniflow) == record_size(RecordLayout::of({})) + 64);

    const RecordLayout biflow =
        RecordLayout::of(groups_of<TcpAnalysisGroup>(), FlowDirection::biflow);
    CHECK(biflow.at<TcpAnalysisGroup>() == 80);
    CHECK(biflow.back_at<TcpAnalysisGroup>() == 144);
    CHECK(biflow.reverse_at == 208);
    CHECK(biflow.reversed().at<TcpAnalysisGroup>() == 144);
    CHECK(biflow.groups() == groups_of<TcpAnalysisGroup>());
    CHECK(record_size(biflow) == record_size(RecordLayout::of({}, FlowDirection::biflow)) + 128);

    const FieldGroups common =
        groups_of<ExtremesGroup, Layer2Group, TcpCountsGroup, TcpAnalysisGroup>();
    CHECK(record_size(RecordLayout::of(common)) == record_size(RecordLayout::of(kCommon)) + 64);
}

TEST_CASE("tally_of: one record, with what both directions have", "[flowcache][unit]") {
    const RecordLayout layout = RecordLayout::of(groups_of<ExtremesGroup>(), FlowDirection::biflow);
    CHECK(tally_of(biflow(layout, 3), layout) == RecordTally{1, 13, 1300});
    CHECK(tally_of(biflow(layout, 0), layout) == RecordTally{1, 10, 1000});
    CHECK(tally_of(biflow(layout, 3), {}) == RecordTally{1, 10, 1000});  // the same as a uniflow
}

TEST_CASE("latest_packet: of either direction, if it has a packet", "[flowcache][unit]") {
    using std::chrono::seconds;
    const RecordLayout layout = RecordLayout::of(groups_of<ExtremesGroup>(), FlowDirection::biflow);
    FlowRecord<280> record = biflow(layout, 3);
    CHECK(latest_packet(bytes_of(record), layout) == Timestamp{seconds{9}});
    record.core.end = Timestamp{seconds{10}};
    CHECK(latest_packet(bytes_of(record), layout) == Timestamp{seconds{10}});
    record = biflow(layout, 0);
    CHECK(latest_packet(bytes_of(record), layout) == Timestamp{seconds{5}});
    CHECK(latest_packet(bytes_of(record), {}) == Timestamp{seconds{5}});
}
