// SPDX-License-Identifier: Apache-2.0
#include "export/spool/spool.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "export/spool/unusable_records.hpp"
#include "tests/support/from_to.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kIpfixFingerprint = 7;
constexpr std::size_t kEntries = 3;
constexpr std::size_t kNineMessages = 10'000;  ///< and a bit less in a file

void put_be16(std::vector<std::byte>& octets, std::size_t at, std::size_t value) {
    octets[at] = static_cast<std::byte>(value >> 8U);
    octets[at + 1] = static_cast<std::byte>(value);
}

/// An IPFIX message of 1000 octets with one data set, which `number` identifies, and three
/// records.
OutgoingMessage ipfix_message_of(std::uint64_t number) {
    constexpr std::size_t kOctets = 1000;
    constexpr std::size_t kHeader = 16;
    OutgoingMessage message;
    message.octets.assign(kOctets, static_cast<std::byte>(number));
    put_be16(message.octets, 0, 10);
    put_be16(message.octets, 2, kOctets);
    put_be16(message.octets, kHeader, 256);
    put_be16(message.octets, kHeader + 2, kOctets - kHeader);
    for (std::uint64_t i = 0; i < kEntries; ++i) {
        message.entries.push_back({.number = number * kEntries + i, .queue = 1, .packets = i});
    }
    message.data_records = kEntries;
    message.latest_end = Timestamp{std::chrono::seconds{1'600'000'000}};
    return message;
}

struct SpoolIn {
    explicit SpoolIn(const TemporaryDirectory& directory, std::uint64_t max_octets = 1U << 23U,
                     std::uint64_t fingerprint = kIpfixFingerprint)
        : spool({.directory = directory.path(), .max_octets = max_octets},
                {.fingerprint = fingerprint}) {
        spool.adopt();
    }

    void append(std::uint64_t first, std::uint64_t end) {
        for (std::uint64_t number = first; number < end; ++number) {
            OutgoingMessage message = ipfix_message_of(number);
            REQUIRE(spool.append(message, false));
        }
    }
    /// Takes so many messages, of which each must be whole.
    std::vector<std::uint64_t> take(std::size_t count) {
        std::vector<std::uint64_t> numbers;
        while (numbers.size() < count) {
            std::optional<OutgoingMessage> message = spool.take();
            if (!message) {
                break;
            }
            CHECK(message->octets.size() == 1000);
            CHECK(message->data_records == kEntries);
            CHECK(message->entries.size() + message->inherited.records == kEntries);
            CHECK(message->latest_end == ipfix_message_of(0).latest_end);
            numbers.push_back(std::to_integer<std::uint64_t>(message->octets.back()));
            taken.push_back(*message->place);
        }
        return numbers;
    }
    void all_done() {
        for (const SpoolPlace& place : taken) {
            spool.done(place);
        }
        taken.clear();
    }

    /// The accounts of a visit, one after the other.
    template <class Visit>
    [[nodiscard]] std::vector<Spool::Account> accounts(Visit visit) {
        std::vector<Spool::Account> accounts;
        (spool.*visit)([&](const Spool::Account& account) {
            CHECK(account.tally.records == kEntries);
            CHECK(account.tally.packets == 3);
            accounts.push_back(account);
        });
        return accounts;
    }

    Spool spool;
    std::vector<SpoolPlace> taken;
};

std::vector<fs::path> files_in(const TemporaryDirectory& directory) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory.path())) {
        if (entry.path().extension() == ".spool") {
            files.push_back(entry.path());
        }
    }
    std::ranges::sort(files);
    return files;
}

/// Damages a file, with any octet there.
void flip_octet(const fs::path& path, std::streamoff at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int octet = file.get();
    file.seekp(at);
    file.put(static_cast<char>(octet ^ 0x55));
}

}  // namespace

TEST_CASE("Spool: messages come back in their order, and their files go", "[export][unit]") {
    const TemporaryDirectory directory;
    SpoolIn in(directory, kNineMessages * Spool::kFiles);  // files of nine messages
    CHECK_FALSE(in.spool.has_untaken());
    CHECK_FALSE(in.spool.take().has_value());
    in.append(0, 35);
    CHECK(files_in(directory).size() == 4);
    CHECK(in.take(12) == from_to(0, 12));
    in.append(35, 40);
    CHECK(in.take(100) == from_to(12, 40));
    CHECK_FALSE(in.spool.has_untaken());
    CHECK(files_in(directory).size() == 5);
    in.all_done();
    CHECK(files_in(directory).empty());
    CHECK(in.spool.octets() == 0);
    in.append(40, 41);  // and on it goes
    CHECK(in.take(1) == from_to(40, 41));
}

TEST_CASE("Spool: a message that stays in memory is not taken, but inherited", "[export][unit]") {
    const TemporaryDirectory directory;
    {
        SpoolIn in(directory);
        OutgoingMessage message = ipfix_message_of(0);
        REQUIRE(in.spool.append(message, true));
        CHECK(message.place.has_value());
        in.append(1, 2);
        CHECK(in.take(5) == from_to(1, 2));
    }
    SpoolIn next(directory);
    CHECK(next.take(5) == from_to(0, 2));
}

TEST_CASE("Spool: the next process takes what was not done, as inherited", "[export][unit]") {
    const TemporaryDirectory directory;
    {
        SpoolIn in(directory, kNineMessages * Spool::kFiles);
        in.append(0, 25);
        in.take(13);
        in.taken.pop_back();  // the thirteenth was taken, and not done
        in.all_done();
    }
    SpoolIn next(directory, kNineMessages * Spool::kFiles);
    const std::vector<Spool::Account> former = next.accounts(&Spool::visit_untaken);
    CHECK(former.size() == 13);
    CHECK(former.front().entries.empty());  // their numbers mean nothing here
    next.append(25, 27);
    CHECK(next.take(100) == from_to(12, 27));
    next.all_done();
    CHECK(files_in(directory).empty());
    CHECK(next.spool.damaged() == 0);
}

TEST_CASE("Spool: when it is full, its oldest file goes", "[export][unit]") {
    const TemporaryDirectory directory;
    SpoolIn in(directory, kNineMessages * Spool::kFiles);
    std::uint64_t number = 0;
    while (in.spool.has_room_for(ipfix_message_of(number)) && number < 10'000) {
        in.append(number, number + 1);
        ++number;
    }
    CHECK(number > 500);
    CHECK(number < 600);
    CHECK(in.spool.octets() <= kNineMessages * Spool::kFiles);
    in.take(4);
    const std::vector<Spool::Account> lost = in.accounts(&Spool::drop_oldest);
    REQUIRE(lost.size() == 5);
    CHECK(lost.front().entries.front().number == 4 * kEntries);  // what was taken is not lost
    CHECK_FALSE(in.spool.has(in.taken.front()));
    in.all_done();  // of a file that is not there any more
    CHECK(in.spool.has_room_for(ipfix_message_of(number)));
    CHECK(in.take(1) == from_to(9, 10));
}

TEST_CASE("Spool: messages for other templates are given up by count", "[export][unit]") {
    const TemporaryDirectory directory;
    {
        SpoolIn in(directory);
        in.append(0, 5);
    }
    SpoolIn next(directory, 1U << 23U, kIpfixFingerprint + 1);
    CHECK_FALSE(next.spool.has_untaken());
    CHECK(next.accounts(&Spool::drop_unusable).size() == 5);
    CHECK(files_in(directory).empty());
}

TEST_CASE("unusable_records: records that a start would lose are counted, and stay",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const auto records = [&](std::uint64_t fingerprint) {
        return unusable_records(directory.path(), {.fingerprint = fingerprint});
    };
    CHECK(records(kIpfixFingerprint) == 0);
    CHECK(unusable_records(directory.path() + "/none", {.fingerprint = kIpfixFingerprint}) == 0);
    std::ofstream(directory.path() + "/00000000000000000001.spool") << "no spool";
    {
        SpoolIn in(directory);
        in.append(0, 5);
        CHECK(records(kIpfixFingerprint) == 0);
        CHECK(records(kIpfixFingerprint + 1) == 5 * kEntries);  // also while the spool is in use
    }
    SpoolIn next(directory);
    REQUIRE(next.take(2).size() == 2);
    for (int again = 0; again < 2; ++again) {
        CHECK(records(kIpfixFingerprint) == 0);
        CHECK(records(kIpfixFingerprint + 1) > 0);
    }
    CHECK(next.take(5).size() == 3);
}

TEST_CASE("Spool: a cut file gives its whole messages", "[export][unit]") {
    const TemporaryDirectory directory;
    {
        SpoolIn in(directory);
        in.append(0, 5);
    }
    const fs::path file = files_in(directory).at(0);
    fs::resize_file(file, fs::file_size(file) - 1);
    SpoolIn next(directory);
    CHECK(next.spool.damaged() == 1);
    CHECK(next.take(100) == from_to(0, 4));
    next.all_done();
    CHECK(files_in(directory).empty());
}

TEST_CASE("Spool: a damaged message is skipped, the others come", "[export][unit]") {
    const TemporaryDirectory directory;
    {
        SpoolIn in(directory);
        in.append(0, 5);
    }
    const fs::path path = files_in(directory).at(0);
    const auto frame = static_cast<std::streamoff>((fs::file_size(path) - 16) / 5);
    for (const std::streamoff at : {16 + frame + 500, 16 + 3 * frame + 20}) {  // payload, header
        flip_octet(path, at);
    }
    SpoolIn next(directory);
    CHECK(next.take(100) == std::vector<std::uint64_t>{0, 2, 4});  // the frame, not the file's rest
    CHECK(next.spool.damaged() == 2);
    const std::vector<Spool::Account> damaged = next.spool.take_damaged();
    REQUIRE(damaged.size() == 2);
    CHECK(damaged[0].is_estimate);  // of the header
    CHECK(damaged[0].tally == RecordTally{3, 3, 0});
    CHECK_FALSE(damaged[1].is_estimate);
    CHECK(damaged[1].tally == RecordTally{3, 3, 0});
    next.all_done();
    static_cast<void>(next.spool.take());
    CHECK(files_in(directory).empty());
}

TEST_CASE("Spool: a damaged header is not used", "[export][unit]") {
    const TemporaryDirectory directory;
    {
        SpoolIn in(directory);
        in.append(0, 3);
    }
    const fs::path path = files_in(directory).at(0);
    const auto frame = static_cast<std::streamoff>((fs::file_size(path) - 16) / 3);
    flip_octet(path, 16 + 2 * frame + 79);  // the tally is the header's end
    SpoolIn next(directory);
    const std::vector<Spool::Account> former = next.accounts(&Spool::visit_untaken);
    CHECK(former.size() == 2);
    CHECK(next.spool.damaged() == 1);
    CHECK(next.take(100) == from_to(0, 2));
}

TEST_CASE("Spool: files of others in the directory harm nothing", "[export][unit]") {
    const TemporaryDirectory directory;
    std::ofstream(directory.path() + "/00000000000000000003.spool") << "this is not one of ours";
    std::ofstream(directory.path() + "/README.spool") << "neither";
    SpoolIn in(directory);
    CHECK(in.spool.damaged() == 1);
    CHECK_FALSE(in.spool.has_untaken());
    in.append(0, 3);
    CHECK(in.take(10) == from_to(0, 3));
    CHECK(fs::exists(directory.path() + "/README.spool"));
    CHECK(fs::exists(directory.path() + "/00000000000000000003.spool"));
}

TEST_CASE("Spool: one process at a time", "[export][unit]") {
    const TemporaryDirectory directory;
    const SpoolIn in(directory);
    CHECK_THROWS_WITH(SpoolIn(directory),
                      Catch::EndsWith(": process " + std::to_string(::getpid()) + " uses it"));
    for (const char* of_no_process : {"", "999999999\n", "x\n"}) {
        std::ofstream(directory.path() + "/lock", std::ios::trunc) << of_no_process;
        CHECK_THROWS_WITH(SpoolIn(directory), Catch::EndsWith(": another process uses it"));
    }
    CHECK_THROWS_AS(Spool({.directory = "/dev/null/spool"}, {.fingerprint = 1}), ExportError);
}

TEST_CASE("Spool: a message that the disk refuses is not there", "[export][unit]") {
    const TemporaryDirectory directory;
    SpoolIn in(directory);
    in.append(0, 10);
    auto* const before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit old{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &old) == 0);
    const rlimit small{.rlim_cur = in.spool.octets() + 500, .rlim_max = old.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    OutgoingMessage message = ipfix_message_of(10);
    CHECK_FALSE(in.spool.append(message, false));
    CHECK_FALSE(message.place.has_value());
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &old) == 0);
    std::signal(SIGXFSZ, before);
    in.append(11, 12);
    std::vector<std::uint64_t> wanted = from_to(0, 10);
    wanted.push_back(11);
    CHECK(in.take(100) == wanted);
    CHECK(in.spool.damaged() == 0);
}

TEST_CASE("Spool: of a damaged message of this process the account is known", "[export][unit]") {
    const TemporaryDirectory directory;
    SpoolIn in(directory);
    in.append(0, 5);
    const fs::path path = files_in(directory).at(0);
    const auto frame = static_cast<std::streamoff>((fs::file_size(path) - 16) / 5);
    flip_octet(path, 16 + 2 * frame - 1);  // the last octet of the second message
    CHECK(in.take(100) == std::vector<std::uint64_t>{0, 2, 3, 4});
    CHECK(in.spool.damaged() == 1);
    const std::vector<Spool::Account> damaged = in.spool.take_damaged();
    REQUIRE(damaged.size() == 1);
    CHECK(damaged[0].entries.front().number == kEntries);
    CHECK(in.spool.take_damaged().empty());
    in.all_done();
    static_cast<void>(in.spool.take());
    CHECK(files_in(directory).empty());
}
