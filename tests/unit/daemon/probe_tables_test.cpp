// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe_tables.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/spdlog.hpp"
#include "daemon/pipeline/pipeline.hpp"
#include "daemon/pipeline/queue_worker.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/one_queue_pipeline.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/wait_until.hpp"

// operator new is replaced here, which ThreadSanitizer does not support: hence a program of its
// own.

namespace tributary {
namespace {

using namespace tributary::test;

/// Packets of one flow for ever.
class EndlessSource {
public:
    EndlessSource() {
        for (PacketView& packet : packets_) {
            packet = frame_.view();
            packet.seen_at = packet.clock = kFirstTimestamp;
        }
    }
    [[nodiscard]] FrameBurst receive() noexcept {
        return {.frames = packets_, .now = kFirstTimestamp};
    }
    void release(const FrameBurst& /*burst*/) noexcept {}

private:
    Frame frame_ = ethernet().ipv4().udp(1, 2).payload(72).build();
    std::array<PacketView, 4> packets_;
};

/// A probe of one queue, whose tables a test changes as a reload does.
class Reloads {
public:
    Reloads() {
        pipeline_ = one_queue_pipeline(make_queue_worker(
            reader_,
            {.flows = config_.flows, .layout = {}, .pages = PageUse::offline, .name = "test"},
            FlowHasher(1), tables_.add_queue({.pages = PageUse::offline}, FlowHasher(2))));
        probe_tables_ = std::make_unique<ProbeTables>(
            ProbeTables::Parts{.tables = tables_,
                               .filters = filters_,
                               .pipeline = *pipeline_,
                               .parse = {},
                               .add_stages = [](std::size_t, StageList&) {},
                               .on_begin = [](const std::vector<std::string>&) {}},
            0);
        start_one_queue(*pipeline_);
        pipeline_->wait_until_polled();
    }

    /// Adds a table with two filters, with memory for so many allocations.
    ///
    /// @return  whether there was not enough
    [[nodiscard]] bool add_table(std::int64_t allocations) {
        TableDeclaration table;
        table.name = "ports";
        table.key = {"destinationTransportPort"};
        table.values = {"last(octet)"};
        table.filter = "udp";
        table.max_flows = 64;
        config_.tables = {table};
        const OwnField octet{.name = "octet",
                             .from = OwnFieldBase::payload,
                             .offset = 0,
                             .octets = 1,
                             .as = OwnFieldType::unsigned8,
                             .when = "udp port 2"};
        config_.fields = {octet};
        const std::size_t before = refused_allocations();
        change(allocations);
        return refused_allocations() != before;
    }
    /// @return  false: it does not go
    [[nodiscard]] bool remove_table() {
        config_.tables.clear();
        change(kEnough);
        return look_until([this] { return !tables_.has_ending(); });
    }
    [[nodiscard]] bool has_table() const { return !tables_.live().empty(); }
    [[nodiscard]] TableLedger account() const {
        Ledger ledger;
        tables_.read(ledger);
        return ledger.table("ports");
    }
    template <class Holds>
    [[nodiscard]] bool look_until(Holds holds) {
        return wait_until([this, &holds] {
            probe_tables_->look();
            return holds();
        });
    }

private:
    static constexpr std::int64_t kEnough = 1'000'000;

    [[nodiscard]] static Config small_probe() {
        Config config;
        config.flows.max_flows = 64;
        return config;
    }
    void change(std::int64_t allocations) {
        const std::unique_ptr<TableSet::Change> change = probe_tables_->prepare(config_);
        REQUIRE(change != nullptr);
        std::vector<std::unique_ptr<PacketFilter>> compiled;
        for (const TableFilter& filter : TableSet::filters(*change)) {
            compiled.push_back(
                std::make_unique<PacketFilter>(filter.expression, FilterLinks::ethernet));
        }
        try {
            const NoLargeMemory limit(0, allocations);
            probe_tables_->take_over(*change, std::move(compiled), pipeline_->export_options());
            probe_tables_->begin(*change);
        } catch (const std::exception&) {  // refused, or look() goes on with it
        }
    }

    Config config_ = small_probe();
    EndlessSource source_;
    FrameReader<EndlessSource> reader_{source_, {}};
    TableSet tables_{
        TableSetParts{.declarations = {}, .own = {}, .main = config_.flows, .parse = {}}};
    ProbeFilters filters_{std::vector<WantedFilter>()};
    std::unique_ptr<Pipeline> pipeline_;
    std::unique_ptr<ProbeTables> probe_tables_;
};

TEST_CASE("ProbeTables: where memory runs out, a new table has its filters or does not come",
          "[daemon][unit]") {
    spdlog::set_level(spdlog::level::off);
    Reloads reloads;
    int refusals = 0;
    int completions = 0;  // by look()
    bool is_refused = true;
    for (std::int64_t allocations = 0; is_refused; ++allocations) {
        CAPTURE(allocations);
        is_refused = reloads.add_table(allocations);
        if (!reloads.has_table()) {
            REQUIRE(is_refused);
            ++refusals;
            continue;
        }
        completions += is_refused ? 1 : 0;
        const std::uint64_t before = reloads.account().matched;
        REQUIRE(reloads.look_until([&] { return reloads.account().matched > before; }));
        REQUIRE(reloads.remove_table());
    }
    CHECK(refusals > 10);
    CHECK(completions > 0);
    CHECK(reloads.account().filter_not_ready == 0);
}

}  // namespace
}  // namespace tributary
