// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix_encoder.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

#include "tests/support/export_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"

using namespace tributary;
using namespace tributary::test;
using std::chrono::seconds;

namespace {

constexpr Timestamp kNow{seconds{1'600'000'001}};
constexpr FieldGroups kAllGroups{.extremes = true, .layer2 = true, .tcp_counts = true};

/// An encoder and a decoder that has its templates.
struct Pair {
    explicit Pair(FieldGroups groups = {}, TimestampUnit unit = TimestampUnit::milliseconds,
                  std::size_t limit = 1400)
        : layout(RecordLayout::of(groups)),
          encoder(
              {.observation_domain = 42, .timestamps = unit, .fields = groups, .collectors = {}},
              layout, limit) {
        hear_templates();
    }
    void hear_templates() {
        for (std::size_t i = 0; i < encoder.template_messages(); ++i) {
            templates.push_back(decoder.decode(encoder.template_message(i, kNow)));
        }
    }
    IpfixMessage finish(Timestamp now = kNow) {
        IpfixMessage message = decoder.decode(encoder.finish(now));
        encoder.release();
        return message;
    }
    IpfixRecord round_trip(const Record& record) {
        REQUIRE(encoder.append(bytes_of(record)) == AppendResult::added);
        IpfixMessage message = finish();
        REQUIRE(message.records.size() == 1);
        return message.records.front();
    }

    RecordLayout layout;
    IpfixEncoder encoder;
    IpfixDecoder decoder;
    std::vector<IpfixMessage> templates;
};

std::set<std::uint16_t> elements_of(const IpfixRecord& record) {
    std::set<std::uint16_t> elements;
    for (const auto& [element, value] : record.values) {
        elements.insert(element);
    }
    return elements;
}

Octets octets(std::initializer_list<int> values) {
    Octets made;
    for (const int value : values) {
        made.push_back(static_cast<std::byte>(value));
    }
    return made;
}

}  // namespace

TEST_CASE("IpfixEncoder: a UDP flow over IPv4, the default elements and their values",
          "[export][unit]") {
    Pair pair;
    Record record = record_of(4711);
    record.core.ip_class_of_service = 0xB8;
    record.core.octets = 0x0102'0304'0506'0708;
    const IpfixRecord got = pair.round_trip(record);
    CHECK(elements_of(got) ==
          std::set<std::uint16_t>{1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 60, 136, 152, 153});
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
    Pair pair;
    Record record = record_of(1, 6);
    record.core.key.protocol = 6;
    record.core.key.vlan = {1234};
    record.core.tcp_control_bits = 0x0A1B;
    record.core.key.source[15] = std::byte{0xFE};
    const IpfixRecord got = pair.round_trip(record);
    CHECK(elements_of(got) ==
          std::set<std::uint16_t>{1, 2, 4, 5, 6, 7, 10, 11, 27, 28, 58, 60, 136, 152, 153});
    CHECK(got.values.at(27) == octets({192, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFE}));
    CHECK(got.values.at(28) == octets({198, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    CHECK(got.values.at(6).size() == 2);
    CHECK(got.number(6) == 0x0A1B);
    CHECK(got.number(58) == 1234);
    CHECK(got.number(60) == 6);
}

TEST_CASE("IpfixEncoder: ICMP says type and code twice, each version with its element",
          "[export][unit]") {
    Pair pair;
    Record record = record_of(0);
    record.core.key.destination_port = {3 * 256 + 1};
    record.core.key.protocol = 1;
    IpfixRecord got = pair.round_trip(record);
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
    Pair micro({}, TimestampUnit::microseconds);
    IpfixRecord got = micro.round_trip(record_of(1));
    CHECK(got.number(154) == 0xE308'8E80'4000'0000);
    CHECK(got.number(155) == 0xE308'8E80'C000'0000);
    CHECK_FALSE(got.has(152));
    Pair nano({}, TimestampUnit::nanoseconds);
    got = nano.round_trip(record_of(1));
    CHECK(got.number(156) == 0xE308'8E80'4000'0000);
    CHECK(got.number(157) == 0xE308'8E80'C000'0000);
    CHECK_FALSE(got.has(154));
}

TEST_CASE("IpfixEncoder: all groups of a doubly tagged TCP flow", "[export][unit]") {
    Pair pair(kAllGroups);
    Record record = record_of(1);
    record.core.key.vlan = {100};
    auto& extremes = record.group<ExtremesGroup>(pair.layout.extremes_at);
    extremes = {.minimum_ip_total_length = 40,
                .maximum_ip_total_length = 70'000,
                .minimum_ttl = 63,
                .maximum_ttl = 64};
    auto& layer2 = record.group<Layer2Group>(pair.layout.layer2_at);
    layer2.layer2_octets = 1140;
    layer2.destination_mac.fill(std::byte{0xD0});
    layer2.source_mac.fill(std::byte{0x50});
    layer2.dot1q_vlan = {100};
    layer2.dot1q_customer_vlan = {200};
    layer2.vlan_tags = 3;
    record.group<TcpCountsGroup>(pair.layout.tcp_counts_at) = {1, 2, 3, 4, 5, 6};
    const IpfixRecord got = pair.round_trip(record);
    CHECK(got.number(25) == 40);
    CHECK(got.number(26) == 70'000);
    CHECK(got.number(52) == 63);
    CHECK(got.number(53) == 64);
    CHECK(got.number(352) == 1140);
    CHECK(got.values.at(56) == octets({0x50, 0x50, 0x50, 0x50, 0x50, 0x50}));
    CHECK(got.values.at(80) == octets({0xD0, 0xD0, 0xD0, 0xD0, 0xD0, 0xD0}));
    CHECK(got.number(58) == 100);
    CHECK(got.number(243) == 100);
    CHECK(got.number(245) == 200);
    // IANA order: FIN, SYN, RST, PSH, ACK, URG are 219, 218, 220, 221, 222, 223.
    CHECK(got.number(218) == 1);
    CHECK(got.number(219) == 2);
    CHECK(got.number(220) == 3);
    CHECK(got.number(221) == 4);
    CHECK(got.number(222) == 5);
    CHECK(got.number(223) == 6);
}

TEST_CASE("IpfixEncoder: tags that are not there are not exported", "[export][unit]") {
    Pair pair({.layer2 = true});
    Record record = record_of(1);
    auto& layer2 = record.group<Layer2Group>(pair.layout.layer2_at);
    IpfixRecord got = pair.round_trip(record);
    CHECK_FALSE(got.has(58));
    CHECK_FALSE(got.has(243));
    CHECK_FALSE(got.has(245));
    layer2.vlan_tags = 1;  // a priority tag: no VLAN in the key
    got = pair.round_trip(record);
    CHECK_FALSE(got.has(58));
    CHECK(got.number(243) == 0);
    CHECK_FALSE(got.has(245));
}

TEST_CASE("IpfixEncoder: no message exceeds the limit, numbers count data records",
          "[export][unit]") {
    for (const std::size_t limit : {512U, 513U, 600U, 1400U, 65'535U}) {
        Pair pair(kAllGroups, TimestampUnit::milliseconds, limit);
        for (const IpfixMessage& message : pair.templates) {
            CHECK(message.octets <= limit);
            CHECK(message.sequence == 0);
        }
        CHECK(pair.decoder.templates().size() == 24);
        std::size_t decoded = 0;
        for (std::uint16_t i = 0; i < 2000; ++i) {
            const Record record = record_of(i, i % 3 == 0 ? 6 : 4);  // set by set, in one message
            if (pair.encoder.append(bytes_of(record)) == AppendResult::message_full) {
                const IpfixMessage message = pair.finish();
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
    Pair probe;
    REQUIRE(probe.encoder.append(bytes_of(record_of(1))) == AppendResult::added);
    const std::size_t record_octets = probe.finish().octets - 20;
    const std::size_t exact = 20 + record_octets * 9;
    for (const std::size_t limit : {exact - 1, exact, exact + record_octets - 1}) {
        Pair pair({}, TimestampUnit::milliseconds, limit);
        std::size_t added = 0;
        while (pair.encoder.append(bytes_of(record_of(1))) == AppendResult::added) {
            ++added;
        }
        CHECK(added == (limit < exact ? 8 : 9));
        CHECK(pair.finish().octets == 20 + record_octets * added);
    }
}

TEST_CASE("IpfixEncoder: the export time is never before a record's end, nor goes back",
          "[export][unit]") {
    Pair pair;
    const auto export_time = [&pair](Timestamp now) {
        REQUIRE(pair.encoder.append(bytes_of(record_of(1))) == AppendResult::added);
        return pair.finish(now).export_time;
    };
    CHECK(export_time(Timestamp{seconds{1'500'000'000}}) == 1'600'000'001);  // end is .75 s before
    CHECK(export_time(Timestamp{seconds{1'600'000'050}}) == 1'600'000'050);
    CHECK(export_time(Timestamp{seconds{1'600'000'040}}) == 1'600'000'050);
}

TEST_CASE("IpfixEncoder: a session restarts numbers, also of a message that waits",
          "[export][unit]") {
    Pair pair;
    CHECK(pair.encoder.finish(kNow).empty());
    static_cast<void>(pair.round_trip(record_of(1)));
    REQUIRE(pair.encoder.append(bytes_of(record_of(2))) == AppendResult::added);
    REQUIRE(pair.encoder.append(bytes_of(record_of(3))) == AppendResult::added);
    CHECK_FALSE(pair.encoder.finish(kNow).empty());  // numbered 1, but never sent
    pair.encoder.restart_session();
    pair.decoder = IpfixDecoder();
    pair.hear_templates();
    CHECK(pair.templates.back().sequence == 0);
    const IpfixMessage again = pair.finish();
    CHECK(again.sequence == 0);
    CHECK(again.records.size() == 2);
    CHECK(again.domain == 42);
    REQUIRE(pair.encoder.append(bytes_of(record_of(4))) == AppendResult::added);
    CHECK(pair.finish().sequence == 2);
}

TEST_CASE("IpfixEncoder: a limit below one record or one template is refused", "[export][unit]") {
    CHECK_THROWS_AS(Pair({}, TimestampUnit::milliseconds, 80), ExportError);
    CHECK_THROWS_AS(Pair({}, TimestampUnit::milliseconds, 65'536), ExportError);
}
