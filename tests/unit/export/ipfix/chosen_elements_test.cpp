// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>

#include "export/ipfix/record_elements.hpp"
#include "tests/support/encoder_pair.hpp"

using namespace tributary;
using namespace tributary::test;

TEST_CASE("Record elements: without those of enterprises, IANA's are all there is",
          "[export][unit]") {
    const RecordLayout layout = RecordLayout::of(groups_of<TunnelGroup, TcpAnalysisGroup>());
    const RecordShape largest = shape_at(shape_count(layout) - 1, layout);
    const auto of_enterprises = [&](bool has_own) {
        const auto fields = fields_of(largest, layout, TimestampUnit::milliseconds,
                                      {.partial = {}, .ntop = true, .enterprise = has_own});
        return std::ranges::count_if(fields, &TemplateField::of_enterprise);
    };
    CHECK(of_enterprises(true) == 4 + 11 + 2);  // a tunnel's, those of analysed TCP, ntop's
    CHECK(of_enterprises(false) == 0);
}

TEST_CASE("Record elements: TCP flags as CERT's, in both directions", "[export][unit]") {
    ExportOptions options;
    options.cert_elements = true;
    EncoderPair pair(options, 1400, FlowDirection::biflow);
    Record record = record_of(1);
    record.core.tcp_control_bits = 0x11B;
    record.group<ReverseGroup>(pair.layout.reverse_at) = {.tcp_control_bits = 0x012,
                                                          .packets = 3,
                                                          .octets = 120,
                                                          .start = record.core.start,
                                                          .end = record.core.end};
    const DecodedRecord got = pair.round_trip(record);
    constexpr std::uint32_t kUnion = kOfEnterprise + 15;
    CHECK(got.number(kUnion) == 0x1B);  // one octet, the lower one
    CHECK(got.number(kUnion + 0x4000) == 0x12);
    std::set<std::uint32_t> enterprises;
    for (const DecodedField& field : pair.decoder.templates().at(got.template_id)) {
        if (field.enterprise != 0) {
            enterprises.insert(field.enterprise);
        }
    }
    CHECK(enterprises == std::set<std::uint32_t>{6871, 29305});
}
