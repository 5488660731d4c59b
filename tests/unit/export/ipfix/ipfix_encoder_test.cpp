// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/ipfix_encoder.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tests/support/encoder_pair.hpp"
#include "tests/support/octets.hpp"

using namespace tributary;
using namespace tributary::test;
using std::chrono::seconds;

TEST_CASE("IpfixEncoder: a UDP flow over IPv4, the default elements and their values",
          "[export][unit]") {
    EncoderPair pair;
    Record record = record_of(4711);
    record.core.ip_class_of_service = 0xB8;
    record.core.octets = 0x0102'0304'0506'0708;
    const DecodedRecord got = pair.round_trip(record);
    CHECK(elements_of(got) == Elements{1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 60, 136, 152, 153});
    CHECK(got.values.at(8) == octets({192, 0, 0, 1}));
    CHECK(got.values.at(12) == octets({198, 0, 0, 2}));
    CHECK(got.number(7) == 4711);
    CHECK(got.number(11) == 53);
    CHECK(got.number(4) == 17);
    CHECK(got.number(5) == 0xB8);
    CHECK(got.number(10) == 7);
    CHECK(got.number(1) == 0x0102'0304'0506'0708);
    CHECK(got.number(2) == 10);
    CHECK(got.number(60) == 4);
    CHECK(got.number(136) == 1);
    CHECK(got.number(152) == 1'600'000'000'250);
    CHECK(got.number(153) == 1'600'000'000'750);
}

TEST_CASE("IpfixEncoder: a TCP flow over IPv6 with a VLAN", "[export][unit]") {
    EncoderPair pair;
    Record record = record_of(1, 6);
    record.core.key.protocol = 6;
    record.core.key.vlan = {1234};
    record.core.tcp_control_bits = 0x0A1B;
    record.core.key.source[15] = std::byte{0xFE};
    const DecodedRecord got = pair.round_trip(record);
    CHECK(elements_of(got) == Elements{1, 2, 4, 5, 6, 7, 10, 11, 27, 28, 58, 60, 136, 152, 153});
    CHECK(got.values.at(27) == octets({192, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFE}));
    CHECK(got.values.at(28) == octets({198, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    CHECK(got.values.at(6).size() == 2);
    CHECK(got.number(6) == 0x0A1B);
    CHECK(got.number(58) == 1234);
    CHECK(got.number(60) == 6);
}

TEST_CASE("IpfixEncoder: ICMP has type and code twice, each version with its element",
          "[export][unit]") {
    EncoderPair pair;
    Record record = record_of(0);
    record.core.key.destination_port = {3 * 256 + 1};
    record.core.key.protocol = 1;
    DecodedRecord got = pair.round_trip(record);
    CHECK(got.number(32) == 769);
    CHECK(got.number(11) == 769);
    CHECK_FALSE(got.has(139));
    record.core.key.ip_version = 6;
    CHECK_FALSE(pair.round_trip(record).has(139));  // protocol 1 is no ICMP there
    record.core.key.protocol = 58;
    got = pair.round_trip(record);
    CHECK(got.number(139) == 769);
    CHECK(got.number(11) == 769);
    CHECK_FALSE(got.has(32));
}

TEST_CASE("IpfixEncoder: micro- and nanoseconds are NTP times", "[export][unit]") {
    EncoderPair micro({}, TimestampUnit::microseconds);
    DecodedRecord got = micro.round_trip(record_of(1));
    CHECK(got.number(154) == 0xE308'8E80'4000'0000);
    CHECK(got.number(155) == 0xE308'8E80'C000'0000);
    CHECK_FALSE(got.has(152));
    EncoderPair nano({}, TimestampUnit::nanoseconds);
    got = nano.round_trip(record_of(1));
    CHECK(got.number(156) == 0xE308'8E80'4000'0000);
    CHECK(got.number(157) == 0xE308'8E80'C000'0000);
    CHECK_FALSE(got.has(154));
}

TEST_CASE("IpfixEncoder: no message exceeds the limit, numbers count data records",
          "[export][unit]") {
    for (const std::size_t limit : {512U, 513U, 600U, 1400U, 65'535U}) {
        EncoderPair pair(kAllGroups, TimestampUnit::milliseconds, limit);
        for (const DecodedMessage& message : pair.templates) {
            CHECK(message.octets <= limit);
            CHECK(message.sequence == 0);
        }
        CHECK(pair.decoder.templates().size() == 8);
        std::size_t decoded = 0;
        for (std::uint16_t i = 0; i < 2000; ++i) {
            const Record record = record_of(i, i % 3 == 0 ? 6 : 4);  // set by set, in one message
            if (pair.encoder.append(bytes_of(record)) == AppendResult::message_full) {
                const DecodedMessage message = pair.finish();
                CHECK(message.octets <= limit);
                decoded += message.records.size();
                REQUIRE(pair.encoder.append(bytes_of(record)) == AppendResult::added);
            }
        }
        decoded += pair.finish().records.size();
        CHECK(decoded == 2000);
    }
}

TEST_CASE("IpfixEncoder: a message is filled to the last octet that a record fits",
          "[export][unit]") {
    EncoderPair probe;
    REQUIRE(probe.encoder.append(bytes_of(record_of(1))) == AppendResult::added);
    const std::size_t record_octets = probe.finish().octets - 20;
    const std::size_t exact = 20 + record_octets * 9;
    for (const std::size_t limit : {exact - 1, exact, exact + record_octets - 1}) {
        EncoderPair pair({}, TimestampUnit::milliseconds, limit);
        std::size_t added = 0;
        while (pair.encoder.append(bytes_of(record_of(1))) == AppendResult::added) {
            ++added;
        }
        CHECK(added == (limit < exact ? 8 : 9));
        CHECK(pair.finish().octets == 20 + record_octets * added);
    }
}

TEST_CASE("IpfixEncoder: a pair needs room for both, and for a set header between them",
          "[export][unit]") {
    constexpr std::size_t kIpv4 = 54;  // octets of a record with the default fields
    constexpr std::size_t kIpv6 = 78;
    const auto [version, before, spare] =
        GENERATE(table<std::uint8_t, std::size_t, bool>({{4, 0, true},
                                                         {4, 0, false},
                                                         {6, 0, true},
                                                         {6, 0, false},
                                                         {4, 3, true},
                                                         {6, 3, true},
                                                         {6, 3, false}}));
    const std::size_t second_octets = version == 4 ? kIpv4 : kIpv6;
    const std::size_t exact = 16 + 4 + before * kIpv4 + kIpv4 + 4 + second_octets;
    EncoderPair pair({}, TimestampUnit::milliseconds, exact - (spare ? 0 : 1));
    const Record first = record_of(1);
    for (std::size_t i = 0; i < before; ++i) {
        REQUIRE(pair.encoder.append(bytes_of(first)) == AppendResult::added);
    }
    const AppendResult result =
        pair.encoder.append_pair(bytes_of(first), bytes_of(record_of(2, version)));
    CHECK(result == (spare ? AppendResult::added : AppendResult::message_full));
    CHECK(pair.encoder.close().records == before + (spare ? 2 : 0));
}

TEST_CASE("IpfixEncoder: the export time is never before a record's end, nor goes back a little",
          "[export][unit]") {
    EncoderPair pair;
    const auto export_time = [&pair](Timestamp now) {
        REQUIRE(pair.encoder.append(bytes_of(record_of(1))) == AppendResult::added);
        return pair.finish(now).export_time;
    };
    CHECK(export_time(Timestamp{seconds{1'500'000'000}}) == 1'600'000'001);  // end is .75 s before
    CHECK(export_time(Timestamp{seconds{1'600'000'050}}) == 1'600'000'050);
    CHECK(export_time(Timestamp{seconds{1'600'000'040}}) == 1'600'000'050);
    // But for a clock that was set back by more than 10 s.
    CHECK(export_time(Timestamp{seconds{1'600'000'039}}) == 1'600'000'039);
    CHECK(export_time(Timestamp{seconds{1'500'000'000}}) == 1'600'000'001);
}

TEST_CASE("IpfixEncoder: in a new session numbers begin anew, also of a message that waited",
          "[export][unit]") {
    EncoderPair pair;
    CHECK(pair.encoder.close().octets.empty());
    static_cast<void>(pair.round_trip(record_of(1)));
    REQUIRE(pair.encoder.append(bytes_of(record_of(2))) == AppendResult::added);
    REQUIRE(pair.encoder.append(bytes_of(record_of(3))) == AppendResult::added);
    Octets waits = pair.finish_unheard();  // numbered 1, but never sent
    CHECK(waits[11] == std::byte{1});
    pair.numbering.restart();
    pair.decoder = IpfixDecoder();
    pair.heard = 0;
    pair.hear_templates();
    CHECK(pair.templates.back().sequence == 0);
    pair.numbering.stamp(waits, 2, kNow, {});
    const DecodedMessage again = pair.decoder.decode(waits);
    CHECK(again.sequence == 0);
    CHECK(again.records.size() == 2);
    CHECK(again.domain == 42);
    REQUIRE(pair.encoder.append(bytes_of(record_of(4))) == AppendResult::added);
    CHECK(pair.finish().sequence == 2);
}

TEST_CASE("IpfixEncoder: a template that is not plain is announced with its first record",
          "[export][unit]") {
    EncoderPair pair(groups_of<MplsGroup>());
    CHECK(pair.encoder.template_messages() == 1);
    const Record labelled = labelled_record(1);
    REQUIRE(pair.encoder.append(bytes_of(record_of(1))) == AppendResult::added);
    CHECK(pair.encoder.template_messages() == 1);
    REQUIRE(pair.encoder.append(bytes_of(labelled)) == AppendResult::added);
    CHECK(pair.encoder.template_messages() == 2);
    REQUIRE(pair.encoder.append(bytes_of(labelled)) == AppendResult::added);
    CHECK(pair.encoder.template_messages() == 2);
    CHECK(pair.finish().records.size() == 3);
    CHECK(pair.templates.back().templates == 1);
}

TEST_CASE("IpfixEncoder: a record that found no room announces nothing", "[export][unit]") {
    EncoderPair pair(groups_of<MplsGroup>(), TimestampUnit::milliseconds, 512);
    const Record labelled = labelled_record(1);
    while (pair.encoder.append(bytes_of(record_of(1))) == AppendResult::added) {
    }
    const std::size_t before = pair.encoder.template_messages();
    CHECK(pair.encoder.append(bytes_of(labelled)) == AppendResult::message_full);
    CHECK(pair.encoder.template_messages() == before);
    static_cast<void>(pair.finish());
    CHECK(pair.encoder.append(bytes_of(labelled)) == AppendResult::added);
    CHECK(pair.encoder.template_messages() == before + 1);
}

TEST_CASE("IpfixEncoder: a limit below one record or one template is refused", "[export][unit]") {
    CHECK_THROWS_AS(EncoderPair({}, TimestampUnit::milliseconds, 80), ExportError);
    CHECK_THROWS_AS(EncoderPair({}, TimestampUnit::milliseconds, 65'536), ExportError);
}

TEST_CASE("IpfixEncoder: tcpControlBits of one octet, in both directions", "[export][unit]") {
    ExportOptions options;
    options.observation_domain = 42;
    const std::uint64_t with_two =
        IpfixEncoder(options, RecordLayout::of({}, FlowDirection::biflow), 1400).fingerprint();
    options.tcp_control_bits = 1;
    EncoderPair pair(options, 1400, FlowDirection::biflow);
    CHECK(pair.encoder.fingerprint() != with_two);  // a spool's messages need their own templates
    Record record = record_of(1);
    record.core.key.protocol = 6;
    record.core.tcp_control_bits = 0x0112;
    auto& reverse = record.group<ReverseGroup>(pair.layout.reverse_at);
    reverse.packets = 1;
    reverse.tcp_control_bits = 0x00FF;
    const DecodedRecord got = pair.round_trip(record);
    CHECK(got.values.at(6) == octets({0x12}));
    CHECK(got.values.at(kReversed + 6) == octets({0xFF}));
    CHECK(got.number(7) == 1);  // nothing has moved
    CHECK(got.number(136) == 1);
}

TEST_CASE("IpfixEncoder: a record's selectorId is the number of its interface", "[export][unit]") {
    ExportOptions options;
    options.observation_domain = 42;
    const std::uint64_t without = IpfixEncoder(options, {}, 1400).fingerprint();
    options.selector = true;
    EncoderPair pair(options, 1400);
    CHECK(pair.encoder.fingerprint() != without);
    Record record = record_of(1);
    record.core.key.ingress_interface = {70'000};
    const DecodedRecord got = pair.round_trip(record);
    CHECK(got.values.at(302) == octets({0, 0, 0, 0, 0, 1, 0x11, 0x70}));
    CHECK(got.number(10) == 70'000);
    CHECK(pair.encoder.announced_keys()[0].indicator == 0b1'0011'1111);  // it is no part of the key
}
