// SPDX-License-Identifier: Apache-2.0
// A reload begins another session to a topic: what the former one has goes first.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "export/collector/collector_change.hpp"
#include "export/collector/collector_group.hpp"
#include "export/collector/message_collector.hpp"
#include "tests/support/collector_group_harness.hpp"
#include "tests/support/scripted_items.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr milliseconds kPatience = CollectorGroup::kFormerPatience;

CollectorOptions topic_at(const std::string& brokers, const std::string& topic = "flows") {
    CollectorOptions options;
    options.transport = TransportKind::kafka;
    options.format = RecordFormatKind::json;
    options.kafka.brokers = brokers;
    options.kafka.topic = topic;
    return options;
}

/// One collector, whose sessions have a script each, in the order in which they begin.
struct TopicExport : GroupExport {
    TopicExport() : GroupExport(ExportMode::copy, 1) {
        options.drain_timeout = milliseconds{4000};
        options.collectors = {topic_at("k1:9092")};
        factory = [this](const CollectorParts& parts) {
            Script& script = scripts.at(sessions++);
            return std::make_unique<MessageCollector>(
                parts, std::make_unique<ItemFormat>(),
                [&script](const CollectorOptions&, CollectorEvents&) {
                    return std::make_unique<ScriptedTransport>(script);
                });
        };
        start();
        run(milliseconds{200});
        put(0, 100);
        run(milliseconds{2000});
        REQUIRE(scripts[0].sent.size() == 134);
    }
    void put(std::uint16_t first, std::uint16_t end) {
        for (std::uint16_t number = first; number < end; ++number) {
            queue.put(record_of(number));
        }
    }
    /// A reload with another compression, or other brokers, and records behind it.
    void reload(const std::string& brokers = "k1:9092", const std::string& topic = "flows") {
        options.collectors = {topic_at(brokers, topic)};
        options.collectors[0].kafka.compression = "zstd";
        worker->change(options, std::array<std::size_t, 1>{0});
        put(100, 200);
        run(milliseconds{2000});
    }
    [[nodiscard]] std::size_t sent_by_second() const { return scripts[1].sent.size(); }
    /// The former session's outcomes come.
    void settle_first() {
        scripts[0].ends = true;
        run(milliseconds{200});
    }
    void end(std::uint64_t exported_records) {
        for (Script& script : scripts) {
            script.ends = true;
        }
        finish();
        CHECK(exported() == exported_records);
    }

    std::array<Script, 3> scripts;
    std::size_t sessions = 0;
};

}  // namespace

TEST_CASE("CollectorGroup: a new session to a topic sends behind what the former one has",
          "[export][unit]") {
    TopicExport group;
    group.reload("k2:9092,k1:9092");
    CHECK(group.worker->is_retiring());
    CHECK(group.sent_by_second() == 0);
    group.run(kPatience - milliseconds{3000});
    CHECK(group.sent_by_second() == 0);
    group.settle_first();
    CHECK_FALSE(group.worker->is_retiring());
    CHECK(group.sent_by_second() == 133);
    group.end(200);
}

TEST_CASE("CollectorGroup: a former session that shows no life does not hold up the new one",
          "[export][unit]") {
    TopicExport group;
    group.reload();
    CHECK(group.sent_by_second() == 0);
    group.run(kPatience);
    CHECK(group.worker->is_retiring());
    CHECK(group.sent_by_second() == 133);
    group.settle_first();
    group.end(200);
}

TEST_CASE("CollectorGroup: a full new session sends before the former one, and loses nothing",
          "[export][unit]") {
    TopicExport group;
    CollectorOptions small = topic_at("k1:9092");
    small.buffer = 1000;
    group.options.collectors = {small};
    group.worker->change(group.options, std::array<std::size_t, 1>{0});
    group.put(100, 200);
    group.run(milliseconds{2000});
    CHECK(group.worker->is_retiring());
    CHECK(group.sent_by_second() > 0);
    for (int times = 0; times < 10; ++times) {
        group.scripts[1].ends = true;
        group.run(milliseconds{1000});
    }
    group.end(200);
}

TEST_CASE("CollectorGroup: the former session goes first for half of the time for the end",
          "[export][unit]") {
    TopicExport group;
    group.reload();
    const auto ends_within = [&group](milliseconds time) {
        const milliseconds until = group.uptime + time;
        while (group.uptime < until && !group.worker->finish(at(group.uptime))) {
            static_cast<void>(group.worker->step(at(group.uptime)));
            group.uptime += milliseconds{10};
        }
    };
    ends_within(milliseconds{1500});
    CHECK(group.sent_by_second() == 0);
    ends_within(milliseconds{1000});
    CHECK(group.sent_by_second() == 133);
    group.end(200);
}

TEST_CASE("CollectorGroup: other topics, and the same name in another cluster, do not wait",
          "[export][unit]") {
    TopicExport group;
    const bool is_other_topic = GENERATE(true, false);
    group.reload(is_other_topic ? "k1:9092" : "k11:9092,k2:9092",
                 is_other_topic ? "others" : "flows");
    CHECK(group.worker->is_retiring());
    CHECK(group.sent_by_second() == 133);
    group.end(200);
}

TEST_CASE("CollectorGroup: a session that waits for its former one is itself waited for",
          "[export][unit]") {
    TopicExport group;
    group.reload();
    group.options.collectors[0].kafka.compression = "lz4";
    group.worker->change(group.options, std::array<std::size_t, 1>{0});
    group.put(200, 300);
    group.run(milliseconds{1000});
    CHECK(group.sent_by_second() == 0);
    CHECK(group.scripts[2].sent.empty());
    group.settle_first();
    CHECK(group.sent_by_second() == 133);
    CHECK(group.scripts[2].sent.empty());
    group.scripts[1].ends = true;
    group.run(milliseconds{500});
    CHECK(group.scripts[2].sent.size() == 133);
    group.end(300);
}

TEST_CASE("share_topic: one name, and a broker in common", "[export][unit]") {
    CHECK(share_topic(topic_at("a:1,b:2"), topic_at("b:2,c:3")));
    CHECK(share_topic(topic_at("a:1"), topic_at("a:1")));
    CHECK_FALSE(share_topic(topic_at("a:1,b:2"), topic_at("a:12,b")));
    CHECK_FALSE(share_topic(topic_at("a:1"), topic_at("a:1", "other")));
    CollectorOptions other;
    CHECK_FALSE(share_topic(topic_at("a:1"), other));
    CHECK_FALSE(share_topic(other, other));
}
