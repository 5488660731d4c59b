// SPDX-License-Identifier: Apache-2.0
#include "daemon/table/table_set.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "daemon/pipeline/queue_worker.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "flowcache/table/field_reference.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

using Texts = std::vector<std::string>;

constexpr Timestamp kStart{1'700'000'000s};

TableDeclaration small_table(const std::string& name, const Texts& key) {
    TableDeclaration declaration;
    declaration.name = name;
    declaration.key = key;
    declaration.max_flows = 1024;
    return declaration;
}

/// A frame to a host of 10.0.0.0/24.
Frame frame_to(std::uint8_t host, std::uint16_t port) {
    return ethernet()
        .ipv4({.source = "10.0.1.1", .destination = "10.0.0." + std::to_string(host)})
        .udp(4000, port)
        .payload(10)
        .build();
}

/// Gives the frames that are sent to it, in bursts of their own.
class Wire {
public:
    void send(const Frame& frame, Timestamp time) {
        frames_ = {frame};
        views_ = {frames_.front().view()};
        views_.front().seen_at = views_.front().clock = now_ = time;
    }
    /// Nothing comes, and time passes.
    void pass(Timestamp time) { now_ = time; }
    [[nodiscard]] FrameBurst receive() noexcept { return {.frames = views_, .now = now_}; }
    void release(const FrameBurst& /*burst*/) noexcept { views_.clear(); }
    [[nodiscard]] bool exhausted() const noexcept { return false; }

private:
    std::vector<Frame> frames_;
    std::vector<PacketView> views_;
    Timestamp now_ = kStart;
};

/// Passes all packets, or none.
class Gate final : public PacketSelector {
public:
    explicit Gate(bool is_open) noexcept : is_open_(is_open) {}
    [[nodiscard]] PacketMask select(std::span<const PacketView> packets) noexcept override {
        return is_open_ ? mask_of_all(packets) : 0;
    }

private:
    bool is_open_;
};

/// The tables that are split, each with its most records of a flow.
Texts split_of(const TableSet& tables, std::span<const InputSpread> inputs) {
    Texts split;
    for (const SplitTable& table : tables.split_tables(inputs)) {
        split.push_back(table.name + " " + std::to_string(table.records));
    }
    return split;
}

/// Queues with small tables beside their main ones.
struct Queues {
    Queues(const std::vector<TableDeclaration>& declarations, const std::vector<OwnField>& own,
           std::size_t count = 1)
        : tables({.declarations = declarations,
                  .own = own,
                  .main = main,
                  .parse = {},
                  .spreading = {.queues = count}}) {
        for (std::size_t queue = 0; queue < count; ++queue) {
            wires.push_back(std::make_unique<Wire>());
            readers.push_back(
                std::make_unique<FrameReader<Wire>>(*wires.back(), FrameParserParts{}));
            workers.push_back(make_queue_worker(
                *readers.back(),
                {.flows = main, .layout = {}, .pages = PageUse::offline, .name = "test"},
                FlowHasher(1), tables.add_queue({.pages = PageUse::offline}, FlowHasher(2))));
        }
    }
    void send(std::size_t queue, const Frame& frame, Timestamp time = kStart) {
        wires[queue]->send(frame, time);
        workers[queue]->step();
    }
    /// Records that have come out of all parts of the tables.
    [[nodiscard]] std::vector<FlowRecordCore> ended() const {
        std::vector<FlowRecordCore> cores;
        for (RecordSource* const source : tables.records()) {
            std::vector<std::uint64_t> record(source->record_bytes() / sizeof(std::uint64_t));
            while (source->drain(std::as_writable_bytes(std::span(record)), 1) == 1) {
                FlowRecordCore core;
                std::memcpy(static_cast<void*>(&core), record.data(), sizeof core);
                cores.push_back(core);
            }
        }
        return cores;
    }
    /// Has an input thread carry out a command, part by part.
    template <class Command>
    void carry_out(std::size_t queue, Command& command) {
        do {
            REQUIRE(workers[queue]->mailbox.post(command));
            while (!workers[queue]->mailbox.is_done()) {
                workers[queue]->step();
            }
            command = std::get<Command>(workers[queue]->mailbox.take());
        } while (!command.is_through);
    }

    FlowCacheOptions main{.max_flows = 1024};
    TableSet tables;
    std::vector<std::unique_ptr<Wire>> wires;
    std::vector<std::unique_ptr<FrameReader<Wire>>> readers;
    std::vector<std::unique_ptr<QueueWorker>> workers;
};

const std::vector<OwnField> kOwn{{.name = "unused",
                                  .from = OwnFieldBase::frame,
                                  .offset = 0,
                                  .octets = 1,
                                  .as = OwnFieldType::unsigned8,
                                  .when = "arp"},
                                 {.name = "word",
                                  .from = OwnFieldBase::payload,
                                  .offset = 0,
                                  .octets = 2,
                                  .as = OwnFieldType::unsigned16,
                                  .when = "udp port 53"}};

}  // namespace

TEST_CASE("TableSet: a table's packets pass its filter and those of its fields", "[daemon][unit]") {
    TableDeclaration both = small_table("both", {"word"});
    both.filter = "udp";
    Queues queues({small_table("plain", {"destinationAddress"}), both}, kOwn);
    const std::vector<TableFilter> filters = queues.tables.filters();
    REQUIRE(filters.size() == 2);
    CHECK(filters[0].path == "tables.1.filter");
    CHECK(filters[0].expression == "udp");
    CHECK(filters[1].path == "fields.1.when");
    CHECK(filters[1].expression == "udp port 53");

    Gate open(true);
    Gate closed(false);
    queues.send(0, frame_to(1, 53));  // no filter is compiled yet
    filters[0].slot->set(&open);
    queues.send(0, frame_to(1, 53));
    filters[1].slot->set(&closed);
    queues.send(0, frame_to(1, 53));
    filters[1].slot->set(&open);
    queues.send(0, frame_to(1, 53));
    REQUIRE(queues.workers[0]->drain());

    Ledger ledger;
    queues.tables.read(ledger);
    CHECK(ledger.tables[0].matched == 4);
    CHECK(ledger.tables[1].filter_not_ready == 2);
    CHECK(ledger.tables[1].filtered == 1);
    CHECK(ledger.tables[1].matched == 1);
    std::uint64_t packets = 0;
    for (const FlowRecordCore& core : queues.ended()) {
        packets += core.packets;
    }
    CHECK(packets == 5);
}

TEST_CASE("TableSet: as the exporters know the tables, in their order", "[daemon][unit]") {
    const Queues queues({small_table("first", {"destinationAddress/24/56"}),
                         small_table("second", {"ipTTL"}), small_table("third", {"ipTTL"})},
                        {}, 3);
    const std::vector<FurtherTable> further = queues.tables.for_export();
    REQUIRE(further.size() == 3);
    CHECK(further[0].name == "first");
    CHECK(further[2].name == "third");
    CHECK(further[1].elements.is_declared);
    const std::vector<RecordSource*> records = queues.tables.records();
    REQUIRE(records.size() == 9);
    std::vector<std::size_t> tables;
    std::ranges::transform(records, std::back_inserter(tables),
                           [](const RecordSource* source) { return source->table(); });
    CHECK(tables == std::vector<std::size_t>{1, 1, 1, 2, 2, 2, 3, 3, 3});
    CHECK(queues.tables.memory().size() == 3);
    CHECK(queues.tables.memory()[0].cache > 1024 * sizeof(FlowRecordCore));
    CHECK(queues.tables.memory()[0].inbox == 0);
}

TEST_CASE("TableSet: an error names the table", "[daemon][unit]") {
    const auto make = [](const std::string& field) {
        const Queues queues({small_table("good", {"ipTTL"}), small_table("bad", {field})}, {});
    };
    CHECK_NOTHROW(make("sourceAddress"));
    CHECK_THROWS_WITH(make("nothing"), Catch::StartsWith("table bad: "));
    CHECK_NOTHROW(make("sourceAddress"));  // the field groups of both have gone
}

TEST_CASE("TableSet: tables whose keys RSS splits", "[daemon][unit]") {
    const Queues queues(
        {small_table("hosts", {"sourceAddress", "destinationAddress"}),
         small_table("conversations", {"sourceAddress", "destinationAddress", "sourceTransportPort",
                                       "destinationTransportPort", "ipDiffServCodePoint"}),
         small_table("nets", {"sourceAddress/24/56", "destinationAddress"}),
         small_table("ttls", {"ipTTL", "ingressInterface"})},
        {});
    using Inputs = std::vector<InputSpread>;
    CHECK(split_of(queues.tables, Inputs{{.queues = 2, .by_ports = false}}) ==
          Texts{"nets 2", "ttls 2"});
    CHECK(split_of(queues.tables, Inputs{{.queues = 2, .by_ports = true}}) ==
          Texts{"hosts 2", "nets 2", "ttls 2"});
    CHECK(split_of(queues.tables, Inputs{{.queues = 1, .by_ports = true}}).empty());
    // Of these tables one has the interface in its key.
    CHECK(split_of(queues.tables, Inputs{{.queues = 1}, {.queues = 1}}) ==
          Texts{"hosts 2", "conversations 2", "nets 2"});
    CHECK(split_of(queues.tables, Inputs{{.queues = 4, .by_ports = true}, {.queues = 3}}) ==
          Texts{"hosts 5", "conversations 2", "nets 7", "ttls 4"});
}

TEST_CASE("TableSet: with spread: key, a flow has one record whatever its queues",
          "[daemon][unit]") {
    TableDeclaration spread = small_table("spread", {"destinationAddress"});
    spread.spread = TableSpread::key;
    spread.filter = "udp";
    Queues queues({spread, small_table("split", {"destinationAddress"})}, {}, 3);
    CHECK(queues.tables.has_exchanges());
    CHECK(split_of(queues.tables, std::vector<InputSpread>{{.queues = 3}}) == Texts{"split 3"});
    CHECK(queues.tables.memory()[0].inbox > 3 * 1024 * sizeof(FlowRecordCore));
    CHECK(queues.tables.memory()[1].inbox == 0);
    CHECK(queues.tables.inboxes(0).room == 3 * 1023);
    Gate open(true);
    queues.tables.filters()[0].slot->set(&open);
    constexpr std::size_t kHosts = 20;
    for (std::size_t packet = 0; packet < 3 * kHosts; ++packet) {
        const auto host = static_cast<std::uint8_t>(1 + packet % kHosts);
        queues.send(packet / kHosts, frame_to(host, 53), kStart);
    }
    bool is_through = false;
    while (!is_through) {
        is_through = true;
        for (const auto& worker : queues.workers) {
            is_through = worker->drain() && is_through;
        }
    }
    const std::vector<FlowRecordCore> ended = queues.ended();
    CHECK(std::ranges::count(ended, 3U, &FlowRecordCore::packets) == kHosts);      // spread
    CHECK(std::ranges::count(ended, 1U, &FlowRecordCore::packets) == 3 * kHosts);  // split
    CHECK(ended.size() == 4 * kHosts);
    Ledger ledger;
    queues.tables.read(ledger);
    CHECK(ledger.tables[0].matched == 3 * kHosts);
    queues.tables.refuse_rest();
    CHECK(ledger.tables[0].refused == NamedCounts{{"owner_ended", 0}, {"ring_full", 0}});
    CHECK(ledger.tables[1].refused.empty());
}

TEST_CASE("TableSet: in the order of a capture, all tables are spread by key", "[daemon][unit]") {
    const FlowCacheOptions main;
    const std::vector<TableDeclaration> declarations{small_table("ttls", {"ipTTL"})};
    const auto has_exchanges = [&](const TableSpreading& spreading) {
        return TableSet({.declarations = declarations,
                         .own = {},
                         .main = main,
                         .parse = {},
                         .spreading = spreading})
            .has_exchanges();
    };
    CHECK(has_exchanges({.queues = 2, .order = SpreadOrder::capture}));
    CHECK(has_exchanges({.queues = 32, .order = SpreadOrder::capture}));
    CHECK_FALSE(has_exchanges({.queues = 33, .order = SpreadOrder::capture}));
    CHECK_FALSE(has_exchanges({.queues = 1, .order = SpreadOrder::capture}));
    CHECK_FALSE(has_exchanges({.queues = 2, .order = SpreadOrder::arrival}));
}

TEST_CASE("TableSet: with one queue, spread: key needs no rings", "[daemon][unit]") {
    TableDeclaration spread = small_table("spread", {"ipTTL"});
    spread.spread = TableSpread::key;
    const Queues queues({spread}, {});
    CHECK_FALSE(queues.tables.has_exchanges());
    CHECK(queues.tables.memory()[0].inbox == 0);
}

TEST_CASE("TableSet: spread: key refuses too many queues", "[daemon][unit]") {
    TableDeclaration spread = small_table("spread", {"ipTTL"});
    spread.spread = TableSpread::key;
    const FlowCacheOptions main;
    const auto make = [&](std::size_t queues) {
        const std::vector<TableDeclaration> declarations{small_table("other", {"ipTTL"}), spread};
        const TableSet tables({.declarations = declarations,
                               .own = {},
                               .main = main,
                               .parse = {},
                               .spreading = {.queues = queues}});
    };
    CHECK_NOTHROW(make(32));
    CHECK_THROWS_WITH(make(33),
                      "table spread: spread: key takes a ring from each queue to each other, for "
                      "at most 32 queues; there are 33: use fewer queues, or spread: queue");
}

TEST_CASE("TableSet: commands list and end the flows of a table", "[daemon][unit]") {
    Queues queues(
        {small_table("ttls", {"ipTTL"}), small_table("ports", {"destinationTransportPort"})}, {},
        2);
    const std::vector<LiveTable> live = queues.tables.live();
    REQUIRE(live.size() == 2);
    CHECK(live[1].table.name == "ports");
    REQUIRE(live[1].queues.size() == 2);
    for (const int port : {1, 2, 2, 3}) {
        queues.send(0, frame_to(1, static_cast<std::uint16_t>(port)));
    }
    CHECK(queues.tables.flows(0).records == 4);  // of both tables
    CHECK(queues.tables.flows(0).room == 2048);
    CHECK(queues.tables.flows(1).records == 0);

    constexpr std::size_t kRoom = 4096;
    const std::shared_ptr<std::byte[]> copies(new std::byte[kRoom]);
    CopyFlows copy{.table = live[1].queues[0], .copies = copies, .room = kRoom};
    queues.carry_out(0, copy);
    CHECK(copy.records == 3);
    FlowRecordCore first;
    std::memcpy(static_cast<void*>(&first), copies.get(), sizeof first);
    CHECK(first.end_reason == FlowEndReason::none);
    CHECK(queues.ended().empty());  // a listing changes nothing

    EndFlows end{.table = live[1].queues[0]};
    queues.carry_out(0, end);
    queues.workers[0]->step();
    const std::vector<FlowRecordCore> ended = queues.ended();
    CHECK(ended.size() == 3);
    CHECK(std::ranges::all_of(ended, [](const FlowRecordCore& core) {
        return core.end_reason == FlowEndReason::forced_end;
    }));
    CHECK(queues.tables.flows(0).records == 1);  // that of the other table
}

TEST_CASE("TableSet: other timeouts hold for flows that run", "[daemon][unit]") {
    Queues queues({small_table("ttls", {"ipTTL"})}, {});
    queues.send(0, frame_to(1, 53));
    queues.wires[0]->pass(kStart + 20s);
    queues.workers[0]->step();
    CHECK(queues.ended().empty());  // 30 s is the idle timeout
    const FlowCacheOptions shorter{.idle_timeout = 5s, .active_timeout = 300s};
    REQUIRE(queues.workers[0]->mailbox.post(
        SetTimeouts{.timeouts = shorter, .table = queues.tables.live()[0].queues[0]}));
    for (int second = 20; second < 24; ++second) {
        queues.wires[0]->pass(kStart + std::chrono::seconds(second));
        queues.workers[0]->step();
    }
    const std::vector<FlowRecordCore> ended = queues.ended();
    REQUIRE(ended.size() == 1);
    CHECK(ended[0].end_reason == FlowEndReason::idle_timeout);
    REQUIRE(queues.workers[0]->drain());
    CHECK(queues.workers[0]->cache_counters.flows_created.read() == 1);
}

namespace {

/// Queues whose tables change as a reload changes them, by hand.
struct ChangingQueues : Queues {
    using Queues::Queues;

    [[nodiscard]] std::unique_ptr<TableSet::Change> prepare(
        const std::vector<TableDeclaration>& wanted, const std::vector<OwnField>& own = {}) {
        return tables.prepare({.declarations = wanted,
                               .own = own,
                               .main = main,
                               .parse = {},
                               .spreading = {.queues = workers.size()}});
    }
    /// Each queue calls the stages of the present tables.
    void call_stages() {
        if (tables.must_receive()) {
            send_stages();
            tables.switch_over();
        }
        send_stages();
    }
    void change(const std::vector<TableDeclaration>& wanted) {
        std::unique_ptr<TableSet::Change> change = prepare(wanted);
        REQUIRE(change != nullptr);
        tables.take_over(*change);
        call_stages();
    }
    /// Empty bursts until the tables that end have no flow any more.
    void step_until_ended(std::size_t count) {
        for (int step = 0; step < 1000 && has_ended_ < count; ++step) {
            for (const auto& worker : workers) {
                worker->step();
            }
            records = ended_with(records);
            has_ended_ = tables.ended().size();
        }
        REQUIRE(has_ended_ == count);
        has_ended_ = 0;
    }
    void remove_ended() {
        for (const std::size_t place : tables.ended()) {
            CHECK(tables.begin_removal(place));
            call_stages();
            tables.remove(place);
        }
    }
    [[nodiscard]] TableLedger account(const std::string& name) const {
        Ledger ledger;
        tables.read(ledger);
        return ledger.table(name);
    }

    std::vector<FlowRecordCore> records;  ///< that have come out so far

private:
    void send_stages() {
        for (std::size_t queue = 0; queue < workers.size(); ++queue) {
            workers[queue]->call_stages(tables.stages(queue));
        }
    }
    [[nodiscard]] std::vector<FlowRecordCore> ended_with(std::vector<FlowRecordCore> before) const {
        const std::vector<FlowRecordCore> more = ended();
        before.insert(before.end(), more.begin(), more.end());
        return before;
    }

    std::size_t has_ended_ = 0;
};

}  // namespace

TEST_CASE("TableSet: tables come and go while packets are metered", "[daemon][unit]") {
    ChangingQueues queues(
        {small_table("ttls", {"ipTTL"}), small_table("hosts", {"destinationAddress"})}, {}, 2);
    for (std::uint8_t host = 1; host <= 3; ++host) {
        queues.send(host % 2U, frame_to(host, 53));
    }
    std::unique_ptr<TableSet::Change> change =
        queues.prepare({small_table("hosts", {"destinationAddress"}),
                        small_table("ports", {"destinationTransportPort"})});
    REQUIRE(change != nullptr);
    const std::vector<FurtherTable> further = queues.tables.for_export(*change);
    REQUIRE(further.size() == 3);
    CHECK(further[0].is_ending);
    CHECK(further[1].is_same_as(queues.tables.for_export()[1]));
    CHECK(further[2].name == "ports");  // its place in the configuration is taken
    CHECK(queues.tables.records(*change).size() == 6);

    queues.tables.take_over(*change);
    const TableNames names = TableSet::names(*change);
    change.reset();
    CHECK(names.added == Texts{"ports"});
    CHECK(names.ending == Texts{"ttls"});
    queues.call_stages();
    CHECK(queues.tables.live().size() == 2);
    queues.send(0, frame_to(4, 80));
    queues.step_until_ended(1);
    CHECK(queues.tables.ended() == std::vector<std::size_t>{0});
    CHECK(std::ranges::count(queues.records, FlowEndReason::forced_end,
                             &FlowRecordCore::end_reason) == 2);  // of each queue's one TTL
    queues.remove_ended();
    CHECK_FALSE(queues.tables.has_ending());
    CHECK_FALSE(queues.tables.for_export()[0].is_there());

    CHECK(queues.account("ttls").metered == 3);
    CHECK(queues.account("ttls").created == RecordTally{2, 3, 3 * 38});
    CHECK(queues.account("ttls").in_cache() == 0);
    CHECK(queues.account("hosts").metered == 4);
    CHECK(queues.account("hosts").in_cache() == 4);
    CHECK(queues.account("ports").metered == 1);
    for (const auto& worker : queues.workers) {
        REQUIRE(worker->drain());
    }
}

TEST_CASE("TableSet: a table stays unless its declaration or a field of it changes",
          "[daemon][unit]") {
    TableDeclaration words = small_table("words", {"word"});
    ChangingQueues queues({words}, kOwn);
    CHECK(queues.prepare({words}, kOwn) == nullptr);
    words.idle_timeout = 7s;
    words.active_timeout = 70s;
    CHECK(queues.prepare({words}, kOwn) == nullptr);
    std::vector<OwnField> own = kOwn;
    own[0].offset = 7;  // that of another field
    std::swap(own[0], own[1]);
    CHECK(queues.prepare({words}, own) == nullptr);
    own[0].offset = 2;
    CHECK(queues.prepare({words}, own) != nullptr);
    words.filter = "udp";
    CHECK(queues.prepare({words}, kOwn) != nullptr);
    CHECK(queues.prepare({}, kOwn) != nullptr);
    CHECK_THROWS_WITH(queues.prepare({small_table("bad", {"nothing"})}),
                      Catch::StartsWith("table bad: "));
    CHECK(queues.tables.live().size() == 1);  // what is prepared and dropped has changed nothing
    CHECK(queues.tables.memory().size() == 1);
}

TEST_CASE("TableSet: a table that changes has one account", "[daemon][unit]") {
    ChangingQueues queues({small_table("one", {"ipTTL"})}, {});
    const std::vector<LiveTable> former = queues.tables.live();
    for (int change = 0; change < 10; ++change) {
        queues.send(0, frame_to(1, 53));
        const bool is_even = change % 2 == 0;
        queues.change({small_table("one", {is_even ? "destinationAddress" : "ipTTL"})});
        queues.step_until_ended(1);
        queues.remove_ended();
    }
    queues.send(0, frame_to(1, 53));
    CHECK(queues.account("one").metered == 11);
    CHECK(queues.account("one").created.records == 11);
    CHECK(queues.account("one").in_cache() == 1);
    CHECK(queues.records.size() == 10);
    CHECK(queues.tables.memory().size() == 1);
    CHECK(former[0].queues.size() == 1);  // a command may still use it
    constexpr std::size_t kRoom = 4096;
    const std::shared_ptr<std::byte[]> copies(new std::byte[kRoom]);
    CopyFlows copy{.table = former[0].queues[0], .copies = copies, .room = kRoom};
    queues.carry_out(0, copy);
    CHECK(copy.records == 0);
    REQUIRE(queues.workers[0]->drain());
}

TEST_CASE("TableSet: a table that went is there as long as a thread carries out a command on it",
          "[daemon][unit]") {
    ChangingQueues queues({small_table("one", {"ipTTL"})}, {});
    queues.send(0, frame_to(1, 53));
    std::vector<LiveTable> live = queues.tables.live();
    const std::weak_ptr<TableFlows> table = live[0].queues[0];
    queues.change({});
    queues.step_until_ended(1);
    queues.remove_ended();
    InputMailbox& box = queues.workers[0]->mailbox;
    REQUIRE(box.post(EndFlows{.table = live[0].queues[0]}));
    live.clear();  // as a listing that has stopped waiting for the input thread
    while (!box.is_done()) {
        queues.workers[0]->step();
    }
    CHECK_FALSE(table.expired());  // the input thread frees nothing
    CHECK(std::get<EndFlows>(box.take()).is_through);
    CHECK(table.expired());
    REQUIRE(queues.workers[0]->drain());
}

TEST_CASE("TableSet: a former table may go while the next change is prepared", "[daemon][unit]") {
    ChangingQueues queues({small_table("one", {"ipTTL"})}, {});
    queues.send(0, frame_to(1, 53));
    queues.change({small_table("two", {"ipTTL"})});
    std::unique_ptr<TableSet::Change> change = queues.prepare({small_table("three", {"ipTTL"})});
    REQUIRE(change != nullptr);
    queues.step_until_ended(1);
    queues.remove_ended();  // while filters are compiled
    CHECK_FALSE(queues.tables.for_export(*change)[0].is_there());
    queues.tables.take_over(*change);
    queues.call_stages();
    CHECK(queues.account("one").metered == 1);
    CHECK(queues.tables.live().size() == 1);
    REQUIRE(queues.workers[0]->drain());
}

TEST_CASE("TableSet: without a free place a new table is refused", "[daemon][unit]") {
    ChangingQueues queues({small_table("one", {"ipTTL"})}, {});
    for (std::size_t change = 1; change < kTablePlaces; ++change) {
        queues.change({small_table("one", {change % 2 == 0 ? "ipTTL" : "destinationAddress"})});
    }
    CHECK_THROWS_WITH(queues.prepare({small_table("one", {"ipTTL"})}),
                      Catch::StartsWith("table one: there is no place for it"));
    queues.step_until_ended(kTablePlaces - 1);
    queues.remove_ended();
    CHECK(queues.prepare({small_table("one", {"ipTTL"})}) != nullptr);
    REQUIRE(queues.workers[0]->drain());
}

TEST_CASE("TableSet: packets on their way between queues are in records of a table that ends",
          "[daemon][unit]") {
    TableDeclaration spread = small_table("spread", {"destinationAddress"});
    spread.spread = TableSpread::key;
    ChangingQueues queues({spread}, {}, 2);
    for (std::uint8_t host = 1; host <= 100; ++host) {
        queues.send(host % 2, frame_to(host, 53));
    }
    TableDeclaration next = spread;
    next.key = {"destinationTransportPort"};
    std::unique_ptr<TableSet::Change> change = queues.prepare({next});
    REQUIRE(change != nullptr);
    queues.tables.take_over(*change);
    // Each queue is asked after the other, twice. Every packet is in one of both tables.
    auto send_meanwhile = [&queues, host = std::uint8_t{101}]() mutable {
        for (int packets = 0; packets < 20; ++packets, ++host) {
            queues.send(host % 2, frame_to(host, 53));
        }
    };
    REQUIRE(queues.tables.must_receive());
    for (const std::size_t queue : {0U, 1U}) {
        queues.workers[queue]->call_stages(queues.tables.stages(queue));
        send_meanwhile();
    }
    CHECK(queues.account("spread").metered == 140);
    queues.tables.switch_over();
    CHECK_FALSE(queues.tables.must_receive());
    queues.workers[0]->call_stages(queues.tables.stages(0));
    send_meanwhile();
    // Of these the ten of queue 0 are one flow of the new table, whichever queue owns its key.
    queues.workers[1]->call_stages(queues.tables.stages(1));
    send_meanwhile();
    queues.step_until_ended(1);
    CHECK(queues.records.size() == 150);
    queues.remove_ended();
    bool is_through = false;
    while (!is_through) {
        is_through = queues.workers[0]->drain();
        is_through = queues.workers[1]->drain() && is_through;
    }
    const std::vector<FlowRecordCore> last = queues.ended();
    REQUIRE(last.size() == 1);
    CHECK(last[0].packets == 30);
    CHECK(queues.account("spread").metered == 180);
    CHECK(queues.account("spread").created == RecordTally{151, 180, 180 * 38});
    CHECK(queues.account("spread").refused.at("ring_full") == 0);
}

TEST_CASE("TableSet: a change before the switch-over of the one before it", "[daemon][unit]") {
    const auto table = [](const std::string& name, TableSpread spread) {
        TableDeclaration declaration = small_table(name, {"destinationAddress"});
        declaration.spread = spread;
        return declaration;
    };
    const TableSpread spread = GENERATE(TableSpread::key, TableSpread::queue);
    ChangingQueues queues({table("first", TableSpread::key)}, {}, 2);
    std::unique_ptr<TableSet::Change> change = queues.prepare({table("second", TableSpread::key)});
    queues.tables.take_over(*change);
    REQUIRE(queues.tables.must_receive());
    queues.workers[0]->call_stages(queues.tables.stages(0));  // and the thread of queue 1 hangs
    change = queues.prepare({table("third", spread)});
    queues.tables.take_over(*change);
    auto send_to_both = [&queues, host = std::uint8_t{1}]() mutable {
        for (const std::size_t queue : {0U, 1U}) {
            queues.send(queue, frame_to(host++, 53));
        }
    };
    send_to_both();
    REQUIRE(queues.tables.must_receive());
    for (const std::size_t queue : {0U, 1U}) {
        queues.workers[queue]->call_stages(queues.tables.stages(queue));
        send_to_both();
    }
    CHECK(queues.account("first").metered == 6);
    queues.tables.switch_over();
    for (const std::size_t queue : {0U, 1U}) {
        queues.workers[queue]->call_stages(queues.tables.stages(queue));
        send_to_both();
    }
    queues.step_until_ended(2);
    queues.remove_ended();
    bool is_through = false;
    while (!is_through) {
        is_through = queues.workers[0]->drain();
        is_through = queues.workers[1]->drain() && is_through;
    }
    // Each packet is in one table, and none in the one that never began.
    const std::map<std::string, std::uint64_t> expected{{"first", 7}, {"second", 0}, {"third", 3}};
    for (const auto& [name, packets] : expected) {
        CHECK(queues.account(name).metered == packets);
        CHECK(queues.account(name).created.packets == packets);
    }
}
