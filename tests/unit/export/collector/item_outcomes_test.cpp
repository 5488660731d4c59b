// SPDX-License-Identifier: Apache-2.0
// A collector whose transport reports the outcome of each item.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/collector/group_spool.hpp"
#include "export/collector/message_collector.hpp"
#include "export/record_items.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/octets.hpp"
#include "tests/support/scripted_items.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kSmallBuffer = 900;  ///< octets; room for about three messages

/// An item for each lane of records, as IpfixItemFormat has them: its records are those whose
/// source ports have the same rest modulo kLanes, in order, and its value their first port.
class LaneFormat final : public MessageFormat {
public:
    static constexpr unsigned kLanes = 4;

    AppendResult append(const std::byte* record, OutgoingMessage&) noexcept override {
        const auto& core = *reinterpret_cast<const FlowRecordCore*>(record);
        records_.push_back({.port = core.key.source_port.value, .tally = core.tally()});
        return AppendResult::added;
    }
    void close(OutgoingMessage& open, ExportTime) override {
        const std::vector<RecordEntry> entries = std::exchange(open.entries, {});
        open.latest_end = record_of(0).core.end;
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            std::string first;
            RecordTally tally;
            for (std::size_t i = 0; i < records_.size(); ++i) {
                if (records_[i].port % kLanes == lane) {
                    first = first.empty() ? std::to_string(records_[i].port) : first;
                    tally += records_[i].tally;
                    open.entries.push_back(entries[i]);
                }
            }
            if (!first.empty()) {
                add(open, first, tally);
            }
        }
        records_.clear();
    }
    void discard(OutgoingMessage&) noexcept override { records_.clear(); }
    [[nodiscard]] SpoolContent spool_content() const override {
        return {.format = "lanes", .version = 1, .oldest_version = 1, .is_message = are_items};
    }

private:
    struct Seen {
        unsigned port{};
        RecordTally tally;
    };

    static void add(OutgoingMessage& to, const std::string& text, const RecordTally& tally) {
        const auto value = std::as_bytes(std::span(text));
        std::array<std::byte, kRecordItemHeader> header{};
        write_item_header({.key = {}, .value = value, .hash = 0, .tally = tally}, header);
        to.octets.insert(to.octets.end(), header.begin(), header.end());
        to.octets.insert(to.octets.end(), value.begin(), value.end());
        ++to.data_records;
    }

    std::vector<Seen> records_;
};

struct Export {
    /// @param spool        its directory; empty: there is none
    /// @param is_failover  the collector is one of a failover group: records that it has not
    ///                     delivered when its session ends go back to the group
    explicit Export(Script& script,
                    std::unique_ptr<MessageFormat> format = std::make_unique<ItemFormat>(),
                    const std::string& spool = {}, bool is_failover = false)
        : options(collectors(spool)),
          group_spool(is_failover
                          ? std::make_unique<GroupSpool>(options, metering, accounting, handler)
                          : nullptr),
          collector({.options = options,
                     .option = 0,
                     .metering = metering,
                     .accounting = accounting,
                     .account = 0,
                     .group_spool = group_spool.get(),
                     .handler = handler},
                    std::move(format), [&script](const CollectorOptions&, CollectorEvents&) {
                        return std::make_unique<ScriptedTransport>(script);
                    }) {}

    static ExportOptions collectors(const std::string& spool) {
        ExportOptions options = without_options_records();
        options.collectors.resize(1);
        if (!spool.empty()) {
            options.collectors[0].buffer = kSmallBuffer;
            options.collectors[0].spool = {.directory = spool, .max_octets = 1U << 20U};
        }
        options.collectors[0].transport = TransportKind::tcp;
        return options;
    }
    void put(std::uint16_t first, std::uint16_t end) {
        for (std::uint16_t port = first; port < end; ++port) {
            Record record = record_of(port);
            record.core.packets += packets_more * port;
            const RecordTally tally{1, record.core.packets, record.core.octets};
            collector.add({.bytes = bytes_of(record),
                           .entry = {.number = accounting.begin(0, tally, 1),
                                     .queue = 0,
                                     .packets = tally.packets,
                                     .octets = tally.octets},
                           .layout = 0},
                          at(now));
        }
    }
    void turn() {
        now += milliseconds{2000};
        collector.advance(at(now));
        collector.send_what_can_leave(at(now));
    }
    /// An orderly end, without waiting for outcomes.
    void end() {
        collector.abandon(at(now));
        REQUIRE(collector.flush(at(now)));
        collector.close();
    }
    /// The collector's own account adds up.
    void check_account(std::uint64_t records) const {
        const CollectorCounters& account = counters.collectors[0];
        std::uint64_t sum = account.records.read().records + account.spooled.read().records;
        for (const RecordCounter& cause : account.lost) {
            sum += cause.read().records;
        }
        CHECK(sum == records);
        CHECK(account.read_lost(ExportLoss::write_failed).records == 0);
        CHECK(account.errors.read() == 0);
    }
    [[nodiscard]] std::uint64_t lost(ExportLoss cause) const {
        CHECK(counters.queues[0].read_lost(cause) == counters.collectors[0].read_lost(cause));
        return counters.collectors[0].read_lost(cause).records;
    }

    [[nodiscard]] std::vector<LostRange> lost_numbers() const {
        const LostNumbers::Reading numbers = counters.collectors[0].numbers.read();
        CHECK(numbers.unlisted == 0);
        return numbers.ranges;
    }

    ExportOptions options;
    MeteringProcess metering;
    ExportCounters counters{1, 1};
    RecordAccounting accounting{counters, 1};
    CollectorEventHandler handler;
    std::unique_ptr<GroupSpool> group_spool;
    MessageCollector collector;
    milliseconds now{};
    std::uint64_t packets_more = 0;  ///< that a record has than the one of the port before
};

int port_of(const std::string& value) { return std::stoi(value); }

}  // namespace

TEST_CASE("MessageCollector: what was not sent is sent again, in its order, and nothing else is",
          "[export][unit]") {
    Script script;
    Export exports(script);
    exports.put(0, 40);
    exports.turn();
    REQUIRE(script.sent.size() == 54);  // 14 records are two items

    // Of the last 40 items half has not left.
    script.outcome = [](const std::string& value) {
        const bool is_late = port_of(value) >= 10 && port_of(value) % 2 == 1;
        return is_late ? ItemOutcome::not_sent : ItemOutcome::delivered;
    };
    script.ends = true;
    exports.put(40, 50);
    exports.turn();
    CHECK(script.ends == false);
    std::vector<std::string> expected;
    for (int port = 11; port < 40; port += 2) {
        expected.push_back(std::to_string(port));
        if (port % 3 == 0) {
            expected.push_back(std::to_string(port) + "'");
        }
    }
    REQUIRE(script.sent.size() >= expected.size());
    CHECK(std::vector(script.sent.begin(), script.sent.begin() + static_cast<std::ptrdiff_t>(
                                                                     expected.size())) == expected);
    CHECK(exports.counters.queues[0].exported.read() == RecordTally{25, 250, 25'000});

    script.outcome = [](const std::string&) { return ItemOutcome::delivered; };
    script.ends = true;
    exports.turn();
    CHECK(exports.counters.queues[0].exported.read() == RecordTally{50, 500, 50'000});
    CHECK(exports.counters.collectors[0].records.read() == RecordTally{50, 500, 50'000});
    CHECK_FALSE(exports.collector.is_waiting());
    std::ranges::sort(script.arrived);
    CHECK(std::ranges::adjacent_find(script.arrived) == script.arrived.end());
    CHECK(script.arrived.size() == 50 + 17);
}

TEST_CASE(
    "MessageCollector: a record of which an item is unconfirmed or refused is lost, and "
    "never sent again",
    "[export][unit]") {
    Script script;
    Export exports(script);
    exports.put(0, 30);
    exports.turn();
    // 0 .. 9: of the pairs the second item; 10 .. 19: refused; 20 .. 29: delivered
    script.outcome = [](const std::string& value) {
        if (port_of(value) < 10) {
            return value.ends_with('\'') ? ItemOutcome::unconfirmed : ItemOutcome::not_sent;
        }
        return port_of(value) < 20 ? ItemOutcome::refused : ItemOutcome::delivered;
    };
    script.ends = true;
    exports.turn();
    CHECK(script.sent == std::vector<std::string>{"1", "2", "4", "5", "7", "8"});
    CHECK(exports.lost(ExportLoss::unconfirmed) == 4);
    CHECK(exports.lost(ExportLoss::send_failed) == 10);
    CHECK(exports.counters.queues[0].exported.read().records == 10);
    CHECK(exports.lost_numbers() == std::vector<LostRange>{{5, 0, 0, "unconfirmed"},
                                                           {5, 1000, 1000, "unconfirmed"},
                                                           {5, 3, 3, "unconfirmed"},
                                                           {5, 1003, 1003, "unconfirmed"},
                                                           {5, 6, 6, "unconfirmed"},
                                                           {5, 1006, 1006, "unconfirmed"},
                                                           {5, 9, 9, "unconfirmed"},
                                                           {5, 1009, 1009, "unconfirmed"},
                                                           {5, 10, 19, "send_failed"},
                                                           {5, 1012, 1012, "send_failed"},
                                                           {5, 1015, 1015, "send_failed"},
                                                           {5, 1018, 1018, "send_failed"}});
    script.outcome = [](const std::string&) { return ItemOutcome::delivered; };
    script.ends = true;
    exports.turn();
    CHECK(exports.counters.queues[0].exported.read() == RecordTally{16, 160, 16'000});
    CHECK_FALSE(exports.collector.is_waiting());
}

TEST_CASE("MessageCollector: of a pair the item that has arrived is not sent again",
          "[export][unit]") {
    Script script;
    Export exports(script);
    exports.put(0, 6);
    exports.turn();
    script.outcome = [](const std::string& value) {
        const bool is_first_half = value == "0" || value == "3'";
        return is_first_half ? ItemOutcome::delivered : ItemOutcome::not_sent;
    };
    script.ends = true;
    exports.turn();
    CHECK(script.sent == std::vector<std::string>{"0'", "1", "2", "3", "4", "5"});
    CHECK(exports.counters.queues[0].exported.read().records == 0);
    script.outcome = [](const std::string&) { return ItemOutcome::delivered; };
    script.ends = true;
    exports.turn();
    CHECK(exports.counters.queues[0].exported.read() == RecordTally{6, 60, 6000});
}

TEST_CASE(
    "MessageCollector: a record of which an item has arrived is not handed to another collector",
    "[export][unit]") {
    Script script;
    Export exports(script, std::make_unique<ItemFormat>(), {}, true);
    exports.put(0, 9);
    exports.turn();
    // 0 and 3 arrive in half, 1 and 6 as a whole.
    script.outcome = [](const std::string& value) {
        const bool has_arrived =
            value == "0" || value == "1" || value == "3'" || value == "6" || value == "6'";
        return has_arrived ? ItemOutcome::delivered : ItemOutcome::not_sent;
    };
    script.ends = true;
    std::vector<unsigned> handed_back;
    exports.collector.end_and_hand_back(
        [&](RecordBatch& batch) {
            const std::size_t length = batch.records.size() / batch.entries.size();
            for (std::size_t i = 0; i < batch.entries.size(); ++i) {
                const std::byte* const record = batch.records.data() + i * length;
                handed_back.push_back(
                    reinterpret_cast<const FlowRecordCore*>(record)->key.source_port.value);
            }
        },
        at(exports.now));
    CHECK(handed_back == std::vector<unsigned>{2, 4, 5, 7, 8});
    CHECK(exports.counters.queues[0].exported.read().records == 2);
    CHECK(exports.lost(ExportLoss::unconfirmed) == 2);
}

TEST_CASE("MessageCollector: at the end unconfirmed records are told from those that were not sent",
          "[export][unit]") {
    Script script;
    Export exports(script);
    exports.put(0, 20);
    exports.turn();
    script.outcome = [](const std::string& value) {
        return port_of(value) < 5 ? ItemOutcome::unconfirmed : ItemOutcome::not_sent;
    };
    script.ends = true;
    exports.collector.abandon(at(exports.now));
    CHECK(exports.lost(ExportLoss::unconfirmed) == 5);
    CHECK(exports.lost(ExportLoss::collector_away) == 15);
    CHECK(exports.lost_numbers() == std::vector<LostRange>{{5, 0, 4, "unconfirmed"},
                                                           {5, 1000, 1000, "unconfirmed"},
                                                           {5, 1003, 1003, "unconfirmed"},
                                                           {5, 5, 19, "collector_away"},
                                                           {5, 1006, 1006, "collector_away"},
                                                           {5, 1009, 1009, "collector_away"},
                                                           {5, 1012, 1012, "collector_away"},
                                                           {5, 1015, 1015, "collector_away"},
                                                           {5, 1018, 1018, "collector_away"}});
    CHECK_FALSE(exports.collector.is_waiting());
}

TEST_CASE("MessageCollector: the numbers of records that it hands back are of another stream then",
          "[export][unit]") {
    Script script;
    Export exports(script);
    exports.put(1, 3);
    exports.collector.hand_back([](RecordBatch&) {}, at(exports.now));
    CHECK(exports.lost_numbers() == std::vector<LostRange>{{5, 1, 2, "renumbered"}});
    exports.put(4, 6);  // these are not closed
    exports.collector.abandon(at(exports.now));
    CHECK(exports.lost_numbers() ==
          std::vector<LostRange>{{5, 1, 2, "renumbered"}, {5, 4, 5, "collector_away"}});
    CHECK(exports.counters.collectors[0].numbers.read().next == RecordNumber{5, 2000});
}

TEST_CASE("MessageCollector: the records of an item have its outcome, and no others have it",
          "[export][unit]") {
    Script script;
    Export exports(script, std::make_unique<LaneFormat>());
    exports.packets_more = 1;  // of port 0 10, of port 1 11, ...
    exports.put(0, 10);
    exports.turn();
    REQUIRE(script.sent == std::vector<std::string>{"0", "1", "2", "3"});
    // 0, 4, 8: delivered; 1, 5, 9: not sent; 2, 6: unconfirmed; 3, 7: not sent
    script.outcome = [](const std::string& value) {
        if (value == "0") {
            return ItemOutcome::delivered;
        }
        return value == "2" ? ItemOutcome::unconfirmed : ItemOutcome::not_sent;
    };
    script.ends = true;
    exports.turn();
    CHECK(script.sent == std::vector<std::string>{"1", "3"});
    CHECK(exports.counters.queues[0].exported.read() == RecordTally{3, 30 + 0 + 4 + 8, 3000});
    CHECK(exports.counters.queues[0].read_lost(ExportLoss::unconfirmed) ==
          RecordTally{2, 20 + 2 + 6, 2000});
    CHECK(exports.lost(ExportLoss::unconfirmed) == 2);

    // 1, 5, 9: refused; 3, 7: not sent, twice
    script.outcome = [](const std::string& value) {
        return value == "1" ? ItemOutcome::refused : ItemOutcome::not_sent;
    };
    script.ends = true;
    exports.turn();
    CHECK(script.sent == std::vector<std::string>{"3"});
    CHECK(exports.counters.queues[0].read_lost(ExportLoss::send_failed) ==
          RecordTally{3, 30 + 1 + 5 + 9, 3000});
    script.outcome = [](const std::string&) { return ItemOutcome::delivered; };
    script.ends = true;
    exports.turn();
    CHECK(exports.counters.queues[0].exported.read() ==
          RecordTally{5, 50 + 0 + 4 + 8 + 3 + 7, 5000});
    CHECK_FALSE(exports.collector.is_waiting());
}

namespace {

ItemOutcome all_delivered(const std::string& /*value*/) { return ItemOutcome::delivered; }

/// The items of ports, in order; of each third port there are two.
std::vector<std::string> items_of(const std::vector<int>& ports) {
    std::vector<std::string> items;
    for (const int port : ports) {
        items.push_back(std::to_string(port));
        if (port % 3 == 0) {
            items.push_back(std::to_string(port) + "'");
        }
    }
    return items;
}

/// All that a process finds in the spool and sends, in order.
std::vector<std::string> sent_by_next(Script& script, const TemporaryDirectory& spool,
                                      std::uint64_t records) {
    Export next(script, std::make_unique<ItemFormat>(), spool.path());
    std::vector<std::string> sent;
    script.outcome = all_delivered;
    script.sent.clear();
    for (int turn = 0; turn < 100 && (turn == 0 || next.collector.is_waiting()); ++turn) {
        next.turn();
        sent.insert(sent.end(), script.sent.begin(), script.sent.end());
        script.ends = true;
        next.collector.advance(at(next.now));
    }
    CHECK(next.counters.collectors[0].inherited.read().records == records);
    CHECK(next.counters.collectors[0].records.read() ==
          RecordTally{records, 10 * records, 1000 * records});
    next.end();
    next.check_account(records);
    return sent;
}

}  // namespace

TEST_CASE("MessageCollector: what is left of an inherited message stays in the spool, in its order",
          "[export][unit]") {
    const TemporaryDirectory spool;
    Script script;
    {
        Export former(script, std::make_unique<ItemFormat>(), spool.path());
        former.put(0, 60);
        former.turn();
        former.end();
        former.check_account(60);
        CHECK(former.counters.queues[0].spooled.read().records == 60);
    }
    const bool is_killed = GENERATE(false, true);
    std::vector<int> rest;
    {
        Export next(script, std::make_unique<ItemFormat>(), spool.path());
        script.sent.clear();
        next.turn();
        const std::size_t sent = script.sent.size();
        REQUIRE(sent > 10);
        REQUIRE(sent < 60);  // others wait in the spool
        const int last = port_of(script.sent.back());
        script.outcome = [](const std::string& value) {
            if (port_of(value) == 4) {
                return ItemOutcome::unconfirmed;
            }
            return port_of(value) % 2 == 0 ? ItemOutcome::delivered : ItemOutcome::not_sent;
        };
        script.ends = true;
        next.collector.advance(at(next.now));
        CHECK(script.ends == false);
        for (int port = 0; port < 60; ++port) {
            if (port % 2 == 1 || port > last) {
                rest.push_back(port);
            }
        }
        CHECK(next.lost_numbers() == std::vector<LostRange>{{5, 4, 4, "unconfirmed"}});
        if (!is_killed) {
            next.end();
            next.check_account(60);
            CHECK(next.counters.collectors[0].spooled.read().records == rest.size());
        }
    }
    CHECK(sent_by_next(script, spool, rest.size()) == items_of(rest));
    std::ranges::sort(script.arrived);
    CHECK(std::ranges::adjacent_find(script.arrived) == script.arrived.end());
    CHECK(script.arrived.size() == 60 + 20 - 1);
}

TEST_CASE("MessageCollector: what is left of a message stays in front of newer ones in the spool",
          "[export][unit]") {
    const TemporaryDirectory spool;
    Script script;
    std::vector<int> rest;
    {
        Export exports(script, std::make_unique<ItemFormat>(), spool.path());
        exports.put(0, 10);
        exports.turn();
        REQUIRE(script.sent.size() == 14);
        exports.put(10, 60);  // some of it goes to the spool, and what was sent, too
        exports.collector.advance(at(exports.now));
        script.outcome = [](const std::string& value) {
            return port_of(value) < 5 ? ItemOutcome::delivered : ItemOutcome::not_sent;
        };
        script.ends = true;
        exports.collector.advance(at(exports.now));
        exports.end();
        exports.check_account(60);
        CHECK(exports.counters.queues[0].exported.read().records == 5);
        CHECK(exports.counters.queues[0].spooled.read().records == 55);
        for (int port = 5; port < 60; ++port) {
            rest.push_back(port);
        }
    }
    CHECK(sent_by_next(script, spool, 55) == items_of(rest));
}

TEST_CASE("MessageCollector: of an inherited message with items of many records, the rest stays",
          "[export][unit]") {
    const TemporaryDirectory spool;
    Script script;
    {
        Export former(script, std::make_unique<LaneFormat>(), spool.path());
        former.packets_more = 1;
        former.put(0, 10);
        former.turn();
        former.end();
    }
    {
        Export next(script, std::make_unique<LaneFormat>(), spool.path());
        next.turn();
        script.outcome = [](const std::string& value) {
            return value == "0" || value == "2" ? ItemOutcome::delivered : ItemOutcome::not_sent;
        };
        script.ends = true;
        next.turn();
        next.end();
        next.check_account(10);
        CHECK(next.counters.collectors[0].spooled.read() ==
              RecordTally{5, 50 + 1 + 5 + 9 + 3 + 7, 5000});
    }
    Export last(script, std::make_unique<LaneFormat>(), spool.path());
    script.sent.clear();
    last.turn();
    CHECK(script.sent == std::vector<std::string>{"1", "3"});
    CHECK(last.counters.collectors[0].inherited.read() ==
          RecordTally{5, 50 + 1 + 5 + 9 + 3 + 7, 5000});
}
