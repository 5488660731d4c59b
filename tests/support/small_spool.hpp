// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "export/spool/spool.hpp"
#include "export/spool/spool_file.hpp"
#include "tests/support/temporary_directory.hpp"

// A spool of four small messages with a damaged file, for the tests of Spool.
namespace tributary::test {

inline constexpr std::uint64_t kFingerprint = 0x1122'3344'5566'7788;
inline constexpr std::uint64_t kMessages = 4;
inline constexpr std::uint64_t kRecords = 2;  ///< of each message
inline constexpr std::size_t kHeader = 16;    ///< of the file
inline constexpr std::size_t kMessageOctets = 44;
inline constexpr std::size_t kFrame = 80 + kRecords * sizeof(RecordEntry) + kMessageOctets;

inline void put_be16(std::vector<std::byte>& octets, std::size_t at, std::size_t value) {
    octets[at] = static_cast<std::byte>(value >> 8U);
    octets[at + 1] = static_cast<std::byte>(value);
}

/// An IPFIX message with two records of queues 0 and 1, identified by `number`.
inline OutgoingMessage message_of(std::uint64_t number) {
    OutgoingMessage message;
    message.octets.assign(kMessageOctets, static_cast<std::byte>(number + 1));
    put_be16(message.octets, 0, 10);
    put_be16(message.octets, 2, kMessageOctets);
    put_be16(message.octets, 16, 256);
    put_be16(message.octets, 18, kMessageOctets - 16);
    for (std::uint64_t i = 0; i < kRecords; ++i) {
        message.entries.push_back({.number = number * kRecords + i,
                                   .queue = i,
                                   .packets = 10 + number,
                                   .octets = 1000 * (number + 1)});
    }
    message.data_records = kRecords;
    message.latest_end = Timestamp{std::chrono::seconds{1'600'000'000}};
    return message;
}

inline RecordTally tally_of(const OutgoingMessage& message) {
    RecordTally sum;
    for (const RecordEntry& entry : message.entries) {
        sum += entry.tally();
    }
    return sum;
}

/// The content of a spool for one process, with all messages taken to be sent.
struct Seen {
    std::vector<std::uint64_t> messages;  ///< in the order of arrival
    RecordTally sent;
    RecordTally damaged;
    std::vector<RecordTally> damaged_of_queues = std::vector<RecordTally>(kRecords);
    std::uint64_t estimated{};

    [[nodiscard]] RecordTally all() const {
        RecordTally sum = sent;
        sum += damaged;
        return sum;
    }
    void add_damaged(const Spool::Account& account) {
        damaged += account.tally;
        estimated += account.is_estimate ? account.tally.records : 0;
        for (const RecordEntry& entry : account.entries) {
            damaged_of_queues.at(entry.queue) += entry.tally();
        }
        for (std::size_t queue = 0; queue < account.unread.queues.size(); ++queue) {
            damaged_of_queues.at(queue) += account.unread.queues[queue];
        }
    }
};

struct SmallSpool {
    explicit SmallSpool(const TemporaryDirectory& directory)
        : spool({.directory = directory.path(), .max_octets = 1U << 23U},
                {.fingerprint = kFingerprint}) {
        spool.adopt();
    }
    void write() {
        for (std::uint64_t number = 0; number < kMessages; ++number) {
            OutgoingMessage message = message_of(number);
            written += tally_of(message);
            REQUIRE(spool.append(message, false));
        }
    }
    void take_all(Seen& seen) {
        while (std::optional<OutgoingMessage> message = spool.take()) {
            const auto number = std::to_integer<std::uint64_t>(message->octets.back()) - 1;
            CHECK(message->octets == message_of(number).octets);
            CHECK(message->data_records == kRecords);
            seen.messages.push_back(number);
            seen.sent += tally_of(*message);
            seen.sent += message->inherited;
            spool.done(*message->place);  // then its file may be removed
        }
        for (const Spool::Account& account : spool.take_damaged()) {
            seen.add_damaged(account);
        }
    }

    Spool spool;
    RecordTally written;
};

inline std::filesystem::path file_in(const TemporaryDirectory& directory) {
    return directory.path() + "/" + spool_file_name(1);
}

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::filesystem::path& path, const std::string& octets) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << octets;
}

/// Damages a file: the octet is another one then, whatever it was.
inline void change_octet(const std::filesystem::path& path, std::size_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const auto changed = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(changed);
}

/// A file of kMessages messages from a former process.
inline std::string whole_file() {
    const TemporaryDirectory directory;
    SmallSpool(directory).write();
    return read_file(file_in(directory));
}

/// The messages that a process inherits from a file with these octets, and then sends.
struct Inherited {
    explicit Inherited(const std::string& octets) {
        write_file(file_in(directory), octets);
        SmallSpool next(directory);
        for (const Spool::Account& account : next.spool.take_damaged()) {
            inherited += account.tally;
            seen.add_damaged(account);
        }
        next.spool.visit_untaken(
            [&](const Spool::Account& account) { inherited += account.tally; });
        next.spool.drop_unusable([&](const Spool::Account& account) {
            if (account.is_damaged) {
                seen.add_damaged(account);
            } else {
                unusable += account.tally;
            }
        });
        next.take_all(seen);
        damages = next.spool.damaged();
        is_gone = !std::filesystem::exists(file_in(directory));
    }
    const TemporaryDirectory directory;
    RecordTally inherited;
    RecordTally unusable;
    Seen seen;
    std::uint64_t damages{};
    bool is_gone{};
};

}  // namespace tributary::test
