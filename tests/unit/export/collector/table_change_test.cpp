// SPDX-License-Identifier: Apache-2.0
// Further tables that come and go while records are exported.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "export/collector/export_worker.hpp"
#include "export/collector/message_collector.hpp"
#include "export/ipfix/ipfix_format.hpp"
#include "export/ipfix/template_ids.hpp"
#include "export/kafka/ipfix_item_format.hpp"
#include "export/kafka/item_framing.hpp"
#include "export/messages/element_text.hpp"
#include "export/messages/framing.hpp"
#include "export/messages/json_encoder.hpp"
#include "export/messages/record_format.hpp"
#include "export/record_items.hpp"
#include "export/spool/spool_fingerprints.hpp"
#include "tests/support/collector_group_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"
#include "tests/support/ipfix_elements.hpp"
#include "tests/support/plain_collector.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/two_layouts.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

using Tables = std::vector<std::string>;
using Further = std::vector<FurtherTable>;

constexpr std::size_t kLimit = 1400;

FurtherTable biflows(const std::string& name, bool is_ending = false) {
    return {.name = name, .layout = kSecondLayout, .elements = {}, .is_ending = is_ending};
}
FurtherTable uniflows(const std::string& name, bool is_ending = false) {
    return {.name = name, .layout = {}, .elements = {}, .is_ending = is_ending};
}

TableChoice choice(std::initializer_list<std::size_t> taken,
                   std::initializer_list<std::size_t> staying) {
    TableChoice made;
    for (const std::size_t table : taken) {
        made.taken.add(table);
    }
    for (const std::size_t table : staying) {
        made.staying.add(table);
    }
    return made;
}

/// What one collector of IPFIX gets.
class Session {
public:
    explicit Session(TransportKind transport) {
        collector_.transport = transport;
        format_ =
            std::make_unique<IpfixFormat>(ExportOptions{}, collector_, MeteringProcess{}, kLimit);
    }
    void change(const Further& further, const TableChoice& wanted) {
        MeteringProcess metering;
        metering.further = further;
        format_->take_tables(format_->prepare_tables(metering, wanted));
    }
    void send_ahead() {
        while (const auto ahead = format_->next_ahead(0s)) {
            OutgoingMessage message;
            message.kind = MessageKind::ahead;
            message.octets.assign(ahead->octets.begin(), ahead->octets.end());
            message.data_records = ahead->records;
            hear(message);
        }
    }
    /// @return  the template of the record
    std::uint16_t send(const Record& record, std::size_t layout) {
        OutgoingMessage message;
        message.layout = layout;
        REQUIRE(format_->append(bytes_of(record), message) == AppendResult::added);
        format_->close(message, {});
        format_->prepare_for(message);
        send_ahead();
        return hear(message).records.front().template_id;
    }
    void restart() {
        format_->restart_session();
        format_->restart_numbers();
        decoder = {};
    }
    /// The message that was taken last is taken once more.
    void lose_one() {
        REQUIRE(format_->next_ahead(0s));
        format_->take_back_ahead();
    }

    IpfixDecoder decoder;  ///< demands sequence numbers, and templates before records
    std::size_t withdrawals = 0;
    std::vector<std::byte> last_withdrawal;

private:
    DecodedMessage hear(OutgoingMessage& message) {
        format_->stamp(message, {.wall = Timestamp{1'600'000'000s}});
        DecodedMessage heard = decoder.decode(message.octets);
        CHECK(heard.records.size() == message.data_records);
        withdrawals += heard.withdrawals;
        if (heard.withdrawals > 0) {
            last_withdrawal = message.octets;
        }
        return heard;
    }

    CollectorOptions collector_;
    std::unique_ptr<IpfixFormat> format_;
};

/// The way to a collector.
struct Link {
    bool is_there{};           ///< the collector is
    std::size_t may_arrive{};  ///< messages that it will acknowledge
    std::size_t sent{};        ///< messages
};

class LinkTransport final : public Transport {
public:
    explicit LinkTransport(Link& link) : link_(link) {}

    void advance(std::chrono::nanoseconds) noexcept override {}
    [[nodiscard]] std::uint64_t session() const noexcept override { return link_.is_there ? 1 : 0; }
    [[nodiscard]] SendResult send(std::span<const MessageView> messages,
                                  std::chrono::nanoseconds) noexcept override {
        link_.sent += messages.size();
        under_way_ += messages.size();
        return {.taken = messages.size(), .rest = SendStatus::taken};
    }
    [[nodiscard]] SendOutcomes collect_outcomes(std::chrono::nanoseconds) noexcept override {
        const std::size_t arrive = std::min(link_.may_arrive, under_way_);
        link_.may_arrive -= arrive;
        under_way_ -= arrive;
        return {.delivered = arrive};
    }

private:
    Link& link_;
    std::size_t under_way_{};
};

/// Makes collectors that are reached by this link.
CollectorFactory by_link(Link& link,
                         std::unique_ptr<MessageFormat> (*make_format)(const CollectorParts&)) {
    return [&link, make_format](const CollectorParts& parts) {
        return std::make_unique<MessageCollector>(
            parts, make_format(parts), [&link](const CollectorOptions&, CollectorEvents&) {
                return std::make_unique<LinkTransport>(link);
            });
    };
}

std::unique_ptr<MessageFormat> json_lines(const CollectorParts& parts) {
    return std::make_unique<RecordFormat>(
        RecordFormatParts{.encoder = std::make_unique<JsonEncoder>(ExportOptions{}, parts.metering,
                                                                   StreamIdentity{}),
                          .framing = std::make_unique<LineFraming>("json lines")},
        parts.collector(), parts.metering);
}

std::unique_ptr<MessageFormat> ipfix_items(const CollectorParts& parts) {
    return std::make_unique<IpfixItemFormat>(ExportOptions{}, parts.collector(), parts.metering);
}

/// JSON for a topic, whose key is by the options.
std::unique_ptr<MessageFormat> json_items(const CollectorParts& parts) {
    const KafkaOptions& kafka = parts.collector().kafka;
    ItemFraming::MakeField field;
    if (kafka.key == KafkaKey::field) {
        field = [name = kafka.key_field](const MeteringProcess& tables) {
            return ElementText(name, ExportOptions{}, tables);
        };
    }
    return std::make_unique<RecordFormat>(
        RecordFormatParts{
            .encoder =
                std::make_unique<JsonEncoder>(ExportOptions{}, parts.metering, StreamIdentity{}),
            .framing = std::make_unique<ItemFraming>("json", ItemValue::bare, kafka.key,
                                                     parts.metering, std::move(field))},
        parts.collector(), parts.metering);
}

/// An export to plain collectors, or others, with a queue for the main table and one for each
/// place.
struct TableExport {
    static constexpr std::size_t kPlaces = 3;
    static constexpr std::size_t kTinyBuffer = 1000;  ///< octets; any message fills it

    explicit TableExport(std::size_t collectors, ExportMode mode = ExportMode::copy)
        : TableExport(collectors, mode, {}, {}) {}
    /// One collector, with a tiny buffer if it has a spool.
    explicit TableExport(const CollectorFactory& factory, const SpoolOptions& spool = {})
        : TableExport(1, ExportMode::copy, factory, spool) {}
    TableExport(std::size_t collectors, ExportMode mode, const CollectorFactory& given,
                const SpoolOptions& spool)
        : receivers(collectors) {
        options = without_options_records();
        options.mode = mode;
        options.drain_timeout = milliseconds{1000};
        options.flush_interval = milliseconds{100};
        PlainAmong factory;
        for (std::size_t index = 0; index < collectors; ++index) {
            CollectorOptions& collector = options.collectors.emplace_back();
            collector.host = "192.0.2." + std::to_string(index + 1);
            collector.port = 4739;
            collector.transport = given ? TransportKind::tcp : collector.transport;
            collector.spool = spool;
            collector.buffer = spool.is_on() ? kTinyBuffer : collector.buffer;
            accounts.push_back(index);
            factory.plain.emplace_back(index, &receivers[index]);
        }
        counters.make_parts({0, 1, 2, 3}, 1 + kPlaces);
        worker = std::make_unique<ExportWorker>(options, MeteringProcess{}, sources({}), counters,
                                                CollectorEventHandler{},
                                                given ? given : CollectorFactory(factory));
    }
    /// The queue of each place whose table is there.
    [[nodiscard]] std::vector<RecordSource*> sources(const Further& further) {
        std::vector<RecordSource*> all{&main};
        for (std::size_t place = 0; place < kPlaces; ++place) {
            const bool is_there = place < further.size() && further[place].is_there();
            all.push_back(is_there ? queues[place].get() : nullptr);
        }
        return all;
    }
    void change(const Further& further) {
        for (std::size_t place = 0; place < further.size(); ++place) {
            const bool is_new =
                place >= present.size() || !present[place].is_same_as(further[place]);
            if (is_new && further[place].is_there()) {
                queues.at(place) = std::make_unique<RecordQueue>(further[place].layout, place + 1);
            }
        }
        const TableChange tables{.further = further, .sources = sources(further)};
        worker->change(options, accounts, &tables);
        present = further;
    }
    void take(std::size_t collector, const Tables& tables) {
        options.collectors[collector].tables = tables;
    }
    void put(std::size_t place, std::uint16_t first, std::uint16_t end) {
        for (std::uint16_t number = first; number < end; ++number) {
            queues[place]->put(present[place].layout == kSecondLayout ? biflow_of(number)
                                                                      : record_of(number));
        }
    }
    void run() {
        for (const milliseconds end = uptime + 500ms; uptime < end; uptime += 50ms) {
            for (int steps = 0; worker->step(at(uptime)); ++steps) {
                REQUIRE(steps < 10'000);
            }
        }
    }
    void finish() {
        for (int calls = 0; !worker->finish(at(uptime)); ++calls) {
            REQUIRE(calls < 100'000);
            uptime += 10ms;
        }
    }
    [[nodiscard]] std::vector<std::uint64_t> received(std::size_t collector,
                                                      std::size_t table) const {
        const PlainReceiver& receiver = receivers[collector];
        std::vector<std::uint64_t> ports;
        for (std::size_t i = 0; i < receiver.ports.size(); ++i) {
            if (receiver.layouts[i] == table) {
                ports.push_back(receiver.ports[i]);
            }
        }
        return ports;
    }

    std::vector<PlainReceiver> receivers;
    ExportOptions options;
    std::vector<std::size_t> accounts;
    RecordQueue main;
    std::array<std::unique_ptr<RecordQueue>, kPlaces> queues;
    Further present;
    ExportCounters counters{1 + kPlaces, 2};
    std::unique_ptr<ExportWorker> worker;
    milliseconds uptime{0};
};

}  // namespace

TEST_CASE("IpfixFormat: a session gains a table, with its types, templates and names",
          "[export][unit]") {
    const auto transport = GENERATE(TransportKind::tcp, TransportKind::udp, TransportKind::file);
    Session session(transport);
    const std::uint16_t plain = session.send(record_of(1), 0);
    const std::size_t templates = session.decoder.templates().size();
    session.change({biflows("second")}, choice({0, 1}, {0}));
    session.send_ahead();
    CHECK(session.decoder.templates().size() > templates);
    CHECK(session.decoder.types().contains({6871, 1000}));  // of the templates' names
    CHECK(session.send(biflow_of(2), 1) >= kFurtherTemplateIds);
    CHECK(session.send(record_of(3), 0) == plain);
    CHECK(session.withdrawals == 0);
}

TEST_CASE("IpfixFormat: what a table that goes has had is withdrawn, but by UDP",
          "[export][unit]") {
    const auto transport = GENERATE(TransportKind::tcp, TransportKind::udp);
    Session session(transport);
    session.send(record_of(1), 0);
    session.change({biflows("one")}, choice({0, 1}, {0}));
    const std::uint16_t first = session.send(biflow_of(2), 1);
    session.change({FurtherTable{}}, choice({0}, {0}));
    session.change({uniflows("two")}, choice({0, 1}, {0}));
    const std::uint16_t second = session.send(record_of(3), 1);
    if (transport == TransportKind::udp) {
        CHECK(session.withdrawals == 0);
        CHECK(second >= first - first % kTemplateIdBlock + kTemplateIdBlock);
        return;
    }
    CHECK(session.withdrawals == 9);  // eight plain ones, which are announced at once, and its own
    CHECK(first - first % kTemplateIdBlock == second - second % kTemplateIdBlock);
    constexpr std::size_t kHeaders = 16 + 4;
    REQUIRE(session.last_withdrawal.size() == kHeaders + 9 * 4);
    CHECK(session.last_withdrawal[16 + 1] == std::byte{2});  // a template set
    CHECK(session.last_withdrawal[kHeaders] == std::byte{0x40});
    CHECK(session.last_withdrawal[kHeaders + 2] == std::byte{0});
    CHECK(session.last_withdrawal[kHeaders + 3] == std::byte{0});
}

TEST_CASE("IpfixFormat: a withdrawal that could not be sent is the next message again",
          "[export][unit]") {
    Session session(TransportKind::tcp);
    session.change({biflows("one")}, choice({0, 1}, {0}));
    session.send(biflow_of(1), 1);
    session.change({FurtherTable{}}, choice({0}, {0}));
    session.lose_one();
    session.send_ahead();
    CHECK(session.withdrawals == 9);
    session.send_ahead();
    CHECK(session.withdrawals == 9);

    INFO("a session that begins knows nothing to be withdrawn");
    session.change({biflows("two")}, choice({0, 1}, {0}));
    session.send(biflow_of(1), 1);
    session.change({FurtherTable{}}, choice({0}, {0}));
    session.restart();
    session.send_ahead();
    CHECK(session.withdrawals == 9);
}

TEST_CASE("IpfixFormat: templates that were never sent are not withdrawn", "[export][unit]") {
    Session session(TransportKind::tcp);
    session.send_ahead();
    session.change({biflows("one")}, choice({0}, {0}));  // not taken
    session.send_ahead();
    session.change({FurtherTable{}}, choice({0}, {0}));
    session.send_ahead();
    CHECK(session.withdrawals == 0);
}

TEST_CASE("IpfixFormat: tables that come and go a thousand times leave nothing", "[export][unit]") {
    Session session(TransportKind::tcp);
    session.send(record_of(1), 0);
    const std::size_t templates = session.decoder.templates().size();
    for (std::uint16_t number = 0; number < 1000; ++number) {
        const bool is_odd = number % 2 != 0;
        session.change({is_odd ? biflows("one") : uniflows("two")}, choice({0, 1}, {0}));
        session.send(is_odd ? biflow_of(number) : record_of(number), 1);
        session.change({FurtherTable{}}, choice({0}, {0}));
        session.send(record_of(number), 0);
    }
    // The options template of names came with the first table, and stays.
    CHECK(session.decoder.templates().size() == templates + 1);
}

TEST_CASE("IpfixFormat: no frame of a spool is of a place without a table", "[export][unit]") {
    IpfixFormat format({}, {}, {}, kLimit);
    MeteringProcess metering;
    metering.further = {FurtherTable{}, biflows("second")};
    format.take_tables(format.prepare_tables(metering, choice({0}, {0})));
    const SpoolContent content = format.spool_content();
    REQUIRE(content.further.size() == 2);
    CHECK_FALSE(content.further[0].is_there);
    const SpoolFingerprints fingerprints(content);
    CHECK_FALSE(fingerprints.layout_of_mark(0));
    CHECK(fingerprints.layout_of_mark(fingerprints.mark_of(2)) == 2);
    CHECK(fingerprints.layout_of_mark(fingerprints.mark_of(0)) == 0);
}

TEST_CASE("IpfixFormat: a table whose records do not fit the collector's messages is refused",
          "[export][unit]") {
    IpfixFormat format({}, {}, {}, 300);
    MeteringProcess metering;
    metering.further = {{.name = "large", .layout = RecordLayout::of(kEveryGroup)}};
    CHECK_THROWS_AS(format.prepare_tables(metering, choice({0, 1}, {0})), ExportError);
    CHECK_NOTHROW(format.prepare_tables(metering, choice({0}, {0})));
}

TEST_CASE("RecordFormat: JSON gains a table and loses it, and numbers go on", "[export][unit]") {
    const MeteringProcess alone;
    const auto make = [&alone] {
        return RecordFormat(
            {.encoder = std::make_unique<JsonEncoder>(ExportOptions{}, alone, StreamIdentity{}),
             .framing = std::make_unique<LineFraming>("json lines")},
            {}, alone);
    };
    RecordFormat format = make();
    const auto line_of = [&format](const Record& record, std::size_t layout) {
        OutgoingMessage message;
        message.layout = layout;
        REQUIRE(format.append(bytes_of(record), message) == AppendResult::added);
        format.close(message, {});
        return std::string(reinterpret_cast<const char*>(message.octets.data()),
                           message.octets.size());
    };
    CHECK(line_of(record_of(1), 0).find("\"tributary:sequenceNumber\":0}") != std::string::npos);
    MeteringProcess metering;
    metering.further = {biflows("second")};
    format.take_tables(format.prepare_tables(metering, choice({0, 1}, {0})));
    const std::string biflow = line_of(biflow_of(2), 1);
    CAPTURE(biflow);
    CHECK(biflow.find("\"iana@reverse:packetDeltaCount@reverse\":3") != std::string::npos);
    CHECK(biflow.find("\"tributary:sequenceNumber\":1}") != std::string::npos);
    CHECK(format.spool_content().further.size() == 1);
    metering.further = {FurtherTable{}};
    format.take_tables(format.prepare_tables(metering, choice({0}, {0})));
    CHECK(line_of(record_of(3), 0).find("\"tributary:sequenceNumber\":2}") != std::string::npos);
}

TEST_CASE("IpfixItemFormat: items of a table that has come have its templates", "[export][unit]") {
    CollectorOptions collector;
    collector.transport = TransportKind::kafka;
    IpfixItemFormat format({}, collector, {});
    MeteringProcess metering;
    metering.further = {biflows("second")};
    format.take_tables(format.prepare_tables(metering, choice({0, 1}, {0})));
    OutgoingMessage message;
    message.layout = 1;
    REQUIRE(format.append(bytes_of(biflow_of(1)), message) == AppendResult::added);
    format.close(message, {});
    RecordItems items(message.octets);
    const auto item = items.next();
    REQUIRE(item);
    IpfixDecoder decoder;
    CHECK(decoder.decode(item->value).records.size() == 1);
}

TEST_CASE("ExportWorker: a table comes, and goes to the collectors that name it",
          "[export][unit]") {
    TableExport run(2);
    run.main.put(record_of(6));
    run.run();
    CHECK(run.counters.collectors[0].tables[0].records.read().records == 0);  // not split yet
    run.take(1, {"main", "nets"});
    run.change({biflows("nets")});
    run.put(0, 0, 500);
    run.main.put(record_of(7));
    run.run();
    CHECK(run.received(1, 1) == numbers(0, 500));
    CHECK(run.received(0, 1).empty());
    CHECK(run.received(0, 0) == std::vector<std::uint64_t>{6, 7});
    CHECK(run.counters.collectors[0].tables[0].records.read().records == 2);
    CHECK(run.counters.queues[1].exported.read().records == 500);
    CHECK(run.counters.collectors[1].tables[1].records.read().records == 500);

    INFO("it ends, and is not named any more");
    run.take(1, {"main"});
    run.change({biflows("nets", true)});
    run.put(0, 500, 600);
    run.run();
    CHECK(run.received(1, 1) == numbers(0, 600));
    CHECK_FALSE(run.worker->holds(1));
    run.change({FurtherTable{}});

    INFO("another one takes its place");
    run.take(0, {"ports"});
    run.change({uniflows("ports")});
    run.put(0, 0, 10);
    run.run();
    CHECK(run.received(0, 1) == numbers(0, 10));
    CHECK(run.received(1, 1) == numbers(0, 600));
    run.finish();
}

TEST_CASE("ExportWorker: a name means the table that ends and its successor", "[export][unit]") {
    TableExport run(1);
    run.take(0, {"main", "nets"});
    run.change({uniflows("nets")});
    run.put(0, 0, 100);
    run.run();
    run.change({uniflows("nets", true), biflows("nets")});
    run.put(0, 100, 200);
    run.put(1, 0, 50);
    run.run();
    CHECK(run.received(0, 1) == numbers(0, 200));
    CHECK(run.received(0, 2) == numbers(0, 50));
    run.change({FurtherTable{}, biflows("nets")});
    run.put(1, 50, 60);
    run.run();
    CHECK(run.received(0, 2) == numbers(0, 60));
    run.finish();
}

TEST_CASE("ExportWorker: a table whose records wait stays where it is", "[export][unit]") {
    TableExport run(1);
    run.take(0, {"main", "nets"});
    run.change({uniflows("nets")});
    run.receivers[0].is_there = false;
    run.put(0, 0, 100);
    run.run();
    CHECK(run.worker->holds(1));
    run.take(0, {"main"});
    run.change({uniflows("nets", true)});
    const auto free_it = [&run] { run.change({FurtherTable{}}); };
    CHECK_THROWS_WITH(free_it(), Catch::Contains("former table nets"));
    run.receivers[0].is_there = true;
    run.run();
    CHECK(run.received(0, 1) == numbers(0, 100));
    CHECK_FALSE(run.worker->holds(1));
    CHECK_NOTHROW(free_it());
    run.finish();
}

TEST_CASE("ExportWorker: a table stays while its last records, read from a spool, are under way",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const auto make_format = GENERATE(&json_lines, &ipfix_items);
    Link link;
    TableExport run(by_link(link, make_format), {.directory = directory.path()});
    run.take(0, {"main", "nets"});
    run.change({uniflows("nets")});
    run.put(0, 0, 10);
    run.run();  // in the buffer
    run.put(0, 10, 20);
    run.run();  // in the spool
    CHECK(run.counters.collectors[0].spool_octets.read() > 0);
    run.take(0, {"main"});
    run.change({uniflows("nets", true)});
    link.is_there = true;
    run.run();
    CHECK(link.sent == 1);
    link.may_arrive = 1;
    run.run();
    CHECK(link.sent == 2);
    CHECK(run.counters.queues[1].exported.read().records == 10);

    INFO("the spool has nothing more to be read");
    CHECK(run.worker->holds(1));
    CHECK_FALSE(run.worker->holds(0));
    const auto free_it = [&run] { run.change({FurtherTable{}}); };
    CHECK_THROWS_WITH(free_it(), Catch::Contains("former table nets"));
    link.may_arrive = 1;
    run.run();
    CHECK_FALSE(run.worker->holds(1));
    CHECK(run.counters.queues[1].exported.read().records == 20);
    CHECK_NOTHROW(free_it());
    run.finish();
}

TEST_CASE("ExportWorker: a table ends whatever the key of a retired session is", "[export][unit]") {
    Link link;
    TableExport run(by_link(link, json_items));
    KafkaOptions& kafka = run.options.collectors[0].kafka;
    kafka.key = KafkaKey::field;
    kafka.key_field = "maximumTTL";
    run.take(0, {"main", "nets"});
    run.change({biflows("nets")});
    run.main.put(record_of(7));
    run.run();
    CHECK_THROWS_WITH(run.change({biflows("nets", true)}),
                      Catch::Contains("no record has the element maximumTTL"));
    kafka.key = KafkaKey::flow;
    kafka.key_field.clear();
    run.take(0, {"main"});
    run.change({biflows("nets", true)});
    CHECK(run.worker->holds(0));
    CHECK_FALSE(run.worker->holds(1));
    CHECK_NOTHROW(run.change({FurtherTable{}}));

    INFO("what waited is sent");
    run.main.put(record_of(8));
    link.is_there = true;
    link.may_arrive = 2;
    run.run();
    CHECK(run.counters.queues[0].exported.read().records == 2);
    run.finish();
}

TEST_CASE("ExportWorker: a change that is refused has changed nothing", "[export][unit]") {
    TableExport run(1);
    run.take(0, {"main", "nothing"});
    CHECK_THROWS_WITH(run.change({uniflows("nets")}), Catch::Contains("there is no table nothing"));
    run.take(0, {"main"});
    run.change({});
    run.main.put(record_of(7));
    run.run();
    CHECK(run.received(0, 0) == std::vector<std::uint64_t>{7});
    run.take(0, {"main", "nets"});
    run.change({uniflows("nets")});
    run.put(0, 0, 10);
    run.run();
    CHECK(run.received(0, 1) == numbers(0, 10));
    run.finish();
}

TEST_CASE("ExportWorker: a table that no collector takes any more is lost", "[export][unit]") {
    TableExport run(1);
    run.change({uniflows("nets")});
    run.put(0, 0, 10);
    run.run();
    run.change({uniflows("nets", true)});
    run.put(0, 10, 30);
    run.run();
    CHECK(run.counters.queues[1].read_lost(ExportLoss::no_collector).records == 30);
    run.change({FurtherTable{}});
    run.finish();
}
