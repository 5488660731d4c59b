// SPDX-License-Identifier: Apache-2.0
// The numbers that the ledger names as lost, and those that a reader of the records misses.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/spooled_export.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

using Numbers = std::set<std::pair<std::uint64_t, std::uint64_t>>;

struct JsonExport : SpooledText {
    explicit JsonExport(const TemporaryDirectory& directory,
                        std::uint64_t max_octets = std::uint64_t{1} << 26U)
        : SpooledText(directory, max_octets) {
        options.collectors[0].format = RecordFormatKind::json;
    }
    /// Stream and number of each line that has arrived.
    [[nodiscard]] Numbers arrived() const {
        Numbers numbers;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            const std::string stream = behind(line, "\"tributary:streamId\":\"");
            const std::string number = behind(line, "\"tributary:sequenceNumber\":");
            CHECK(numbers.emplace(std::stoull(stream, nullptr, 16), std::stoull(number)).second);
        }
        return numbers;
    }
    [[nodiscard]] LostNumbers::Reading numbers() const {
        return counters.collectors[0].numbers.read();
    }

private:
    static std::string behind(const std::string& line, const std::string& member) {
        const std::size_t at = line.find(member);
        REQUIRE(at != std::string::npos);
        return line.substr(at + member.size());
    }
};

Numbers in_ranges(const std::vector<LostRange>& ranges) {
    Numbers numbers;
    for (const LostRange& range : ranges) {
        for (std::uint64_t number = range.first; number <= range.last; ++number) {
            CHECK(numbers.emplace(range.stream, number).second);
        }
    }
    return numbers;
}

}  // namespace

TEST_CASE("Spool: the numbers that a full spool has lost are those that a reader misses",
          "[export][unit]") {
    const TemporaryDirectory directory;
    std::uint64_t former_stream = 0;
    {
        JsonExport former(directory);
        former.leave(1000);
        CHECK(former.numbers().ranges.empty());
        CHECK(former.numbers().next.sequence == 1000);
        former_stream = former.numbers().next.stream;
    }
    JsonExport exports(directory, 800'000);
    exports.start();
    exports.put(0, 800);
    exports.run(milliseconds{200});
    exports.listen();
    exports.run_and_read(milliseconds{4000});

    const LostNumbers::Reading numbers = exports.numbers();
    CHECK(numbers.unlisted == 0);
    CHECK(numbers.next.sequence == 800);
    CHECK(numbers.next.stream != former_stream);
    REQUIRE(numbers.ranges.size() == 1);
    const LostRange lost = numbers.ranges.front();
    CHECK(lost.stream == former_stream);  // the oldest
    CHECK(lost.first == 0);
    CHECK(lost.cause == "spool_full");
    CHECK(lost.count() == exports.counters.collectors[0].read_lost(ExportLoss::spool_full).records);
    const Numbers arrived = exports.arrived();
    Numbers all = in_ranges(numbers.ranges);
    CHECK(all.size() + arrived.size() == 1800);
    all.insert(arrived.begin(), arrived.end());
    CHECK(all.size() == 1800);
    CHECK(exports.has(0) == arrived.size());
    exports.finish();
}

TEST_CASE("Spool: the numbers of damaged messages are those that a reader misses",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const bool is_former = GENERATE(false, true);
    if (is_former) {
        JsonExport(directory).leave(1000);
    }
    JsonExport exports(directory);
    if (!is_former) {
        exports.start();
        exports.put(0, 1000);
        exports.run(milliseconds{200});
    }
    const auto file = spool_files_in(directory).front();
    flip_octet(file, static_cast<std::streamoff>(std::filesystem::file_size(file) / 2));
    if (is_former) {
        exports.start();
    }
    exports.listen();
    exports.run_and_read(milliseconds{4000});
    const LostNumbers::Reading numbers = exports.numbers();
    CHECK(numbers.unlisted == 0);
    REQUIRE(numbers.ranges.size() == 1);
    CHECK(numbers.ranges.front().cause == "spool_damaged");
    const Numbers arrived = exports.arrived();
    CHECK(arrived.size() < 1000);
    Numbers all = in_ranges(numbers.ranges);
    CHECK(all.size() + arrived.size() == 1000);
    all.insert(arrived.begin(), arrived.end());
    CHECK(all.size() == 1000);
    CHECK(all.begin()->first == all.rbegin()->first);  // one stream
    CHECK((all.begin()->first == numbers.next.stream) == !is_former);
    exports.finish();
}
