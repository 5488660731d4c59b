// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/biflow_splitter.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "tests/support/encoder_pair.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;
using std::chrono::milliseconds;

namespace {

Timestamp after(int more) { return Timestamp{milliseconds{1'600'000'000'000 + more}}; }

/// A TCP biflow with every group: 10 packets there, 3 back, of which the groups differ in all.
Record with_all_groups(const RecordLayout& layout, std::uint8_t ip_version = 4) {
    Record record = record_of(4711, ip_version);
    record.core.key.protocol = 6;
    record.core.tcp_control_bits = 0x1B;
    record.group<ReverseGroup>(layout.reverse_at) = {.tcp_control_bits = 0x12,
                                                     .ip_class_of_service = 0x88,
                                                     .packets = 3,
                                                     .octets = 300,
                                                     .start = after(300),
                                                     .end = after(2100)};
    for (const bool is_back : {false, true}) {
        const RecordLayout half = is_back ? layout.reversed() : layout;
        const std::uint8_t by = is_back ? 2 : 1;
        record.group<ExtremesGroup>(half.at<ExtremesGroup>()) = {
            .minimum_ip_total_length = 40U * by, .maximum_ip_total_length = 1000U * by};
        record.group<Layer2Group>(half.at<Layer2Group>()) = {
            .layer2_octets = std::uint64_t{2000} * by, .has_mac_addresses = true};
        record.group<TcpCountsGroup>(half.at<TcpCountsGroup>()) = {.syn = by, .ack = 7U * by};
        record.group<FlowLabelGroup>(half.at<FlowLabelGroup>()) = {.flow_label = 5U * by};
        record.group<MplsGroup>(half.at<MplsGroup>()).labels = 1;
        record.group<TunnelGroup>(half.at<TunnelGroup>()).kind = TunnelKind::gre;
        record.group<TunnelGroup>(half.at<TunnelGroup>()).ip_version = 6;
        record.group<TunnelGroup>(half.at<TunnelGroup>()).id = by;
        record.group<FragmentsGroup>(half.at<FragmentsGroup>()) = {.fragment_flags = by};
    }
    return record;
}

}  // namespace

TEST_CASE("BiflowSplitter: each direction has its own analysed TCP", "[export][unit]") {
    const FieldGroups groups = groups_of<TcpAnalysisGroup>();
    const RecordLayout layout = RecordLayout::of(groups, FlowDirection::biflow);
    const RecordLayout half = RecordLayout::of(groups);
    BiflowSplitter splitter(layout);
    Record biflow = record_of(4711);
    biflow.core.key.protocol = 6;
    biflow.group<ReverseGroup>(layout.reverse_at).packets = 3;
    biflow.group<TcpAnalysisGroup>(layout.at<TcpAnalysisGroup>()).retransmissions = 5;
    biflow.group<TcpAnalysisGroup>(layout.back_at<TcpAnalysisGroup>()).retransmissions = 6;
    const BiflowSplitter::Uniflows uniflows = splitter.split(bytes_of(biflow));
    const auto retransmissions = [&half](const std::byte* record) {
        return reinterpret_cast<const TcpAnalysisGroup*>(record + half.at<TcpAnalysisGroup>())
            ->retransmissions;
    };
    REQUIRE(uniflows.second != nullptr);
    CHECK(retransmissions(uniflows.first) == 5);
    CHECK(retransmissions(uniflows.second) == 6);
}

TEST_CASE("BiflowSplitter: each direction has its own values", "[export][unit]") {
    const RecordLayout layout = RecordLayout::of(kAllGroups, FlowDirection::biflow);
    BiflowSplitter splitter(layout);
    CHECK(splitter.layout().bytes == RecordLayout::of(kAllGroups).bytes);
    EncoderPair pair(kAllGroups);
    const Record biflow = with_all_groups(layout);
    const BiflowSplitter::Uniflows uniflows = splitter.split(bytes_of(biflow));
    REQUIRE(uniflows.second != nullptr);
    REQUIRE(pair.encoder.append_pair(uniflows.first, uniflows.second) == AppendResult::added);
    const DecodedMessage message = pair.finish();
    REQUIRE(message.records.size() == 2);
    const DecodedRecord& there = message.records[0];
    const DecodedRecord& back = message.records[1];
    CHECK(elements_of(there) == elements_of(back));
    CHECK_FALSE(there.has(239));
    CHECK(there.values.at(8) == back.values.at(12));
    CHECK(there.values.at(12) == back.values.at(8));
    CHECK((there.number(7) == 4711 && back.number(11) == 4711));
    CHECK((there.number(11) == 53 && back.number(7) == 53));
    CHECK((there.number(2) == 10 && back.number(2) == 3));
    CHECK((there.number(1) == 1000 && back.number(1) == 300));
    CHECK((there.number(6) == 0x1B && back.number(6) == 0x12));
    CHECK((there.number(5) == 0 && back.number(5) == 0x88));
    CHECK((there.number(152) == 1'600'000'000'250 && back.number(152) == 1'600'000'000'300));
    CHECK((there.number(153) == 1'600'000'000'750 && back.number(153) == 1'600'000'002'100));
    CHECK((there.number(136) == 1 && back.number(136) == 1));
    CHECK((there.number(25) == 40 && back.number(25) == 80));
    CHECK((there.number(352) == 2000 && back.number(352) == 4000));
    CHECK((there.number(222) == 7 && back.number(222) == 14));
    CHECK((there.number(kOfEnterprise | 2U) == 1 && back.number(kOfEnterprise | 2U) == 2));
    CHECK((there.number(197) == 1 && back.number(197) == 2));
}

TEST_CASE("BiflowSplitter: a direction without packets has no record", "[export][unit]") {
    const RecordLayout layout = RecordLayout::of({}, FlowDirection::biflow);
    BiflowSplitter splitter(layout);
    Record record = record_of(1);
    BiflowSplitter::Uniflows uniflows = splitter.split(bytes_of(record));
    CHECK(uniflows.second == nullptr);
    CHECK(reinterpret_cast<const FlowRecordCore*>(uniflows.first)->key.source_port == L4Port{1});
    record.core.packets = record.core.octets = 0;
    record.group<ReverseGroup>(layout.reverse_at).packets = 4;
    uniflows = splitter.split(bytes_of(record));
    CHECK(uniflows.second == nullptr);
    const auto& back = *reinterpret_cast<const FlowRecordCore*>(uniflows.first);
    CHECK(back.key.source_port == L4Port{53});
    CHECK(back.packets == 4);
}

TEST_CASE("IpfixEncoder: a pair is in one message, whatever the limit", "[export][unit]") {
    const RecordLayout layout = RecordLayout::of(kAllGroups, FlowDirection::biflow);
    BiflowSplitter splitter(layout);
    EncoderPair pair(kAllGroups, TimestampUnit::milliseconds, 576);
    for (int i = 0; i < 100; ++i) {
        const Record biflow = with_all_groups(layout, 6);
        const BiflowSplitter::Uniflows uniflows = splitter.split(bytes_of(biflow));
        AppendResult result = pair.encoder.append_pair(uniflows.first, uniflows.second);
        if (result == AppendResult::message_full) {
            CHECK(pair.finish().records.size() % 2 == 0);
            result = pair.encoder.append_pair(uniflows.first, uniflows.second);
        }
        REQUIRE(result == AppendResult::added);
    }
}

TEST_CASE("export: one collector has biflows, the other one their uniflows", "[export][unit]") {
    const TemporaryDirectory directory;
    const RecordLayout layout = RecordLayout::of(groups_of<ExtremesGroup>(), FlowDirection::biflow);
    ExportOptions options;
    options.fields = groups_of<ExtremesGroup>();
    options.collectors.resize(2);
    for (CollectorOptions& collector : options.collectors) {
        collector.transport = TransportKind::file;
        collector.path = (directory / "whole").string();
    }
    options.collectors[1].path = (directory / "split").string();
    options.collectors[1].direction = FlowDirection::uniflow;
    RecordQueue queue(layout);
    ExportCounters counters(1, 2);
    ExportWorker worker(options, {.layout = layout}, {&queue}, counters, {});
    for (std::uint16_t number = 0; number < 300; ++number) {
        Record record = record_of(number);
        record.group<ReverseGroup>(layout.reverse_at).packets = number % 3;  // 100 have none
        queue.put(record);
    }
    for (int calls = 0; !worker.finish(at(milliseconds{calls})); ++calls) {
        REQUIRE(calls < 100);
    }
    worker.close();
    std::vector<std::size_t> records;
    std::vector<std::uint64_t> told;
    for (const CollectorOptions& collector : options.collectors) {
        records.push_back(0);
        for (const DecodedMessage& message : decode_file(collector.path)) {
            for (const DecodedRecord& record : message.records) {
                records.back() += record.is_option ? 0 : 1;
                if (record.has(42)) {
                    told.push_back(record.number(42));
                }
            }
        }
    }
    CHECK(records == std::vector<std::size_t>{300, 500});
    CHECK(told == std::vector<std::uint64_t>{0, 300, 0, 500});
    CHECK(counters.collectors[1].records.read() == counters.collectors[0].records.read());
    CHECK(counters.queues[0].exported.read().records == 300);
}
