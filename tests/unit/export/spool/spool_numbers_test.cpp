// SPDX-License-Identifier: Apache-2.0
// Which numbers a spool loses, of a format whose records have some.
#include <algorithm>
#include <catch2/catch.hpp>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/spool/spool_frame.hpp"
#include "export/spool/spool_queue.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/from_to.hpp"
#include "tests/support/small_spool.hpp"

using namespace tributary;
using namespace tributary::test;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kPerMessage = 10;  ///< records

bool are_texts(MessageView octets) noexcept {
    return !octets.empty() && octets.back() == std::byte{'\n'};
}

/// Lines of a stream and a number: `7 123`. `?` has none.
std::uint64_t visit_lines(MessageView octets, const NumberRangeHandler& handler) {
    std::string_view text(reinterpret_cast<const char*>(octets.data()), octets.size());
    std::uint64_t unknown = 0;
    for (; !text.empty(); text.remove_prefix(text.find('\n') + 1)) {
        NumberRange range;
        const char* const end = text.data() + text.size();
        const auto stream = std::from_chars(text.data(), end, range.stream);
        if (stream.ec != std::errc{}) {
            ++unknown;
            continue;
        }
        std::from_chars(stream.ptr + 1, end, range.first);
        range.last = range.first;
        handler(range);
    }
    return unknown;
}

/// As a format gives them: runs of numbers.
std::uint64_t visit_runs(MessageView octets, const NumberRangeHandler& handler) {
    std::optional<NumberRange> run;
    const std::uint64_t unknown = visit_lines(octets, [&](const NumberRange& next) {
        if (run && run->is_followed_by({next.stream, next.first})) {
            run->last = next.last;
            return;
        }
        if (run) {
            handler(*run);
        }
        run = next;
    });
    if (run) {
        handler(*run);
    }
    return unknown;
}

SpoolContent numbered(std::uint32_t version = 1) {
    return {.fingerprint = 5,
            .format = "numbered",
            .version = version,
            .oldest_version = version,
            .is_message = are_texts,
            .visit_numbers = visit_runs};
}

/// The records of these numbers.
OutgoingMessage numbered_message(std::uint64_t stream, const std::vector<std::uint64_t>& numbers) {
    OutgoingMessage message;
    std::string text;
    for (const std::uint64_t number : numbers) {
        text += std::to_string(stream) + " " + std::to_string(number) + "\n";
        message.entries.push_back({.number = number, .queue = 0, .packets = 2, .octets = number});
    }
    const auto octets = std::as_bytes(std::span(text));
    message.octets.assign(octets.begin(), octets.end());
    message.data_records = static_cast<std::uint32_t>(numbers.size());
    message.latest_end = Timestamp{std::chrono::seconds{1'600'000'000}};
    return message;
}

using Numbers = std::set<std::pair<std::uint64_t, std::uint64_t>>;

/// One process with a spool.
struct Process {
    explicit Process(const TemporaryDirectory& directory, std::uint64_t max_octets = 1U << 23U,
                     const SpoolContent& content = numbered())
        : queue({.directory = directory.path(), .max_octets = max_octets}, 0, content, accounting,
                events) {
        queue.advance(now);
    }
    void store(OutgoingMessage message) {
        for (const RecordEntry& entry : message.entries) {
            static_cast<void>(accounting.begin(0, entry.tally(), 1));
        }
        REQUIRE(queue.store(message, none, now));
    }
    void store(std::uint64_t stream, std::uint64_t first, std::uint64_t end) {
        for (; first < end; first += kPerMessage) {
            store(numbered_message(stream, from_to(first, std::min(first + kPerMessage, end))));
        }
    }
    /// Delivers all that can be read. @return  its numbers
    Numbers deliver() {
        Numbers delivered;
        while (queue.holds_messages()) {
            std::optional<OutgoingMessage> message = queue.take(now);
            if (!message) {
                continue;  // damaged
            }
            visit_lines(message->octets, [&](const NumberRange& range) {
                CHECK(delivered.emplace(range.stream, range.first).second);
            });
            delivered_records += message->entries.size() + message->inherited.records;
            queue.release(*message);
        }
        return delivered;
    }
    void end() {
        queue.keep_for_next_process(
            none, [](const OutgoingMessage&, ExportLoss) {}, now);
    }
    [[nodiscard]] LostNumbers::Reading lost() const { return account().numbers.read(); }
    /// Each number in a range.
    [[nodiscard]] Numbers listed() const {
        Numbers numbers;
        for (const LostRange& range : lost().ranges) {
            for (std::uint64_t number = range.first; number <= range.last; ++number) {
                CHECK(numbers.emplace(range.stream, number).second);
            }
        }
        return numbers;
    }
    [[nodiscard]] const CollectorCounters& account() const { return counters.collectors[0]; }

    const ExportTime now = at(std::chrono::milliseconds{0});
    ExportCounters counters{1, 1};
    CollectorEvents events{CollectorOptions{}, counters.collectors[0], {}};
    RecordAccounting accounting{counters, 1};
    MessageStages none;
    SpoolQueue queue;
    std::uint64_t delivered_records{};
};

Numbers numbers_of(std::uint64_t stream, std::uint64_t first, std::uint64_t end) {
    Numbers numbers;
    for (; first < end; ++first) {
        numbers.emplace(stream, first);
    }
    return numbers;
}

Numbers united(Numbers one, const Numbers& other) {
    one.insert(other.begin(), other.end());
    return one;
}

/// The octets of a file that a process with some messages of stream 7 has left.
std::string file_of(std::uint64_t messages) {
    const TemporaryDirectory directory;
    Process process(directory);
    process.store(7, 0, messages * kPerMessage);
    return read_file(file_in(directory));
}

/// Octets of the frames in a file.
std::vector<std::size_t> frames_in(const std::string& file) {
    std::vector<std::size_t> frames;
    for (std::size_t at = sizeof(SpoolFileHeader); at < file.size();) {
        SpoolFrame frame;
        std::memcpy(&frame, file.data() + at, sizeof frame);
        frames.push_back(at);
        at += frame.size();
    }
    return frames;
}

}  // namespace

TEST_CASE("SpoolQueue: a full spool names the numbers that it has given up, and no others",
          "[export][unit]") {
    const TemporaryDirectory directory;
    constexpr std::uint64_t kMost = 64'000;
    Process process(directory, kMost);
    process.store(7, 0, 2000);
    const std::uint64_t lost = process.account().read_lost(ExportLoss::spool_full).records;
    REQUIRE(lost > 200);
    CHECK(process.account().spool_octets.read() <= kMost);
    CHECK(process.lost().ranges == std::vector<LostRange>{{7, 0, lost - 1, "spool_full"}});
    CHECK(process.deliver() == numbers_of(7, lost, 2000));
    CHECK(process.lost().ranges.size() == 1);
    CHECK(process.lost().unlisted == 0);
}

TEST_CASE("SpoolQueue: numbers that a message does not have are not lost with it",
          "[export][unit]") {
    const TemporaryDirectory directory;
    Process process(directory, 4096);
    // Two layouts share the numbers.
    process.store(numbered_message(7, {0, 1, 4, 7, 8}));
    process.store(numbered_message(7, {2, 3, 5}));
    process.store(7, 100, 200);
    CHECK(process.account().read_lost(ExportLoss::spool_full).records > 8);
    const Numbers listed = process.listed();
    CHECK_FALSE(listed.contains({7, 6}));
    CHECK(listed.contains({7, 8}));
    CHECK(process.lost().ranges.front() == LostRange{7, 0, 5, "spool_full"});
    const Numbers delivered = process.deliver();
    Numbers written = united(numbers_of(7, 0, 9), numbers_of(7, 100, 200));
    written.erase({7, 6});
    CHECK(united(listed, delivered) == written);
    CHECK(listed.size() + delivered.size() == written.size());
}

TEST_CASE("SpoolQueue: lost numbers of a former process have its stream", "[export][unit]") {
    const TemporaryDirectory directory;
    Process(directory).store(7, 0, 50);
    {
        Process same(directory);
        CHECK(same.lost().ranges.empty());
        CHECK(same.deliver() == numbers_of(7, 0, 50));
    }
    Process(directory).store(7, 0, 50);
    SECTION("evicted") {
        Process next(directory, 4096);
        next.store(8, 0, 100);
        CHECK(next.lost().ranges.front() == LostRange{7, 0, 49, "spool_full"});
        CHECK(united(next.listed(), next.deliver()) ==
              united(numbers_of(7, 0, 50), numbers_of(8, 0, 100)));
        CHECK(next.lost().unlisted == 0);
    }
    SECTION("in another version of the format") {
        Process next(directory, 1U << 23U, numbered(2));
        CHECK(next.lost().ranges == std::vector<LostRange>{{7, 0, 49, "spool_unusable"}});
        CHECK(next.lost().unlisted == 0);
        CHECK(fs::exists(file_in(directory)) == false);
    }
    SECTION("in a file that is removed") {
        Process next(directory);
        fs::remove(file_in(directory));
        next.end();
        CHECK(next.lost().ranges == std::vector<LostRange>{{7, 0, 49, "spool_damaged"}});
        CHECK(next.lost().unlisted == 0);
    }
    SECTION("kept at the end") {
        Process next(directory);
        next.end();
        CHECK(next.lost().ranges.empty());
        CHECK(next.account().spooled.read().records == 50);
    }
}

TEST_CASE("SpoolQueue: a damaged message of a former process is named by its header",
          "[export][unit]") {
    const TemporaryDirectory directory;
    std::string file = file_of(5);
    const std::vector<std::size_t> frames = frames_in(file);
    REQUIRE(frames.size() == 5);
    file[frames[2] - 2] ^= 1;                                              // message 1
    file[frames[3] + sizeof(SpoolFrame) + 2] ^= 1;                         // an entry of message 3
    file[frames[4] + sizeof(SpoolFrame) + 10 * sizeof(RecordEntry)] ^= 1;  // its range
    SECTION("and a range that is damaged costs nothing while its message is good") {
        write_file(file_in(directory), file);
        Process next(directory);
        CHECK(next.deliver() == united(numbers_of(7, 0, 10), numbers_of(7, 20, 50)));
        CHECK(next.lost().ranges == std::vector<LostRange>{{7, 10, 19, "spool_damaged"}});
        CHECK(next.lost().unlisted == 0);
    }
    SECTION("but not where its range is damaged, too") {
        file.back() ^= 2;
        write_file(file_in(directory), file);
        Process next(directory);
        CHECK(next.deliver() == united(numbers_of(7, 0, 10), numbers_of(7, 20, 40)));
        CHECK(next.lost().ranges == std::vector<LostRange>{{7, 10, 19, "spool_damaged"}});
        CHECK(next.lost().unlisted == 10);
    }
    SECTION("nor where the header is damaged") {
        file[frames[2] + 30] ^= 1;
        write_file(file_in(directory), file);
        Process next(directory);
        CHECK(next.deliver() == united(numbers_of(7, 0, 10), numbers_of(7, 30, 50)));
        CHECK(next.lost().ranges == std::vector<LostRange>{{7, 10, 19, "spool_damaged"}});
        CHECK(next.lost().unlisted == 10);
        CHECK(next.account().spool_estimated.read() == 10);
    }
    SECTION("cut in its octets, and in its range") {
        file.resize(file.size() - 1);
        file[frames[4] + sizeof(SpoolFrame) + 10 * sizeof(RecordEntry)] ^= 1;  // as it was
        write_file(file_in(directory), file);
        Process next(directory);
        CHECK(next.lost().ranges == std::vector<LostRange>{{7, 40, 49, "spool_damaged"}});
        file.resize(frames[4] + sizeof(SpoolFrame) + 11 * sizeof(RecordEntry) - 1);
        const TemporaryDirectory other;
        write_file(file_in(other), file);
        Process last(other);
        CHECK(last.lost().ranges.empty());
        CHECK(last.lost().unlisted == 10);
        CHECK(last.account().spool_estimated.read() == 0);
    }
}

TEST_CASE("SpoolQueue: whatever octet of a file changes, no number is lost that has arrived",
          "[export][unit]") {
    constexpr std::uint64_t kCount = 2;
    const Numbers all = numbers_of(7, 0, kCount * kPerMessage);
    const std::string file = file_of(kCount);
    for (std::size_t octet = 0; octet < file.size(); octet += 3) {  // some of each member
        INFO("octet " << octet);
        const char changed = static_cast<char>(file[octet] ^ 0x10);
        {
            const TemporaryDirectory directory;
            Process own(directory);
            own.store(7, 0, kCount * kPerMessage);
            change_octet(file_in(directory), octet);
            const Numbers delivered = own.deliver();
            const Numbers listed = own.listed();
            CHECK(delivered.size() + listed.size() == all.size());
            CHECK(united(delivered, listed) == all);
            CHECK(own.lost().unlisted == 0);
        }
        const TemporaryDirectory directory;
        std::string octets = file;
        octets[octet] = changed;
        write_file(file_in(directory), octets);
        Process next(directory);
        const Numbers delivered = next.deliver();
        const Numbers listed = next.listed();
        CHECK(united(delivered, listed).size() == delivered.size() + listed.size());
        CHECK(delivered.size() + listed.size() + next.lost().unlisted == all.size());
        CHECK(next.delivered_records == delivered.size());
    }
}

TEST_CASE("SpoolQueue: wherever a file of this process is cut, the missing numbers are known",
          "[export][unit]") {
    constexpr std::uint64_t kCount = 3;
    const std::size_t size = file_of(kCount).size();
    for (std::size_t length = 0; length < size; length += 7) {
        INFO("length " << length);
        const TemporaryDirectory directory;
        Process own(directory);
        own.store(7, 0, kCount * kPerMessage);
        fs::resize_file(file_in(directory), length);
        own.store(7, kCount * kPerMessage, kCount * kPerMessage + 5);
        const Numbers delivered = own.deliver();
        const Numbers listed = own.listed();
        CHECK(delivered.size() + listed.size() == kCount * kPerMessage + 5);
        CHECK(united(delivered, listed) == numbers_of(7, 0, kCount * kPerMessage + 5));
        CHECK(own.lost().unlisted == 0);
    }
}

TEST_CASE("SpoolQueue: files without numbers are read, and what they lose is counted",
          "[export][unit]") {
    const TemporaryDirectory directory;
    SpoolContent without = numbered();
    without.visit_numbers = {};
    Process(directory, 1U << 23U, without).store(7, 0, 50);
    std::string file = read_file(file_in(directory));
    CHECK(file.substr(0, 8) == "TRBSPL03");
    CHECK(file_of(1).substr(0, 8) == "TRBSPL04");
    file.back() = ' ';
    write_file(file_in(directory), file);
    Process next(directory);
    CHECK(next.deliver() == numbers_of(7, 0, 40));
    CHECK(next.account().read_lost(ExportLoss::spool_damaged).records == 10);
    CHECK(next.lost().ranges.empty());
    CHECK(next.lost().unlisted == 10);
}

TEST_CASE("SpoolQueue: a record without a number makes its message's numbers unknown",
          "[export][unit]") {
    const TemporaryDirectory directory;
    Process process(directory, 4096);
    OutgoingMessage message = numbered_message(7, {0, 1});
    message.octets[0] = std::byte{'?'};
    process.store(std::move(message));
    process.store(7, 100, 200);
    CHECK(process.lost().unlisted == 2);
    CHECK_FALSE(process.listed().contains({7, 1}));
}

TEST_CASE("SpoolQueue: what is left of a message has its place, its records and its numbers",
          "[export][unit]") {
    const TemporaryDirectory directory;
    Process(directory).store(7, 0, 50);
    {
        Process next(directory);
        static_cast<void>(next.queue.take(next.now));
        std::optional<OutgoingMessage> second = next.queue.take(next.now);
        REQUIRE(second);
        OutgoingMessage rest = numbered_message(7, {11, 12, 15});
        rest.inherited = tally_of(rest);
        rest.entries.clear();
        rest.place = second->place;
        next.queue.shorten(rest);
        CHECK(rest.place.has_value());
        rest = numbered_message(7, {12, 15});  // and once more
        rest.inherited = tally_of(rest);
        rest.entries.clear();
        rest.place = second->place;
        next.queue.shorten(rest);
        CHECK(rest.place.has_value());
        CHECK(next.account().errors.read() == 0);
    }
    const bool is_lost = GENERATE(false, true);
    Process last(directory, 1U << 23U, numbered(is_lost ? 2 : 1));
    Numbers all = united(numbers_of(7, 0, 10), numbers_of(7, 20, 50));
    all.insert({{7, 12}, {7, 15}});
    CHECK(last.account().inherited.read().records == all.size());
    CHECK(last.account().inherited.read().packets == 2 * all.size());
    CHECK(last.deliver() == (is_lost ? Numbers{} : all));
    CHECK(last.listed() == (is_lost ? all : Numbers{}));
    CHECK(last.lost().unlisted == 0);
    CHECK(last.account().errors.read() == (is_lost ? 1 : 0));
    CHECK_FALSE(fs::exists(file_in(directory)));
}

TEST_CASE("SpoolQueue: the place of a message that has changed on the disk is given up",
          "[export][unit]") {
    const TemporaryDirectory directory;
    Process process(directory);
    process.store(7, 0, 20);
    std::optional<OutgoingMessage> message = process.queue.take(process.now);
    REQUIRE(message);
    change_octet(file_in(directory), sizeof(SpoolFileHeader) + 20);
    OutgoingMessage rest = numbered_message(7, {3});
    rest.place = message->place;
    process.queue.shorten(rest);
    CHECK_FALSE(rest.place.has_value());
}

TEST_CASE("SpoolQueue: the numbers of a message that is refused are known", "[export][unit]") {
    const TemporaryDirectory directory;
    Process(directory).store(7, 0, 20);
    Process next(directory);
    std::optional<OutgoingMessage> message = next.queue.take(next.now);
    REQUIRE(message);
    next.queue.refuse(*message, next.now);
    CHECK(next.lost().ranges == std::vector<LostRange>{{7, 0, 9, "spool_damaged"}});
    CHECK(next.lost().unlisted == 0);
}
