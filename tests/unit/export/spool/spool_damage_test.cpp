// SPDX-License-Identifier: Apache-2.0
#include "tests/support/small_spool.hpp"

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/allocation_counter.hpp"

using namespace tributary;
using namespace tributary::test;
namespace fs = std::filesystem;

namespace {

/// Which message an octet of the file belongs to; kMessages: the file's own header.
std::uint64_t message_at(std::size_t octet) {
    return octet < kHeader ? kMessages : (octet - kHeader) / kFrame;
}

std::vector<std::uint64_t> all_but(std::uint64_t message) {
    std::vector<std::uint64_t> messages;
    for (std::uint64_t number = 0; number < kMessages; ++number) {
        if (number != message) {
            messages.push_back(number);
        }
    }
    return messages;
}

}  // namespace

TEST_CASE("Spool: a changed octet of this process's file costs its message alone, exactly",
          "[export][unit]") {
    const std::size_t size = whole_file().size();
    REQUIRE(size == kHeader + kMessages * kFrame);
    for (std::size_t at = 0; at < size; ++at) {
        const TemporaryDirectory directory;
        SmallSpool own(directory);
        own.write();
        change_octet(file_in(directory), at);
        Seen seen;
        own.take_all(seen);
        INFO("octet " << at);
        const bool is_harmless =  // the file's header is not read, the mark not used
            at < kHeader || ((at - kHeader) % kFrame >= 4 && (at - kHeader) % kFrame < 8);
        CHECK(seen.messages == all_but(is_harmless ? kMessages : message_at(at)));
        CHECK(seen.all() == own.written);
        CHECK(seen.estimated == 0);
        if (!is_harmless) {
            const OutgoingMessage lost = message_of(message_at(at));
            CHECK(seen.damaged_of_queues ==
                  std::vector{lost.entries[0].tally(), lost.entries[1].tally()});
            CHECK(own.spool.damaged() > 0);
        }
        CHECK_FALSE(own.spool.has_untaken());
        CHECK_FALSE(fs::exists(file_in(directory)));
    }
}

TEST_CASE("Spool: wherever this process's file is cut, the missing records are known exactly",
          "[export][unit]") {
    const std::size_t size = whole_file().size();
    for (std::size_t length = 0; length < size; ++length) {
        const TemporaryDirectory directory;
        SmallSpool own(directory);
        own.write();
        fs::resize_file(file_in(directory), length);
        OutgoingMessage later = message_of(9);  // behind the place where the end was
        own.written += tally_of(later);
        REQUIRE(own.spool.append(later, false));
        Seen seen;
        own.take_all(seen);
        INFO("length " << length);
        const std::uint64_t whole = length < kHeader ? 0 : (length - kHeader) / kFrame;
        REQUIRE(seen.messages.size() == whole + 1);
        CHECK(seen.messages.back() == 9);
        CHECK(seen.all() == own.written);
        CHECK(seen.damaged.records == (kMessages - whole) * kRecords);
        CHECK_FALSE(fs::exists(file_in(directory)));
    }
}

TEST_CASE("Spool: a changed octet of an inherited file costs its message alone, by name",
          "[export][unit]") {
    const std::string whole = whole_file();
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string octets = whole;
        octets[at] = static_cast<char>(octets[at] ^ 0x10);
        const Inherited next(octets);
        INFO("octet " << at);
        const std::size_t in_frame = at < kHeader ? 0 : (at - kHeader) % kFrame;
        const bool is_entry = in_frame >= 80 && in_frame < 80 + kRecords * sizeof(RecordEntry);
        const bool is_mark = in_frame >= 4 && in_frame < 8;
        const bool is_harmless = at < kHeader || is_entry || is_mark;
        CHECK(next.seen.messages == all_but(is_harmless ? kMessages : message_at(at)));
        CHECK(next.inherited == next.seen.all());
        CHECK(next.inherited.records == kMessages * kRecords);
        CHECK(next.seen.estimated == (is_harmless || in_frame >= 80 ? 0 : kRecords));
        CHECK(next.unusable == RecordTally{});
        CHECK(next.is_gone);
    }
}

TEST_CASE("Spool: wherever an inherited file is cut, its whole messages come", "[export][unit]") {
    const std::string whole = whole_file();
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const Inherited next(whole.substr(0, length));
        INFO("length " << length);
        const std::uint64_t complete = length < kHeader ? 0 : (length - kHeader) / kFrame;
        const std::size_t rest = length < kHeader ? 0 : (length - kHeader) % kFrame;
        CHECK(next.seen.messages.size() == complete);
        CHECK(next.inherited == next.seen.all());
        if (rest >= 80) {  // its header is there
            CHECK(next.seen.damaged.records == kRecords);
            CHECK(next.seen.estimated == 0);
        }
        CHECK((rest == 0) == (next.seen.damaged.records == 0));
        CHECK(next.is_gone);
    }
}

TEST_CASE("Spool: damage that was reported is not reported again by the next process",
          "[export][unit]") {
    const TemporaryDirectory directory;
    std::string octets = whole_file();
    octets[kHeader + kFrame + 70] ^= 1;                                // a header
    octets[kHeader + 2 * kFrame + kFrame - 1] ^= 1;                    // a message
    write_file(file_in(directory), octets + std::string(1000, '\0'));  // as after a power cut
    {
        SmallSpool second(directory);
        CHECK(second.spool.take_damaged().size() == 1);
        std::optional<OutgoingMessage> first = second.spool.take();
        REQUIRE(first);
        std::optional<OutgoingMessage> last = second.spool.take();  // and does not arrive
        REQUIRE(last);
        CHECK(last->octets == message_of(3).octets);
        second.spool.done(*first->place);
        CHECK(second.spool.take_damaged().size() == 1);
    }
    SmallSpool third(directory);
    CHECK(third.spool.take_damaged().empty());
    CHECK(third.spool.damaged() == 0);
    Seen seen;
    third.take_all(seen);
    CHECK(seen.messages == std::vector<std::uint64_t>{3});
    CHECK(seen.damaged == RecordTally{});
}

TEST_CASE("Spool: a place of damage is counted once, however often it is read", "[export][unit]") {
    const TemporaryDirectory directory;
    SmallSpool own(directory);
    own.write();
    for (const std::size_t frame : {1U, 3U}) {  // one in the middle, and the last of the file
        change_octet(file_in(directory), kHeader + frame * kFrame + 70);
    }
    for (int looks = 0; looks < 3; ++looks) {
        own.spool.visit_untaken([](const Spool::Account&) {});
        CHECK(own.spool.damaged() == 2);
    }
    Seen seen;
    own.take_all(seen);
    CHECK(own.spool.damaged() == 2);
    CHECK(seen.messages == std::vector<std::uint64_t>{0, 2});
}

TEST_CASE("Spool: frames without memory to read them are still in the account", "[export][unit]") {
    const std::size_t before = refused_allocations();
    for (std::int64_t calls = 0; calls < 12; ++calls) {
        for (const bool keeps_numbers : {false, true}) {
            const TemporaryDirectory directory;
            SmallSpool own(directory);
            own.spool.keep_numbers(keeps_numbers);
            own.write();
            change_octet(file_in(directory), kHeader + kFrame + 70);  // of the second frame
            RecordTally found;
            RecordTally damaged;
            RecordTally unread;
            const Spool::AccountHandler add = [&](const Spool::Account& account) {
                (account.is_damaged ? damaged : found) += account.tally;
                for (const RecordTally& queue : account.unread.queues) {
                    unread += queue;
                }
            };
            std::int64_t left = calls;
            {
                const NoLargeMemory none(0, left);
                own.spool.visit_untaken(add);
            }
            INFO(calls << " calls succeed");
            RecordTally all = found;
            all += damaged;
            CHECK(all == own.written);
            // The memory is enough to find the damage, or all frames that were not read are kept.
            const bool is_looked_at = damaged == tally_of(message_of(1));
            CHECK((is_looked_at || damaged == RecordTally{}));
            CHECK((is_looked_at || calls < 11));
            CHECK(unread.records >= kRecords);
        }
    }
    CHECK(refused_allocations() > before);
}

TEST_CASE("Spool: until it is adopted, no file of a former process changes", "[export][unit]") {
    const std::string whole = whole_file();
    std::string damaged = whole;
    damaged[kHeader + kFrame + 70] ^= 1;  // a header
    const std::vector<std::string> found{
        damaged,                                    // a gap
        damaged + std::string(1000, '\0'),          // and an end without frames
        whole.substr(0, kHeader + kFrame + 100),    // a cut frame
        whole.substr(0, kHeader) + "nothing else",  // and none
        whole.substr(0, kHeader)};
    for (const std::string& octets : found) {
        CAPTURE(octets.size());
        const TemporaryDirectory directory;
        write_file(file_in(directory), octets);
        RecordTally inherited;
        std::vector<RecordTally> lost;
        for (int start = 0; start < 2; ++start) {
            Spool spool({.directory = directory.path(), .max_octets = 1U << 23U},
                        {.fingerprint = kFingerprint});
            CHECK(read_file(file_in(directory)) == octets);
            inherited = spool.inherited();
            lost.clear();
            for (const Spool::Account& account : spool.take_damaged()) {
                lost.push_back(account.tally);
            }
        }
        SmallSpool third(directory);  // adopts it
        CHECK(third.spool.inherited() == inherited);
        std::vector<RecordTally> counted;
        for (const Spool::Account& account : third.spool.take_damaged()) {
            counted.push_back(account.tally);
        }
        CHECK(counted == lost);
        CHECK(lost.empty() == (octets.size() == kHeader));
        if (inherited == RecordTally{}) {
            CHECK_FALSE(fs::exists(file_in(directory)));
        } else {
            CHECK(read_file(file_in(directory)) != octets);
        }
    }
}

TEST_CASE("Spool: a file without memory to begin it is not there", "[export][unit]") {
    const std::size_t before = refused_allocations();
    bool was_appended = false;
    for (std::int64_t calls = 0; calls < 16; ++calls) {
        CAPTURE(calls);
        const TemporaryDirectory directory;
        SmallSpool own(directory);
        OutgoingMessage message = message_of(0);
        int cause = 0;
        {
            std::int64_t left = calls;
            const NoLargeMemory none(0, left);
            was_appended = own.spool.append(message, false);
            cause = errno;
        }
        CHECK((was_appended || cause == ENOMEM));
        CHECK(own.spool.has_untaken() == was_appended);
        if (!was_appended) {
            CHECK((own.spool.octets() == 0) == !fs::exists(file_in(directory)));
            REQUIRE(own.spool.append(message, false));
        }
        Seen seen;
        own.take_all(seen);
        CHECK(seen.messages == std::vector<std::uint64_t>{0});
    }
    CHECK(was_appended);
    CHECK(refused_allocations() > before);
}
