// SPDX-License-Identifier: Apache-2.0
// Options records that name templates: which table's records a template describes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "export/ipfix/ipfix_format.hpp"
#include "export/ipfix/template_ids.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/ipfix_bytes.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/ipfix_elements.hpp"
#include "tests/support/two_layouts.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kLimit = 1400;
constexpr std::uint32_t kCert = 6871;

using Names = std::map<std::uint64_t, std::string>;  ///< by template id

/// The main table's records have MPLS labels: their template is sent before the first one.
MeteringProcess labelled_and_biflows() {
    MeteringProcess metering = two_layouts();
    metering.layout = RecordLayout::of(groups_of<MplsGroup>());
    return metering;
}

/// What one collector gets, decoded.
class Session {
public:
    /// The collector takes all tables that have a name.
    explicit Session(const MeteringProcess& metering, const CollectorOptions& collector = {},
                     ExportOptions options = {})
        : format_(options, taking_all(collector, metering), metering, kLimit) {}

    /// Sends what has to go ahead of records. Of each template of flows that has a name by now, the
    /// name is in `names`.
    void send_ahead(std::chrono::nanoseconds now = 0s) {
        while (const auto ahead = format_.next_ahead(now)) {
            OutgoingMessage message;
            message.kind = MessageKind::ahead;
            message.octets.assign(ahead->octets.begin(), ahead->octets.end());
            message.data_records = ahead->records;
            all_octets.insert(all_octets.end(), message.octets.begin() + 16, message.octets.end());
            hear(message);
        }
    }
    /// Sends a record, and all that goes ahead of it.
    ///
    /// @return  the template of the record
    std::uint16_t send(const Record& record, std::size_t layout) {
        OutgoingMessage message;
        message.layout = layout;
        REQUIRE(format_.append(bytes_of(record), message) == AppendResult::added);
        format_.close(message, {});
        send_ahead();
        return hear(message).records.front().template_id;
    }
    void refresh(std::chrono::nanoseconds now) { format_.refresh_if_due(now); }
    void restart() {
        format_.restart_session();
        format_.restart_numbers();
        decoder = {};
        names.clear();
        names_heard = 0;
    }
    /// The message that was taken last is taken once more.
    void lose_one() {
        static_cast<void>(format_.next_ahead(0s));
        format_.take_back_ahead();
    }
    [[nodiscard]] std::size_t templates_of_flows() const {
        std::size_t count = 0;
        for (const auto& [id, fields] : decoder.templates()) {
            count += id < kEndOfTemplateIds ? 1 : 0;
        }
        return count;
    }

    IpfixDecoder decoder;
    Names names;
    std::size_t names_heard = 0;
    std::vector<std::byte> all_octets;

private:
    [[nodiscard]] static CollectorOptions taking_all(CollectorOptions collector,
                                                     const MeteringProcess& metering) {
        for (const FurtherTable& table : metering.further) {
            if (!table.name.empty()) {
                collector.tables.push_back(table.name);
            }
        }
        return collector;
    }
    DecodedMessage hear(OutgoingMessage& message) {
        CHECK(has_no_stamp(message.octets));
        format_.stamp(message, {.wall = Timestamp{1'600'000'000s}});
        DecodedMessage heard = decoder.decode(message.octets);
        CHECK(message.octets.size() <= kLimit);
        CHECK(heard.records.size() == message.data_records);
        for (const DecodedRecord& record : heard.records) {
            if (record.is_option && record.has(kTemplateNameKey)) {
                CHECK(decoder.scopes().at(record.template_id) == 1);
                // A name comes behind its template.
                CHECK(decoder.templates().contains(
                    static_cast<std::uint16_t>(record.number(kTemplate))));
                names[record.number(kTemplate)] = record.text(kTemplateNameKey);
                ++names_heard;
            }
        }
        return heard;
    }

    IpfixFormat format_;
};

/// That all templates of flows have the name of their table, and no other does.
void check_names(const Session& session) {
    for (const auto& [id, fields] : session.decoder.templates()) {
        if (id < kEndOfTemplateIds) {
            REQUIRE(session.names.contains(id));
            CHECK(session.names.at(id) == (id < kFurtherTemplateIds ? "main" : "second"));
        }
    }
    CHECK(session.names.size() == session.templates_of_flows());
}

}  // namespace

TEST_CASE("TemplateScheduler: each template of flows is named before its first record",
          "[export][unit]") {
    Session session(labelled_and_biflows());
    session.send_ahead();
    CHECK(session.templates_of_flows() == 16);
    check_names(session);
    CHECK(session.decoder.types().contains({kCert, 1000}));

    const std::uint16_t plain = session.send(record_of(1), 0);
    CHECK(session.names.at(plain) == "main");
    CHECK(session.names_heard == 16);

    INFO("a template that is announced with its first record");
    Record labelled = labelled_record(2);
    const std::uint16_t later = session.send(labelled, 0);
    CHECK(later != plain);
    CHECK(session.names.at(later) == "main");
    CHECK(session.names_heard == 17);

    INFO("of both tables, in turn");
    const std::uint16_t biflow = session.send(biflow_of(3), 1);
    CHECK(session.names.at(biflow) == "second");
    labelled.core.key.vlan = {5};
    CHECK(session.names.at(session.send(labelled, 0)) == "main");
    CHECK(session.names.at(session.send(biflow_of(4), 1)) == "second");
    check_names(session);
}

TEST_CASE("TemplateScheduler: names are sent again with the templates, and in each session",
          "[export][unit]") {
    CollectorOptions collector;
    collector.transport = TransportKind::udp;
    ExportOptions options;
    options.template_refresh = 10s;
    Session session(labelled_and_biflows(), collector, options);
    session.send_ahead();
    session.send(labelled_record(1), 0);
    session.send(biflow_of(3), 1);
    const std::size_t once = session.names_heard;
    CHECK(once == 18);
    const std::size_t octets = session.all_octets.size();
    session.all_octets.clear();

    session.refresh(5s);
    session.send_ahead(5s);
    CHECK(session.names_heard == once);
    session.refresh(11s);
    session.send_ahead(11s);
    CHECK(session.names_heard == 2 * once);
    CHECK(session.all_octets.size() == octets);

    session.restart();
    session.send_ahead(12s);
    CHECK(session.names_heard == once);
    check_names(session);
}

TEST_CASE("TemplateScheduler: a message that could not be sent is the next one again",
          "[export][unit]") {
    Session smooth(labelled_and_biflows());
    Session troubled(labelled_and_biflows());
    for (Session* const each : {&smooth, &troubled}) {
        for (int messages = 0; each == &troubled && messages < 3; ++messages) {
            each->lose_one();
        }
        each->send(labelled_record(1), 0);
        each->send(biflow_of(3), 1);
        check_names(*each);
    }
    CHECK(smooth.all_octets == troubled.all_octets);
}

TEST_CASE("TemplateScheduler: the main table alone has no names, nor any octet more",
          "[export][unit]") {
    MeteringProcess alone;
    Session session(alone);
    session.send_ahead();
    CHECK(session.names.empty());
    CHECK_FALSE(session.decoder.types().contains({kCert, 1000}));
    CHECK(session.decoder.templates().size() == 8 + 10);

    INFO("nor has a place without a table");
    MeteringProcess unnamed = two_layouts();
    unnamed.further[0].name.clear();
    Session nameless(unnamed);
    nameless.send_ahead();
    CHECK(nameless.names.empty());
    CHECK_FALSE(nameless.decoder.types().contains({kCert, 1000}));
}

TEST_CASE("TemplateScheduler: names go with the types of enterprises' elements", "[export][unit]") {
    const auto named = [](const CollectorOptions& collector, const ExportOptions& options = {}) {
        Session session(two_layouts(), collector, options);
        session.send_ahead();
        for (const auto& [id, fields] : session.decoder.templates()) {
            for (const DecodedField& field : fields) {
                CHECK((field.enterprise != kCert || !session.names.empty()));
            }
        }
        return session.names.size();
    };
    CHECK(named({}) == 16);
    CollectorOptions without_types;
    without_types.options.types = false;
    CHECK(named(without_types) == 0);
    CollectorOptions without_enterprises;
    without_enterprises.enterprise_elements = false;
    CHECK(named(without_enterprises) == 0);
    CHECK(named({}, without_options_records()) == 0);
    CollectorOptions types_alone;
    types_alone.options = {.reliability = false,
                           .statistics = false,
                           .interfaces = false,
                           .flow_keys = false,
                           .types = true};
    types_alone.sampling = SamplingForm::none;
    CHECK(named(types_alone) == 16);
}

TEST_CASE("TemplateScheduler: the longest name fits the shortest message", "[export][unit]") {
    MeteringProcess metering = two_layouts();
    metering.further[0].name = std::string(32, 'n');
    constexpr std::size_t kShortest = 576;
    CollectorOptions collector;
    collector.tables.push_back(metering.further[0].name);
    IpfixFormat format({}, collector, metering, kShortest);
    std::size_t names = 0;
    IpfixDecoder decoder;
    while (const auto ahead = format.next_ahead(0s)) {
        OutgoingMessage message;
        message.kind = MessageKind::ahead;
        message.octets.assign(ahead->octets.begin(), ahead->octets.end());
        message.data_records = ahead->records;
        format.stamp(message, {});
        REQUIRE(message.octets.size() <= kShortest);
        for (const DecodedRecord& record : decoder.decode(message.octets).records) {
            names += record.has(kTemplateNameKey) &&
                             record.text(kTemplateNameKey) == metering.further[0].name
                         ? 1
                         : 0;
        }
    }
    CHECK(names == 8);
}

TEST_CASE("TemplateScheduler: a collector of the main table alone gets no names of others",
          "[export][unit]") {
    const MeteringProcess metering = two_layouts();
    IpfixFormat format({}, {}, metering, kLimit);
    IpfixFormat alone({}, {}, {}, kLimit);
    while (const auto ahead = format.next_ahead(0s)) {
        const auto expected = alone.next_ahead(0s);
        REQUIRE(expected);
        CHECK(std::ranges::equal(ahead->octets, expected->octets));
    }
    CHECK_FALSE(alone.next_ahead(0s));
}
