// SPDX-License-Identifier: Apache-2.0
// Spools that an earlier version of tributary has left (tests/data/spool/): both hold the records
// 0 .. 39 of record_of(), 10 packets of 1000 octets each.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "export/collector/message_collector.hpp"
#include "export/spool/spool_file.hpp"
#include "tests/support/collector_group_harness.hpp"
#include "tests/support/spooled_export.hpp"
#include "tests/support/spooled_group.hpp"
#include "tests/support/two_layouts.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr RecordTally kFormer{40, 400, 40'000};

/// A spool with one file of the earlier version.
void leave_former(const TemporaryDirectory& directory, const std::string& name) {
    std::filesystem::copy(std::string(TRIBUTARY_SOURCE) + "/tests/data/spool/" + name,
                          directory / spool_file_name(1));
}

/// Records as lines of text, each its source port: a format of its own, in some version.
class LineFormat final : public MessageFormat {
public:
    LineFormat(std::uint32_t version, std::uint32_t oldest) : version_(version), oldest_(oldest) {}

    [[nodiscard]] AppendResult append(const std::byte* record,
                                      OutgoingMessage& open) noexcept override {
        constexpr std::size_t kMostOctets = 100;
        const auto* const core = reinterpret_cast<const FlowRecordCore*>(record);
        const std::string line = std::to_string(core->key.source_port.value) + "\n";
        if (open.octets.size() + line.size() > kMostOctets) {
            return AppendResult::message_full;
        }
        for (const char each : line) {
            open.octets.push_back(static_cast<std::byte>(each));
        }
        open.latest_end = std::max(open.latest_end, core->end);
        return AppendResult::added;
    }
    void close(OutgoingMessage& open, ExportTime) override {
        open.data_records = static_cast<std::uint32_t>(open.entries.size());
    }
    void discard(OutgoingMessage& open) noexcept override { open.octets.clear(); }
    [[nodiscard]] SpoolContent spool_content() const override {
        return {.fingerprint = 1,
                .format = "lines",
                .version = version_,
                .oldest_version = oldest_,
                .is_message = [](MessageView octets) noexcept {
                    return !octets.empty() && octets.back() == std::byte{'\n'};
                }};
    }

private:
    std::uint32_t version_;
    std::uint32_t oldest_;
};

/// A collector of lines, over TCP, with the spool of SpooledExport.
CollectorFactory of_lines(std::uint32_t version, std::uint32_t oldest) {
    return [=](const CollectorParts& parts) {
        return std::make_unique<MessageCollector>(
            parts, std::make_unique<LineFormat>(version, oldest), make_transport);
    };
}

/// An export of lines to a TCP port.
struct LineExport : SpooledText {
    explicit LineExport(const TemporaryDirectory& directory, std::uint32_t version,
                        std::uint32_t oldest)
        : SpooledText(directory) {
        factory = of_lines(version, oldest);
    }
};

std::string lines(int end) {
    std::string text;
    for (int number = 0; number < end; ++number) {
        text += std::to_string(number) + "\n";
    }
    return text;
}

}  // namespace

TEST_CASE("Spool: messages of an earlier version reach their collector", "[export][unit]") {
    const TemporaryDirectory directory;
    leave_former(directory, "messages-v03.spool");
    SpooledExport exports(directory);
    const bool has_more_layouts = GENERATE(false, true);
    exports.start();
    if (has_more_layouts) {  // a further layout does not change what the first one needs
        exports.worker.reset();
        exports.worker = std::make_unique<ExportWorker>(exports.options, two_layouts(),
                                                        std::vector<RecordSource*>{&exports.queue},
                                                        exports.counters, CollectorEventHandler{});
    }
    exports.put(40, 50);
    exports.run(milliseconds{3000});
    CHECK(exports.collectors[0].ports == numbers(0, 50));
    CHECK(exports.counters.collectors[0].inherited.read() == kFormer);
    exports.finish();
    CHECK(exports.has(0) == 50);
    CHECK(exports.exported() == 10);
}

TEST_CASE("Spool: messages of an earlier version for other templates are unusable",
          "[export][unit]") {
    const TemporaryDirectory directory;
    leave_former(directory, "messages-v03.spool");
    SpooledExport exports(directory);
    exports.options.collectors[0].observation_domain = 77;
    exports.start();
    exports.run(milliseconds{1000});
    CHECK(exports.counters.collectors[0].inherited.read() == kFormer);
    CHECK(exports.counters.collectors[0].read_lost(ExportLoss::spool_unusable) == kFormer);
    CHECK(exports.told(CollectorEventKind::spool_unusable));
    exports.finish();
}

TEST_CASE("GroupSpool: records of an earlier version reach a collector", "[export][unit]") {
    const TemporaryDirectory directory;
    leave_former(directory, "records-v03.spool");
    SpooledGroup group(directory, 1);
    group.start();
    group.run(milliseconds{4000});
    CHECK(group.collectors[0].ports == numbers(0, 40));
    CHECK(group.account().inherited.read() == kFormer);
    group.end(0);
    CHECK(group.handed_over() == 40);
}

TEST_CASE("Spool: messages of another format wait and arrive, over any transport",
          "[export][unit]") {
    const TemporaryDirectory directory;
    LineExport(directory, 1, 1).leave(300);
    LineExport next(directory, 1, 1);
    next.start();
    next.listen();
    next.run_and_read(milliseconds{3000});
    CHECK(next.text == lines(300));
    CHECK(next.has(0) == 300);
}

TEST_CASE("Spool: a format's former version is sent as long as collectors take it, or counted",
          "[export][unit]") {
    const TemporaryDirectory directory;
    LineExport(directory, 1, 1).leave(300);
    const bool is_taken = GENERATE(true, false);
    LineExport next(directory, 2, is_taken ? 1 : 2);
    next.start();
    next.listen();
    next.run_and_read(milliseconds{3000});
    CHECK(next.text == (is_taken ? lines(300) : ""));
    const CollectorCounters& account = next.counters.collectors[0];
    CHECK(account.inherited.read().records == 300);
    CHECK(account.read_lost(ExportLoss::spool_unusable).records == (is_taken ? 0 : 300));
}

TEST_CASE("Spool: messages of a format are never taken for those of another", "[export][unit]") {
    const TemporaryDirectory directory;
    LineExport(directory, 1, 1).leave(300);
    SpooledExport exports(directory);
    exports.start();
    exports.run(milliseconds{3000});
    CHECK(exports.collectors[0].ports.empty());
    CHECK(exports.counters.collectors[0].read_lost(ExportLoss::spool_unusable).records == 300);
    exports.finish();
}
