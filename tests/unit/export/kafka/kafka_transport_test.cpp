// SPDX-License-Identifier: Apache-2.0
// The transport against the brokers of librdkafka's mock.
#include "export/kafka/kafka_transport.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "export/export_error.hpp"
#include "tests/support/kafka_mock.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/wait_until.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr int kPartitions = 3;

/// Seven hashes, of all 32 bits.
std::uint32_t hash_of(std::uint32_t number) { return number % 7 * 0x12345679U; }

/// A message of so many items, "FIRST", "FIRST + 1", ...
std::vector<std::byte> message_of(std::uint32_t first, std::uint32_t count,
                                  std::size_t longer_by = 0) {
    std::vector<std::byte> octets;
    for (std::uint32_t number = first; number < first + count; ++number) {
        const std::string text = std::to_string(number) + std::string(longer_by, ' ');
        const auto value = std::as_bytes(std::span(text));
        std::array<std::byte, kRecordItemHeader> header{};
        write_item_header({.key = {}, .value = value, .hash = hash_of(number), .tally = {1, 1, 1}},
                          header);
        octets.insert(octets.end(), header.begin(), header.end());
        octets.insert(octets.end(), value.begin(), value.end());
    }
    return octets;
}

/// The transport, and what it reports, in real time: librdkafka has its own clock.
struct Run {
    explicit Run(const CollectorOptions& options)
        : events(options, counters,
                 [this](const CollectorEvent& event) { kinds.push_back(event.kind); }),
          transport(options, events) {}

    [[nodiscard]] static std::chrono::nanoseconds now() {
        return std::chrono::steady_clock::now().time_since_epoch();
    }
    /// Sends a message when it is taken. @return  false: it is not within 10 s
    bool send(const std::vector<std::byte>& message) {
        const std::array<MessageView, 1> views{message};
        return wait_until([&] {
            turn();
            const bool is_taken = transport.send(views, now()).taken == 1;
            sent += is_taken ? 1 : 0;
            return is_taken;
        });
    }
    void turn() {
        transport.advance(now());
        const SendOutcomes outcomes = transport.collect_outcomes(now());
        delivered += outcomes.delivered;
        if (outcomes.by_item > 0) {
            transport.settle_by_item(
                [this](std::span<const ItemOutcome> items) {
                    by_item.emplace_back(items.begin(), items.end());
                },
                now());
        }
    }
    [[nodiscard]] std::size_t count(ItemOutcome outcome) const {
        std::size_t items = 0;
        for (const auto& message : by_item) {
            items += static_cast<std::size_t>(std::ranges::count(message, outcome));
        }
        return items;
    }
    bool settles() {
        return wait_until([this] {
            turn();
            return delivered + by_item.size() == sent;
        });
    }

    CollectorCounters counters;
    std::vector<CollectorEventKind> kinds;
    CollectorEvents events;
    KafkaTransport transport;
    std::size_t sent{};
    std::size_t delivered{};
    std::vector<std::vector<ItemOutcome>> by_item;
};

/// The numbers in a topic, whose partitions must be those of their hashes, in order.
std::vector<int> numbers_in(const KafkaMock& kafka) {
    std::vector<int> numbers;
    for (const auto& [partition, values] : kafka.read(kPartitions)) {
        std::vector<int> of_partition;
        for (const std::string& value : values) {
            of_partition.push_back(std::stoi(value));
            CHECK(hash_of(static_cast<std::uint32_t>(of_partition.back())) % kPartitions ==
                  static_cast<std::uint32_t>(partition));
        }
        CHECK(std::ranges::is_sorted(of_partition));
        numbers.insert(numbers.end(), of_partition.begin(), of_partition.end());
    }
    std::ranges::sort(numbers);
    return numbers;
}

std::vector<int> numbers(int end) {
    std::vector<int> all(static_cast<std::size_t>(end));
    for (int i = 0; i < end; ++i) {
        all[static_cast<std::size_t>(i)] = i;
    }
    return all;
}

/// Sends a message, all of whose items are delivered.
void deliver(Run& run, const std::vector<std::byte>& message) {
    const std::size_t before = run.delivered;
    REQUIRE(run.send(message));
    CHECK(run.settles());
    REQUIRE(run.delivered == before + 1);
}

/// Sends a message whose first request the broker refuses.
///
/// @return  the outcomes of its items
std::vector<ItemOutcome> have_refused(KafkaMock& kafka, Run& run,
                                      const std::vector<std::byte>& message) {
    kafka.refuse(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, 1);
    REQUIRE(run.send(message));
    CHECK(run.settles());
    REQUIRE(run.by_item.size() == 1);
    return run.by_item.front();
}

}  // namespace

TEST_CASE("KafkaTransport: items of a hash are on one partition, in order, each once",
          "[export][unit]") {
    KafkaMock kafka(kPartitions);
    Run run(kafka.collector());
    for (std::uint32_t i = 0; i < 20; ++i) {
        REQUIRE(run.send(message_of(50 * i, 50)));
    }
    CHECK(run.settles());
    CHECK(run.delivered == 20);
    CHECK(run.transport.is_proven());
    CHECK(run.kinds == std::vector{CollectorEventKind::connected});
    CHECK(numbers_in(kafka) == numbers(1000));
}

TEST_CASE("KafkaTransport: a session begins without any record, when a broker has the topic",
          "[export][unit]") {
    KafkaMock kafka(kPartitions);
    kafka.set_down();
    Run run(kafka.collector());
    CHECK_FALSE(wait_until(
        [&run] {
            run.turn();
            return run.transport.session() != 0;
        },
        std::chrono::seconds{2}));
    CHECK(std::ranges::count(run.kinds, CollectorEventKind::connect_failed) > 0);
    const std::vector<std::byte> message = message_of(0, 10);
    const std::array<MessageView, 1> views{message};
    CHECK(run.transport.send(views, Run::now()).taken == 0);
    kafka.set_up();
    CHECK(wait_until([&run] {
        run.turn();
        return run.transport.session() == 1 && run.transport.is_proven();
    }));
    REQUIRE(run.send(message));
    CHECK(run.settles());
    CHECK(numbers_in(kafka) == numbers(10));
}

TEST_CASE(
    "KafkaTransport: a session goes on without brokers, and is not connected until one is back",
    "[export][unit]") {
    KafkaMock kafka(kPartitions);
    Run run(kafka.collector());
    deliver(run, message_of(0, 10));
    CHECK(run.counters.connected.read() == 1);
    const auto told = [&run](CollectorEventKind kind) {
        return wait_until([&] {
            run.turn();
            return std::ranges::count(run.kinds, kind) > 0;
        });
    };

    kafka.set_down();
    REQUIRE(told(CollectorEventKind::connect_failed));
    CHECK(run.counters.connected.read() == 0);
    CHECK_FALSE(run.transport.is_proven());
    CHECK(run.transport.session() == 1);

    kafka.set_up();
    REQUIRE(told(CollectorEventKind::reached_again));
    CHECK(run.counters.connected.read() == 1);
    CHECK(run.transport.session() == 1);
    CHECK(run.counters.reconnects.read() == 0);
    CHECK(std::ranges::count(run.kinds, CollectorEventKind::connected) == 1);
    deliver(run, message_of(10, 10));
    CHECK(numbers_in(kafka) == numbers(20));
}

TEST_CASE("KafkaTransport: without the topic there is no session", "[export][unit]") {
    KafkaMock kafka(kPartitions);
    CollectorOptions options = kafka.collector();
    options.kafka.brokers = "127.0.0.1:1";
    Run run(options);
    CHECK(wait_until([&run] {
        run.turn();
        return std::ranges::count(run.kinds, CollectorEventKind::connect_failed) > 0;
    }));
    CHECK(run.transport.session() == 0);
    CHECK_FALSE(run.transport.is_proven());
}

TEST_CASE(
    "KafkaTransport: a producer that reaches no broker is replaced, and secrets are read anew",
    "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string path = directory / "password";
    std::ofstream(path) << "secret\n";
    KafkaMock kafka(kPartitions);
    CollectorOptions options = kafka.collector();
    options.kafka.brokers = "127.0.0.1:1";
    options.kafka.secrets = {{"sasl.password", path}};
    std::string text;
    CollectorCounters counters;
    CollectorEvents events(options, counters,
                           [&](const CollectorEvent& event) { text += event.text; });
    KafkaTransport transport(options, events);
    const auto needs_secret_at = [&](std::chrono::nanoseconds now) {
        text.clear();
        transport.advance(now);
        return text.find("cannot read " + path) != std::string::npos;
    };
    CHECK_FALSE(needs_secret_at(std::chrono::seconds{10}));  // the first producer
    std::filesystem::remove(path);
    SECTION("after a while") {
        CHECK_FALSE(needs_secret_at(std::chrono::seconds{39}));
        CHECK(needs_secret_at(std::chrono::seconds{40}));
    }
    SECTION("at once where that is wanted, unless it is new") {
        transport.try_now();
        CHECK_FALSE(needs_secret_at(std::chrono::milliseconds{10'900}));
        transport.try_now();
        CHECK(needs_secret_at(std::chrono::milliseconds{11'000}));
    }
}

TEST_CASE("KafkaTransport: errors that may be over the next time are tried again by the library",
          "[export][unit]") {
    KafkaMock kafka(kPartitions);
    kafka.refuse(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, 3);
    Run run(kafka.collector());
    REQUIRE(run.send(message_of(0, 100)));
    REQUIRE(run.send(message_of(100, 100)));
    CHECK(run.settles());
    CHECK(run.delivered == 2);
    CHECK(numbers_in(kafka) == numbers(200));
}

TEST_CASE(
    "KafkaTransport: after a refusal each item has its outcome, and what was not sent is "
    "nowhere",
    "[export][unit]") {
    KafkaMock kafka(kPartitions);
    Run run(kafka.collector());
    deliver(run, message_of(0, 100));
    REQUIRE(have_refused(kafka, run, message_of(100, 100)).size() == 100);
    const std::size_t not_sent = run.count(ItemOutcome::not_sent);
    CHECK(not_sent > 0);
    CHECK(not_sent + run.count(ItemOutcome::delivered) == 100);
    CHECK(numbers_in(kafka).size() == 200 - not_sent);
    CHECK(std::ranges::count(run.kinds, CollectorEventKind::connection_lost) == 1);

    CHECK(run.transport.session() == 0);  // and another one begins
    deliver(run, message_of(200, 10));
    CHECK(run.transport.session() == 2);
}

TEST_CASE("KafkaTransport: a refusal amid a message that had found room in part",
          "[export][unit]") {
    KafkaMock kafka(kPartitions);
    CollectorOptions options = kafka.collector();
    options.kafka.properties["queue.buffering.max.messages"] = "100";
    Run run(options);
    deliver(run, message_of(0, 10));
    const std::vector<ItemOutcome> outcomes = have_refused(kafka, run, message_of(10, 250));
    REQUIRE(outcomes.size() == 250);
    CHECK(outcomes.back() == ItemOutcome::not_sent);
    CHECK(run.count(ItemOutcome::not_sent) + run.count(ItemOutcome::delivered) == 250);
    deliver(run, message_of(300, 10));  // by the next producer, which has no rest
    CHECK(run.transport.session() == 2);
    CHECK(numbers_in(kafka).size() == 20 + run.count(ItemOutcome::delivered));
}

TEST_CASE(
    "KafkaTransport: what was not answered in its time is unconfirmed, what never left was "
    "not sent",
    "[export][unit]") {
    KafkaMock kafka(kPartitions);
    CollectorOptions options = kafka.collector();
    options.kafka.properties["message.timeout.ms"] = "500";
    Run run(options);
    REQUIRE(run.send(message_of(0, 100)));
    CHECK(run.settles());
    kafka.set_down();
    REQUIRE(run.send(message_of(100, 100)));
    CHECK(run.settles());
    CHECK(run.delivered == 1);
    CHECK(run.count(ItemOutcome::not_sent) + run.count(ItemOutcome::unconfirmed) == 100);
    CHECK(run.transport.session() == 0);
    CHECK(std::ranges::count(run.kinds, CollectorEventKind::connection_lost) == 1);
}

TEST_CASE("KafkaTransport: at the end, what is under way is unconfirmed", "[export][unit]") {
    KafkaMock kafka(kPartitions);
    Run run(kafka.collector());
    REQUIRE(run.send(message_of(0, 100)));
    CHECK(run.settles());
    kafka.set_delay(std::chrono::seconds{30});
    REQUIRE(run.send(message_of(100, 100)));
    std::this_thread::sleep_for(std::chrono::milliseconds{300});  // until the items have left
    run.transport.end_now(Run::now());
    run.turn();
    CHECK(run.count(ItemOutcome::unconfirmed) > 0);
    CHECK(run.count(ItemOutcome::unconfirmed) + run.count(ItemOutcome::not_sent) == 100);
    CHECK(run.delivered + run.by_item.size() == run.sent);
}

TEST_CASE("KafkaTransport: an item that the library never takes is refused, and no other one",
          "[export][unit]") {
    KafkaMock kafka(kPartitions);
    CollectorOptions options = kafka.collector();
    options.kafka.properties["message.max.bytes"] = "2000";
    Run run(options);
    REQUIRE(run.send(message_of(0, 10)));
    REQUIRE(run.send(message_of(10, 1, 3000)));
    REQUIRE(run.send(message_of(11, 10)));
    CHECK(run.settles());
    CHECK(run.count(ItemOutcome::refused) == 1);
    CHECK(run.count(ItemOutcome::delivered) + 10 * run.delivered == 20);
    CHECK(run.transport.session() == 1);
    CHECK(std::ranges::count(run.kinds, CollectorEventKind::message_too_large) == 1);
}

TEST_CASE("KafkaTransport: an item that is never taken is refused amid its message",
          "[export][unit]") {
    constexpr int kLong = 70;  // behind those that are produced first
    constexpr int kItems = 2 * static_cast<int>(KafkaProducer::kMostAtATime) + 3;
    KafkaMock kafka(kPartitions);
    CollectorOptions options = kafka.collector();
    options.kafka.properties["message.max.bytes"] = "2000";
    Run run(options);
    std::vector<std::byte> message = message_of(0, kLong);
    for (const auto& part :
         {message_of(kLong, 1, 3000), message_of(kLong + 1, kItems - kLong - 1)}) {
        message.insert(message.end(), part.begin(), part.end());
    }
    REQUIRE(run.send(message));
    CHECK(run.settles());
    REQUIRE(run.by_item.size() == 1);
    for (int item = 0; item < kItems; ++item) {
        CHECK(run.by_item[0][static_cast<std::size_t>(item)] ==
              (item == kLong ? ItemOutcome::refused : ItemOutcome::delivered));
    }
    std::vector<int> others = numbers(kItems);
    others.erase(others.begin() + kLong);
    CHECK(numbers_in(kafka) == others);
}

TEST_CASE("KafkaTransport: the library's limit of items is back-pressure", "[export][unit]") {
    KafkaMock kafka(kPartitions);
    CollectorOptions options = kafka.collector();
    options.kafka.properties["queue.buffering.max.messages"] = "100";
    Run run(options);
    for (std::uint32_t i = 0; i < 10; ++i) {
        REQUIRE(run.send(message_of(250 * i, 250)));
    }
    CHECK(run.settles());
    CHECK(run.delivered == 10);
    CHECK(numbers_in(kafka) == numbers(2500));
}

TEST_CASE("KafkaTransport: batch.size is read in the bases that the library knows",
          "[export][unit]") {
    KafkaMock kafka(kPartitions);
    CollectorOptions options = kafka.collector();
    CHECK(KafkaProducer::check(options.kafka) == 1'000'000);
    options.kafka.properties["batch.size"] = "020000";
    CHECK(KafkaProducer::check(options.kafka) == 8192);
    options.kafka.properties["batch.size"] = "0x10000";
    CHECK(KafkaProducer::check(options.kafka) == 65'536);
    Run run(options);
    deliver(run, message_of(0, 100));
    CHECK(numbers_in(kafka) == numbers(100));
}

TEST_CASE("KafkaTransport: unknown properties, and secrets that cannot be read, are errors",
          "[export][unit]") {
    KafkaMock kafka(kPartitions);
    CollectorCounters counters;
    CollectorOptions options = kafka.collector();
    CollectorEvents events(options, counters, {});
    options.kafka.properties["no.such.property"] = "1";
    CHECK_THROWS_WITH(KafkaTransport(options, events), Catch::Contains("no.such.property"));
    options.kafka.properties = {{"linger.ms", "soon"}};
    CHECK_THROWS_WITH(KafkaTransport(options, events), Catch::Contains("linger.ms"));
    options.kafka.properties = {};
    options.kafka.secrets = {{"sasl.password", "/nowhere/password"}};
    CHECK_THROWS_WITH(KafkaTransport(options, events),
                      "kafka: secrets.sasl.password: cannot read /nowhere/password");
}

TEST_CASE(
    "KafkaTransport: properties with which no session can begin are errors, in the library's words",
    "[export][unit]") {
    using Properties = std::map<std::string, std::string>;
    CollectorCounters counters;
    CollectorOptions options;
    options.transport = TransportKind::kafka;
    options.kafka.brokers = "127.0.0.1:1";
    options.kafka.topic = "t";
    CollectorEvents events(options, counters, {});
    const auto judged = [&](const Properties& properties) -> std::string {
        options.kafka.properties = properties;
        try {
            const KafkaTransport transport(options, events);
            return "accepted";
        } catch (const ExportError& error) {
            return error.what();
        }
    };
    CHECK(judged({}) == "accepted");
    CHECK(judged({{"acks", "all"}, {"retries", "1"}}) == "accepted");
    CHECK(judged({{"acks", "1"}}) ==
          "kafka: `acks` must be set to `all` when `enable.idempotence` is true");
    CHECK(judged({{"acks", "1"}, {"enable.idempotence", "false"}}) == "accepted");
    CHECK(judged({{"max.in.flight.requests.per.connection", "10"}}) ==
          "kafka: `max.in.flight` must be set <= 5 when `enable.idempotence` is true");
    CHECK(judged({{"retries", "0"}}) ==
          "kafka: `retries` must be set >= 1 when `enable.idempotence` is true");
    CHECK(judged({{"message.timeout.ms", "10"}}) ==
          "kafka: `message.timeout.ms` must be greater than `linger.ms`");
    CHECK(judged({{"max.in.flight", "0"}}).ends_with("range 1..1000000"));  // no line end
    CHECK_THAT(judged({{"security.protocol", "SASL_SSL"}}),
               Catch::EndsWith("(sasl.mechanism is not given, and GSSAPI, which is Kerberos, is "
                               "its default)"));
    CHECK(judged({{"security.protocol", "SASL_SSL"}, {"sasl.mechanism", "PLAIN"}}) ==
          "kafka: sasl.username and sasl.password must be set");
    CHECK(judged({{"security.protocol", "SSL"}, {"ssl.ca.location", "/nowhere/ca.pem"}})
              .starts_with("kafka: ssl.ca.location failed: "));
    const Properties tokens{{"security.protocol", "SASL_PLAINTEXT"},
                            {"sasl.mechanism", "OAUTHBEARER"}};
    CHECK(judged(tokens) ==
          "kafka: sasl.mechanism is OAUTHBEARER, but there are no tokens; must have "
          "sasl.oauthbearer.method oidc");
    Properties with_tokens = tokens;
    with_tokens.emplace("enable.sasl.oauthbearer.unsecure.jwt", "true");
    CHECK(judged(with_tokens) ==
          "kafka: enable.sasl.oauthbearer.unsecure.jwt cannot be used: it is for development "
          "alone, and librdkafka 2.0.2 crashes with it");
}

TEST_CASE("KafkaProducer: a command of Kerberos that is refused is not quoted", "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string command = directory.path() + "/command";
    std::ofstream(command) << "kinit %{hidden}\n";
    KafkaOptions options;
    options.properties = {{"security.protocol", "SASL_PLAINTEXT"}, {"sasl.mechanism", "GSSAPI"}};
    options.secrets = {{"sasl.kerberos.kinit.cmd", command}};
    CHECK_THROWS_WITH(KafkaProducer::check(options),
                      "kafka: property sasl.kerberos.kinit.cmd: librdkafka refuses its value");
}

TEST_CASE("KafkaProducer: a check begins no command of Kerberos", "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string began = directory.path() + "/began";
    const std::string command = directory.path() + "/command";
    std::ofstream(command) << "true\ntouch " << began << "\n";
    KafkaOptions options;
    options.properties = {{"security.protocol", "SASL_PLAINTEXT"}, {"sasl.mechanism", "GSSAPI"}};
    options.secrets = {{"sasl.kerberos.kinit.cmd", command}};
    KafkaProducer::check(options);
    CHECK_FALSE(std::filesystem::exists(began));
}
