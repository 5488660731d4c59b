// SPDX-License-Identifier: Apache-2.0
#include "export/options_encoder.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/export_harness.hpp"
#include "tests/support/ipfix_bytes.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/ipfix_elements.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// The records of one round of options, as a decoder that heard the templates finds them.
struct Round {
    explicit Round(const MeteringProcess& metering, std::size_t limit = 1400,
                   const OptionsNumbers& numbers = {}, std::vector<TemplateKeys> keys = {},
                   bool ntop_elements = false) {
        ExportOptions options;
        options.observation_domain = 42;
        options.ntop_elements = ntop_elements;
        OptionsEncoder encoder(options, metering, limit);
        MessageNumbering numbering;
        const auto hear = [&](std::vector<std::byte> octets, std::uint32_t count) {
            CHECK(octets.size() <= limit);
            numbering.stamp(octets, count, Timestamp{std::chrono::seconds{1'600'000'000}}, {});
            return decoder.decode(octets);
        };
        for (const std::vector<std::byte>& message : encoder.template_messages()) {
            hear(message, 0);
        }
        const OptionsEncoder::Messages encoded = encoder.encode(numbers, keys);
        CHECK(encoded.complete);
        messages = encoded.messages.size();
        for (const OptionsEncoder::Message& message : encoded.messages) {
            const IpfixMessage heard = hear(message.octets, message.records);
            CHECK(heard.records.size() == message.records);
            records.insert(records.end(), heard.records.begin(), heard.records.end());
        }
    }
    [[nodiscard]] std::vector<IpfixRecord> with(std::uint32_t element) const {
        std::vector<IpfixRecord> found;
        for (const IpfixRecord& record : records) {
            CHECK(record.is_option);
            if (record.has(element)) {
                found.push_back(record);
            }
        }
        return found;
    }

    IpfixDecoder decoder;
    std::vector<IpfixRecord> records;
    std::size_t messages = 0;
};

}  // namespace

TEST_CASE("OptionsEncoder: reliability and statistics, with their scopes", "[export][unit]") {
    const OptionsNumbers numbers{.metering = {.ignored_packets = 3,
                                              .ignored_octets = 180,
                                              .dropped_packets = 0x1'0000'0001,
                                              .lost = {}},
                                 .not_sent = {.records = 5, .packets = 50, .octets = 5000},
                                 .exported_octets = 12'345,
                                 .exported_messages = 9,
                                 .exported_records = 77};
    const Round round({}, 1400, numbers);
    REQUIRE(round.records.size() == 3);
    const IpfixRecord exporting = round.with(kNotSentFlows).at(0);
    CHECK(exporting.number(kExportingProcess) == 42);
    CHECK(exporting.number(kNotSentFlows) == 5);
    CHECK(exporting.number(kNotSentPackets) == 50);
    CHECK(exporting.number(kNotSentOctets) == 5000);
    const IpfixRecord metering = round.with(kIgnoredPackets).at(0);
    CHECK(metering.number(kObservationDomain) == 42);
    CHECK(metering.number(kIgnoredPackets) == 3);
    CHECK(metering.number(kIgnoredOctets) == 180);
    CHECK(metering.number(kDroppedPackets) == 0x1'0000'0001);
    const IpfixRecord statistics = round.with(kExportedRecords).at(0);
    CHECK(statistics.number(kObservationDomain) == 42);
    CHECK(statistics.number(kExportedOctets) == 12'345);
    CHECK(statistics.number(kExportedMessages) == 9);
    CHECK(statistics.number(kExportedRecords) == 77);
    CHECK(round.decoder.templates().size() == 8);
    CHECK(round.decoder.scopes().size() == 8);
}

TEST_CASE("OptionsEncoder: what NICs drop is left out where it is unknown", "[export][unit]") {
    const OptionsNumbers numbers{.metering = {.ignored_packets = 3,
                                              .ignored_octets = 180,
                                              .dropped_packets = std::nullopt,
                                              .lost = {}},
                                 .not_sent = {}};
    const Round round({.layout = {}, .knows_drops = false}, 1400, numbers);
    REQUIRE(round.records.size() == 3);
    const IpfixRecord metering = round.with(kIgnoredPackets).at(0);
    CHECK(metering.number(kIgnoredPackets) == 3);
    CHECK(metering.number(kIgnoredOctets) == 180);
    CHECK(round.with(kDroppedPackets).empty());

    // Its template says that they are known, and just now they are not.
    CHECK(Round({}, 1400, numbers).with(kIgnoredPackets).empty());
}

TEST_CASE("OptionsEncoder: interfaces and their sampling", "[export][unit]") {
    const MeteringProcess metering{
        .layout = {},
        .interfaces = {
            {.index = 1, .name = "0000:81:00.0", .description = "uplink", .sampling = {}},
            {.index = 70'000,
             .name = "eth1",
             .description = "",
             .sampling = {.one_in = 10, .method = SamplingMethod::count}},
            {.index = 3,
             .name = "eth2",
             .description = "access",
             .sampling = {.one_in = 4, .method = SamplingMethod::random}}}};
    const Round round(metering);
    const std::vector<IpfixRecord> interfaces = round.with(kInterfaceName);
    REQUIRE(interfaces.size() == 3);
    CHECK(interfaces[0].number(kIngressInterface) == 1);
    CHECK(interfaces[0].text(kInterfaceName) == "0000:81:00.0");
    CHECK(interfaces[0].text(kInterfaceDescription) == "uplink");
    CHECK(interfaces[1].number(kIngressInterface) == 70'000);
    CHECK(interfaces[1].text(kInterfaceDescription).empty());
    const std::vector<IpfixRecord> sampled = round.with(kSelectorAlgorithm);
    REQUIRE(sampled.size() == 2);
    CHECK(sampled[0].number(kSelector) == 70'000);
    CHECK(sampled[0].number(kIngressInterface) == 70'000);
    CHECK(sampled[0].number(kSelectorAlgorithm) == 1);
    CHECK(sampled[0].number(kSamplingInterval) == 1);
    CHECK(sampled[0].number(kSamplingSpace) == 9);
    CHECK(sampled[1].number(kIngressInterface) == 3);
    CHECK(sampled[1].number(kSelectorAlgorithm) == 4);
    CHECK(std::bit_cast<double>(sampled[1].number(kSamplingProbability)) == 0.25);
}

TEST_CASE("OptionsEncoder: long names are cut between characters, and messages never too long",
          "[export][unit]") {
    std::string accents = "x";
    for (int i = 0; i < 150; ++i) {
        accents += "\u00e9";  // two octets each
    }
    MeteringProcess metering;
    for (std::uint32_t index = 1; index <= 40; ++index) {
        metering.interfaces.push_back({.index = index,
                                       .name = std::string(250, 'n'),
                                       .description = accents,
                                       .sampling = {}});
    }
    const Round round(metering, 512);
    CHECK(round.messages == 41);
    const std::vector<IpfixRecord> interfaces = round.with(kInterfaceName);
    REQUIRE(interfaces.size() == 40);
    CHECK(interfaces[39].text(kInterfaceName) == std::string(200, 'n'));
    CHECK(interfaces[39].text(kInterfaceDescription) == accents.substr(0, 199));
}

TEST_CASE("OptionsEncoder: which fields are the key", "[export][unit]") {
    MeteringProcess metering{.layout = {}, .tunnel_in_key = false};
    const std::vector<TemplateKeys> keys{{.template_id = 256, .indicator = 0x10F, .tunnel = 0x200}};
    const IpfixRecord record = Round(metering, 1400, {}, keys).with(kFlowKeys).at(0);
    CHECK(record.number(kTemplate) == 256);
    CHECK(record.number(kFlowKeys) == 0x10F);
    metering.tunnel_in_key = true;
    CHECK(Round(metering, 1400, {}, keys).with(kFlowKeys).at(0).number(kFlowKeys) == 0x30F);
}

TEST_CASE("OptionsEncoder: types of tributary's own elements, where records have them",
          "[export][unit]") {
    CHECK(Round({}).with(kElement).empty());
    const FieldGroups tunnel{.tunnel = true};
    CHECK(Round({.layout = RecordLayout::of(tunnel)}).with(kElement).size() == 6);
    const FieldGroups tcp{.tcp_analysis = true};
    const auto of_tcp = Round({.layout = RecordLayout::of(tcp)}).with(kElement);
    REQUIRE(of_tcp.size() == 12);
    CHECK(of_tcp[0].text(kElementName) == "segments");
    const auto with_ntop =
        Round({.layout = RecordLayout::of(tcp, FlowDirection::biflow)}, 1400, {}, {}, true)
            .with(kElement);
    REQUIRE(with_ntop.size() == 2 * 12 + 4);
    CHECK(with_ntop.back().number(kEnterprise) == 35632);
    CHECK(with_ntop.back().number(kElement) == 112);
    CHECK(with_ntop.back().number(kElementType) == 3);
    CHECK(with_ntop.back().text(kElementName) == "OOORDER_OUT_PKTS");
    const Round round({.layout = RecordLayout::of(tunnel, FlowDirection::biflow)});
    const std::vector<IpfixRecord> types = round.with(kElement);
    REQUIRE(types.size() == 12);
    CHECK(types[0].number(kEnterprise) == 32473);
    CHECK(types[0].number(kElement) == 1);
    CHECK(types[0].number(kElementType) == 1);  // unsigned8
    CHECK(types[0].text(kElementName) == "tunnelType");
    CHECK(types[1].number(kElement) == 16385);
    CHECK(types[1].text(kElementName) == "reverseTunnelType");
    CHECK(types[4].text(kElementName) == "tunnelSourceIPv4Address");
    CHECK(types[4].number(kElementType) == 18);
    for (const auto& [id, scope] : round.decoder.scopes()) {
        CHECK(scope == (id == types[0].template_id ? 2 : 1));
    }
}

TEST_CASE("IpfixEncoder: the announced templates tell their key fields", "[export][unit]") {
    const RecordLayout layout = RecordLayout::of({.mpls = true, .tunnel = true});
    IpfixEncoder encoder({}, layout, 1400);
    const std::size_t plain = encoder.announced_keys().size();
    CHECK(plain == 8);
    // addresses, ports, protocol, version, interface; not ToS and flags
    CHECK(encoder.announced_keys()[0].template_id == 256);
    CHECK(encoder.announced_keys()[0].indicator == 0b1'0011'1111);
    CHECK(encoder.announced_keys()[0].tunnel == 0);
    Record record = record_of(1);
    record.group<TunnelGroup>(layout.tunnel_at).kind = TunnelKind::vxlan;
    record.group<TunnelGroup>(layout.tunnel_at).ip_version = 4;
    REQUIRE(encoder.append(bytes_of(record)) == AppendResult::added);
    REQUIRE(encoder.announced_keys().size() == plain + 1);
    const TemplateKeys& keys = encoder.announced_keys().back();
    CHECK(keys.indicator == 0b1'0011'1111);
    CHECK(std::popcount(keys.tunnel) == 4);  // type, id and both addresses
    CHECK((keys.tunnel & keys.indicator) == 0);
}
