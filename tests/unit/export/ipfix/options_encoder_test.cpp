// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/options_encoder.hpp"

#include <array>
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

/// The records of one round of options, as decoded with their templates.
struct Round {
    explicit Round(const MeteringProcess& metering, std::size_t limit = 1400,
                   const ExportNumbers& numbers = {}, std::vector<TemplateKeys> keys = {},
                   ExportOptions options = {}) {
        options.observation_domain = 42;
        OptionsEncoder encoder(options, metering, limit);
        MessageNumbering numbering;
        const auto hear = [&](std::vector<std::byte> octets, std::uint32_t count) {
            CHECK(octets.size() <= limit);
            CHECK(has_no_stamp(octets));
            numbering.stamp(octets, count, Timestamp{std::chrono::seconds{1'600'000'000}}, {});
            return decoder.decode(octets);
        };
        for (const std::vector<std::byte>& message : encoder.template_messages()) {
            hear(message, 0);
        }
        for (const OptionsEncoder::Message& message : encoder.types_of(metering.layout, false)) {
            const DecodedMessage heard = hear(message.octets, message.records);
            CHECK(heard.records.size() == message.records);
            types.insert(types.end(), heard.records.begin(), heard.records.end());
        }
        const OptionsEncoder::Messages encoded = encoder.encode(numbers, keys);
        CHECK(encoded.complete);
        messages = encoded.messages.size();
        for (const OptionsEncoder::Message& message : encoded.messages) {
            const DecodedMessage heard = hear(message.octets, message.records);
            CHECK(heard.records.size() == message.records);
            records.insert(records.end(), heard.records.begin(), heard.records.end());
        }
    }
    [[nodiscard]] std::vector<DecodedRecord> with(std::uint32_t element) const {
        std::vector<DecodedRecord> found;
        for (const DecodedRecord& record : records) {
            CHECK(record.is_option);
            if (record.has(element)) {
                found.push_back(record);
            }
        }
        return found;
    }

    IpfixDecoder decoder;
    std::vector<DecodedRecord> types;
    std::vector<DecodedRecord> records;
    std::size_t messages = 0;
};

}  // namespace

TEST_CASE("OptionsEncoder: reliability and statistics, with their scopes", "[export][unit]") {
    const ExportNumbers numbers{.metering = {.ignored_packets = 3,
                                             .ignored_octets = 180,
                                             .dropped_packets = 0x1'0000'0001,
                                             .lost = {}},
                                .not_sent = {.records = 5, .packets = 50, .octets = 5000},
                                .exported_octets = 12'345,
                                .exported_messages = 9,
                                .exported_records = 77};
    const Round round({}, 1400, numbers);
    REQUIRE(round.records.size() == 3);
    const DecodedRecord exporting = round.with(kNotSentFlows).at(0);
    CHECK(exporting.number(kExportingProcess) == 42);
    CHECK(exporting.number(kNotSentFlows) == 5);
    CHECK(exporting.number(kNotSentPackets) == 50);
    CHECK(exporting.number(kNotSentOctets) == 5000);
    const DecodedRecord metering = round.with(kIgnoredPackets).at(0);
    CHECK(metering.number(kObservationDomain) == 42);
    CHECK(metering.number(kIgnoredPackets) == 3);
    CHECK(metering.number(kIgnoredOctets) == 180);
    CHECK(metering.number(kDroppedPackets) == 0x1'0000'0001);
    const DecodedRecord statistics = round.with(kExportedRecords).at(0);
    CHECK(statistics.number(kObservationDomain) == 42);
    CHECK(statistics.number(kExportedOctets) == 12'345);
    CHECK(statistics.number(kExportedMessages) == 9);
    CHECK(statistics.number(kExportedRecords) == 77);
    CHECK(round.decoder.templates().size() == 10);
    CHECK(round.decoder.scopes().size() == 10);
}

TEST_CASE("OptionsEncoder: the NICs' drops are left out where they are unknown", "[export][unit]") {
    const ExportNumbers numbers{.metering = {.ignored_packets = 3,
                                             .ignored_octets = 180,
                                             .dropped_packets = std::nullopt,
                                             .lost = {}},
                                .not_sent = {}};
    const Round round({.layout = {}, .knows_drops = false}, 1400, numbers);
    REQUIRE(round.records.size() == 3);
    const DecodedRecord metering = round.with(kIgnoredPackets).at(0);
    CHECK(metering.number(kIgnoredPackets) == 3);
    CHECK(metering.number(kIgnoredOctets) == 180);
    CHECK(round.with(kDroppedPackets).empty());

    // Its template has them, and at the moment they are unknown.
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
    const std::vector<DecodedRecord> interfaces = round.with(kInterfaceName);
    REQUIRE(interfaces.size() == 3);
    CHECK(interfaces[0].number(kIngressInterface) == 1);
    CHECK(interfaces[0].text(kInterfaceName) == "0000:81:00.0");
    CHECK(interfaces[0].text(kInterfaceDescription) == "uplink");
    CHECK(interfaces[1].number(kIngressInterface) == 70'000);
    CHECK(interfaces[1].text(kInterfaceDescription).empty());
    const std::vector<DecodedRecord> sampled = round.with(kSelectorAlgorithm);
    REQUIRE(sampled.size() == 3);
    CHECK(sampled[0].number(kSelector) == 1);
    CHECK(sampled[0].number(kSelectorAlgorithm) == 1);
    CHECK(sampled[0].number(kSamplingInterval) == 1);
    CHECK(sampled[0].number(kSamplingSpace) == 0);
    CHECK(sampled[1].number(kSelector) == 70'000);
    CHECK(sampled[1].number(kIngressInterface) == 70'000);
    CHECK(sampled[1].number(kSelectorAlgorithm) == 1);
    CHECK(sampled[1].number(kSamplingInterval) == 1);
    CHECK(sampled[1].number(kSamplingSpace) == 9);
    CHECK(sampled[2].number(kIngressInterface) == 3);
    CHECK(sampled[2].number(kSelectorAlgorithm) == 4);
    CHECK(std::bit_cast<double>(sampled[2].number(kSamplingProbability)) == 0.25);
    const std::vector<DecodedRecord> netflow = round.with(kNetflowAlgorithm);
    REQUIRE(netflow.size() == 3);                     // because the interfaces differ
    CHECK(round.with(kNetflowInterval).size() == 6);  // each once without the algorithm
    const std::vector<std::array<std::uint64_t, 4>> expected{
        {1, 1, 1, 1}, {70'000, 70'000, 10, 1}, {3, 3, 4, 2}};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CHECK(std::array<std::uint64_t, 4>{netflow[i].number(kIngressInterface),
                                           netflow[i].number(kSelector),
                                           netflow[i].number(kNetflowInterval),
                                           netflow[i].number(kNetflowAlgorithm)} == expected[i]);
    }
}

TEST_CASE("OptionsEncoder: interfaces that are sampled alike have one rate, also none at all",
          "[export][unit]") {
    for (const SamplingOptions sampling :
         {SamplingOptions{}, SamplingOptions{.one_in = 10, .method = SamplingMethod::random}}) {
        const MeteringProcess metering{
            .layout = {},
            .interfaces = {{.index = 1, .name = "a", .description = "", .sampling = sampling},
                           {.index = 2, .name = "b", .description = "", .sampling = sampling}}};
        const Round round(metering);
        CHECK(round.with(kSelectorAlgorithm).size() == 2);
        const std::vector<DecodedRecord> netflow = round.with(kNetflowAlgorithm);
        REQUIRE(netflow.size() == 1);
        const std::vector<DecodedRecord> rate = round.with(kNetflowInterval);
        REQUIRE(rate.size() == 2);  // once without the algorithm
        CHECK(rate[0].number(kNetflowInterval) == sampling.one_in);
        CHECK_FALSE(rate[0].has(kNetflowAlgorithm));
        CHECK(netflow[0].number(kObservationDomain) == 42);
        CHECK(netflow[0].number(kNetflowInterval) == sampling.one_in);
        CHECK(netflow[0].number(kNetflowAlgorithm) == (sampling.one_in == 1 ? 1 : 2));
        CHECK_FALSE(netflow[0].has(kSelector));
    }
}

TEST_CASE("OptionsEncoder: a collector gets the sampling in its configured form",
          "[export][unit]") {
    const MeteringProcess metering{
        .layout = {}, .interfaces = {{.index = 1, .name = "a", .description = "", .sampling = {}}}};
    const auto told = [&](SamplingForm form) {
        ExportOptions options;
        options.sampling = form;
        const Round round(metering, 1400, {}, {}, options);
        return std::array{round.with(kSelectorAlgorithm).size(),
                          round.with(kNetflowInterval).size(), round.decoder.templates().size()};
    };
    CHECK(told(SamplingForm::all) == std::array<std::size_t, 3>{1, 2, 10});
    CHECK(told(SamplingForm::rfc5477) == std::array<std::size_t, 3>{1, 0, 8});
    CHECK(told(SamplingForm::netflow) == std::array<std::size_t, 3>{0, 2, 8});
    CHECK(told(SamplingForm::none) == std::array<std::size_t, 3>{0, 0, 6});
}

TEST_CASE("OptionsEncoder: a collector gets its configured records, and their templates alone",
          "[export][unit]") {
    const MeteringProcess metering{
        .layout = RecordLayout::of(groups_of<TcpAnalysisGroup>()),
        .interfaces = {{.index = 1, .name = "a", .description = "", .sampling = {}}}};
    const auto told = [&](const OptionsChoice& choice) {
        ExportOptions options;
        options.options = choice;
        options.sampling = SamplingForm::none;
        const Round round(metering, 1400, {}, {{.template_id = 256, .indicator = 1}}, options);
        return std::array{round.with(kNotSentFlows).size() + round.with(kIgnoredPackets).size(),
                          round.with(kExportedRecords).size(),
                          round.with(kInterfaceName).size(),
                          round.with(kFlowKeys).size(),
                          round.types.size(),
                          round.decoder.templates().size()};
    };
    using Counts = std::array<std::size_t, 6>;
    const OptionsChoice none{.reliability = false,
                             .statistics = false,
                             .interfaces = false,
                             .flow_keys = false,
                             .types = false};
    CHECK(told({}) == Counts{2, 1, 1, 1, 12, 6});
    CHECK(told(none) == Counts{0, 0, 0, 0, 0, 0});
    const auto alone = [&](bool OptionsChoice::*one) {
        OptionsChoice choice = none;
        choice.*one = true;
        return told(choice);
    };
    CHECK(alone(&OptionsChoice::reliability) == Counts{2, 0, 0, 0, 0, 2});
    CHECK(alone(&OptionsChoice::statistics) == Counts{0, 1, 0, 0, 0, 1});
    CHECK(alone(&OptionsChoice::interfaces) == Counts{0, 0, 1, 0, 0, 1});
    CHECK(alone(&OptionsChoice::flow_keys) == Counts{0, 0, 0, 1, 0, 1});
    CHECK(alone(&OptionsChoice::types) == Counts{0, 0, 0, 0, 12, 1});
}

TEST_CASE("OptionsEncoder: samplingInterval goes ahead of samplingPacketInterval in each message",
          "[export][unit]") {
    MeteringProcess metering;
    for (std::uint32_t index = 1; index <= 50; ++index) {
        metering.interfaces.push_back(
            {.index = index, .name = "eth", .description = "", .sampling = {.one_in = index}});
    }
    ExportOptions options;
    OptionsEncoder encoder(options, metering, 512);
    IpfixDecoder decoder;
    MessageNumbering numbering;
    const auto hear = [&](std::vector<std::byte> octets, std::uint32_t count) {
        numbering.stamp(octets, count, Timestamp{std::chrono::seconds{1'600'000'000}}, {});
        return decoder.decode(octets);
    };
    for (const std::vector<std::byte>& message : encoder.template_messages()) {
        hear(message, 0);
    }
    std::uint64_t pairs = 0;
    for (const OptionsEncoder::Message& message : encoder.encode({}, {}).messages) {
        std::uint64_t netflow = 0;
        for (const DecodedRecord& record : hear(message.octets, message.records).records) {
            netflow = record.has(kNetflowInterval) ? record.number(kNetflowInterval) : netflow;
            if (record.has(kSamplingSpace)) {
                CHECK(netflow == record.number(kSamplingSpace) + 1);
                ++pairs;
            }
        }
    }
    CHECK(pairs == 50);
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
    CHECK(round.messages == 43);
    const std::vector<DecodedRecord> interfaces = round.with(kInterfaceName);
    REQUIRE(interfaces.size() == 40);
    CHECK(interfaces[39].text(kInterfaceName) == std::string(200, 'n'));
    CHECK(interfaces[39].text(kInterfaceDescription) == accents.substr(0, 199));
}

TEST_CASE("OptionsEncoder: which fields are the key", "[export][unit]") {
    const std::vector<TemplateKeys> keys{{.template_id = 256, .indicator = 0x10F}};
    const DecodedRecord record = Round({}, 1400, {}, keys).with(kFlowKeys).at(0);
    CHECK(record.number(kTemplate) == 256);
    CHECK(record.number(kFlowKeys) == 0x10F);
}

TEST_CASE("OptionsEncoder: types of tributary's own elements, where records have them",
          "[export][unit]") {
    CHECK(Round({}).types.empty());
    const FieldGroups tunnel = groups_of<TunnelGroup>();
    CHECK(Round({.layout = RecordLayout::of(tunnel)}).types.size() == 6);
    const FieldGroups tcp = groups_of<TcpAnalysisGroup>();
    const auto of_tcp = Round({.layout = RecordLayout::of(tcp)}).types;
    REQUIRE(of_tcp.size() == 12);
    CHECK(of_tcp[0].text(kElementName) == "segments");
    ExportOptions options;
    options.ntop_elements = true;
    const auto with_ntop =
        Round({.layout = RecordLayout::of(tcp, FlowDirection::biflow)}, 1400, {}, {}, options)
            .types;
    REQUIRE(with_ntop.size() == 2 * 12 + 4);
    CHECK(with_ntop.back().number(kEnterprise) == 35632);
    CHECK(with_ntop.back().number(kElement) == 112);
    CHECK(with_ntop.back().number(kElementType) == 3);
    CHECK(with_ntop.back().text(kElementName) == "OOORDER_OUT_PKTS");
    options.enterprise_elements = false;
    options.cert_elements = true;
    const auto of_cert =
        Round({.layout = RecordLayout::of(tcp, FlowDirection::biflow)}, 1400, {}, {}, options)
            .types;
    REQUIRE(of_cert.size() == 2);
    CHECK(of_cert[0].number(kEnterprise) == 6871);
    CHECK(of_cert[0].number(kElement) == 15);
    CHECK(of_cert[0].text(kElementName) == "unionTCPFlags");
    CHECK(of_cert[1].number(kElement) == 15 + 0x4000);
    CHECK(of_cert[1].text(kElementName) == "reverseUnionTCPFlags");
    const Round round({.layout = RecordLayout::of(tunnel, FlowDirection::biflow)});
    const std::vector<DecodedRecord> types = round.types;
    CHECK(round.with(kElement).empty());  // they are sent once, before the templates
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

TEST_CASE("IpfixEncoder: the announced templates have their key fields", "[export][unit]") {
    const RecordLayout layout = RecordLayout::of(groups_of<MplsGroup, TunnelGroup>());
    const bool is_tunnel_in_key = GENERATE(false, true);
    KeyDescriptor key;
    key.extension = is_tunnel_in_key ? KeyExtension::tunnel : KeyExtension::none;
    IpfixEncoder encoder({}, layout, 1400, kFirstTemplateId, {key});
    const std::size_t plain = encoder.announced_keys().size();
    CHECK(plain == 8);
    // addresses, ports, protocol, version, interface; not ToS and flags
    CHECK(encoder.announced_keys()[0].template_id == 256);
    CHECK(encoder.announced_keys()[0].indicator == 0b1'0011'1111);
    Record record = record_of(1);
    record.group<TunnelGroup>(layout.at<TunnelGroup>()).kind = TunnelKind::vxlan;
    record.group<TunnelGroup>(layout.at<TunnelGroup>()).ip_version = 4;
    REQUIRE(encoder.append(bytes_of(record)) == AppendResult::added);
    REQUIRE(encoder.announced_keys().size() == plain + 1);
    const TemplateKeys& keys = encoder.announced_keys().back();
    CHECK((keys.indicator & 0x1FF) == 0b1'0011'1111);
    // type, id and both addresses
    CHECK(std::popcount(keys.indicator >> 9U) == (is_tunnel_in_key ? 4 : 0));
}
