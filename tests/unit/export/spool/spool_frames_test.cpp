// SPDX-License-Identifier: Apache-2.0
#include "tests/support/small_spool.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace tributary;
using namespace tributary::test;
namespace fs = std::filesystem;

TEST_CASE("Spool: a file that another process writes in this one's place is not used",
          "[export][unit]") {
    const std::string foreign = whole_file();
    for (const bool is_replaced : {false, true}) {
        const TemporaryDirectory directory;
        SmallSpool own(directory);
        own.write();
        if (is_replaced) {
            fs::remove(file_in(directory));
        }
        write_file(file_in(directory), foreign);
        Seen seen;
        own.take_all(seen);
        CHECK(seen.all() == own.written);
        CHECK(seen.messages.size() == (is_replaced ? kMessages : 0));
        CHECK(fs::exists(file_in(directory)) == is_replaced);  // and is not removed
    }
}

TEST_CASE("Spool: a file without a valid header is lost by name, and removed", "[export][unit]") {
    std::string octets = whole_file();
    std::fill_n(octets.begin(), kHeader, '\x55');
    for (std::uint64_t number = 0; number < kMessages; ++number) {
        octets[kHeader + number * kFrame + 70] ^= 1;
    }
    const Inherited all_damaged(octets);
    CHECK(all_damaged.seen.messages.empty());
    CHECK(all_damaged.seen.estimated > 0);
    CHECK(all_damaged.inherited == all_damaged.seen.damaged);
    CHECK(all_damaged.is_gone);

    // Frames of other templates below it: exactly counted, and lost by damage.
    const TemporaryDirectory directory;
    {
        Spool other({.directory = directory.path(), .max_octets = 1U << 23U}, {.fingerprint = 77});
        OutgoingMessage message = message_of(0);
        REQUIRE(other.append(message, false));
    }
    std::string others = read_file(file_in(directory));
    CHECK(Inherited(others).unusable.records == kRecords);
    std::fill_n(others.begin(), 8, '\x55');
    const Inherited damaged(others);
    CHECK(damaged.unusable.records == 0);
    CHECK(damaged.seen.damaged.records == kRecords);
    CHECK(damaged.seen.estimated == 0);
    CHECK(damaged.is_gone);
}

TEST_CASE("Spool: a frame that holds no IPFIX message of data is damaged", "[export][unit]") {
    using Change = std::function<void(std::vector<std::byte>&)>;
    const std::vector<Change> changes{
        [](auto& octets) { octets.clear(); },
        [](auto& octets) { octets.resize(3); },
        [](auto& octets) { octets.resize(15); },
        [](auto& octets) { put_be16(octets, 0, 9); },          // NetFlow
        [](auto& octets) { put_be16(octets, 2, 43); },         // shorter
        [](auto& octets) { put_be16(octets, 2, 65'535); },     // longer
        [](auto& octets) { octets.push_back(std::byte{0}); },  // the frame is longer
        [](auto& octets) { put_be16(octets, 18, 29); },        // the set is longer
        [](auto& octets) { put_be16(octets, 18, 27); },        // a set header of one octet is left
        [](auto& octets) { put_be16(octets, 18, 3); },         // shorter than its header
        [](auto& octets) { put_be16(octets, 16, 2); },         // templates
        [](auto& octets) {                                     // a header alone
            octets.resize(16);
            put_be16(octets, 2, 16);
        }};
    for (std::size_t which = 0; which < changes.size(); ++which) {
        for (const bool is_inherited : {false, true}) {
            INFO("change " << which << (is_inherited ? ", inherited" : ""));
            const TemporaryDirectory directory;
            auto writer = std::make_unique<SmallSpool>(directory);
            writer->write();
            OutgoingMessage bad = message_of(7);
            changes[which](bad.octets);
            writer->written += tally_of(bad);
            REQUIRE(writer->spool.append(bad, false));
            OutgoingMessage last = message_of(8);
            writer->written += tally_of(last);
            REQUIRE(writer->spool.append(last, false));
            const RecordTally written = writer->written;
            if (is_inherited) {
                writer.reset();
                writer = std::make_unique<SmallSpool>(directory);
            }
            Seen seen;
            writer->take_all(seen);
            CHECK(seen.messages == std::vector<std::uint64_t>{0, 1, 2, 3, 8});
            CHECK(seen.damaged == tally_of(bad));
            CHECK(seen.all() == written);
        }
    }
}

TEST_CASE("Spool: a frame without entries has the records in its header", "[export][unit]") {
    for (const std::size_t octets : {std::size_t{0}, std::size_t{3}}) {
        const TemporaryDirectory directory;
        {
            SmallSpool first(directory);
            first.write();
            OutgoingMessage bad = message_of(0);
            bad.octets.resize(octets);
            bad.entries.clear();
            bad.data_records = 1;
            REQUIRE(first.spool.append(bad, false));
        }
        SmallSpool next(directory);
        std::uint64_t inherited = 0;
        next.spool.visit_untaken(
            [&](const Spool::Account& account) { inherited += account.tally.records; });
        CHECK(inherited == kMessages * kRecords + 1);
        Seen seen;
        next.take_all(seen);
        CHECK(seen.messages.size() == kMessages);
        CHECK(seen.damaged.records == 1);
    }
}

TEST_CASE("Spool: an estimate from headers with any content is a number", "[export][unit]") {
    const TemporaryDirectory directory;
    {
        SmallSpool first(directory);
        OutgoingMessage message = message_of(0);
        message.entries[0].octets = ~std::uint64_t{1} - 5000;
        REQUIRE(first.spool.append(message, false));
    }
    std::ofstream(file_in(directory), std::ios::app) << std::string(1000, 'x');
    const std::vector<Spool::Account> damaged = SmallSpool(directory).spool.take_damaged();
    REQUIRE(damaged.size() == 1);
    CHECK(damaged[0].is_estimate);
    CHECK(damaged[0].tally.records > 0);
}

TEST_CASE("Spool: an inherited message that ends beyond all time is damaged", "[export][unit]") {
    const TemporaryDirectory directory;
    {
        SmallSpool first(directory);
        OutgoingMessage bad = message_of(0);
        bad.latest_end = Timestamp{std::chrono::nanoseconds{INT64_MAX}};
        REQUIRE(first.spool.append(bad, false));
    }
    SmallSpool next(directory);
    Seen seen;
    next.take_all(seen);
    CHECK(seen.messages.empty());
    CHECK(seen.damaged == tally_of(message_of(0)));
}

TEST_CASE("Spool: file numbers that no tributaryd gives are taken, and given others",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string octets = whole_file();
    const std::vector<std::string> names{
        "00000000000000000000.spool",   "7.spool",
        "00000000000000000007.spool",   "007.spool",
        "18446744073709551614.spool",   "18446744073709551615.spool",
        "99999999999999999999999.spool"};
    for (const std::string& name : names) {
        write_file(directory / name, octets);
    }
    for (int process = 0; process < 2; ++process) {
        SmallSpool next(directory);
        OutgoingMessage message = message_of(5);  // into a file of its own
        REQUIRE(next.spool.append(message, false));
        std::uint64_t found = 0;
        next.spool.visit_untaken(
            [&](const Spool::Account& account) { found += account.tally.records; });
        const std::uint64_t own = static_cast<std::uint64_t>(process) + 1;
        CHECK(found == names.size() * kMessages * kRecords + own * kRecords);
    }
    SmallSpool last(directory);
    Seen seen;
    last.take_all(seen);
    CHECK(seen.messages.size() == names.size() * kMessages + 2);
    CHECK(directory.names() == std::vector<std::string>{"lock"});
}

TEST_CASE("Spool: a spool's file name on anything else ends the start", "[export][unit]") {
    const TemporaryDirectory directory;
    fs::create_directory(directory / spool_file_name(3));
    CHECK_THROWS_AS(SmallSpool(directory), ExportError);
}

TEST_CASE("Spool: files of the format before are read", "[export][unit]") {
    std::string octets = whole_file();
    octets[7] = '2';
    octets[kHeader + 4] = '\x01';  // the first message is done
    const Inherited next(octets);
    CHECK(next.seen.messages == std::vector<std::uint64_t>{1, 2, 3});
    CHECK(next.seen.damaged == RecordTally{});
}

TEST_CASE("Spool: the hole of a file that was made long is passed at once", "[export][unit]") {
    const TemporaryDirectory directory;
    write_file(file_in(directory), whole_file());
    fs::resize_file(file_in(directory), std::uintmax_t{1} << 40U);
    SmallSpool next(directory);
    Seen seen;
    next.take_all(seen);
    CHECK(seen.messages.size() == kMessages);
}
