// SPDX-License-Identifier: Apache-2.0
// Arbitrary octets as a file that a former process has left in a spool, and arbitrary changes of a
// file that this process writes. No octets crash the reader, only whole IPFIX messages, or whole
// records, come back, and every record that was written or found is sent or told of as lost.
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <source_location>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "export/message.hpp"
#include "export/spool/spool.hpp"
#include "export/spool/spool_file.hpp"
#include "export/spool/spool_frame.hpp"
#include "export/spool/spooled_records.hpp"
#include "export/transport/file_octets.hpp"

using namespace tributary;

namespace {

const SpoolContent kMessages{.fingerprint = 7};
constexpr std::uint64_t kStream = 3;

/// Two records of each message, by its last octet.
std::uint64_t visit_numbers(MessageView octets, const NumberRangeHandler& handler) {
    const auto first = std::to_integer<std::uint64_t>(octets.back());
    handler({.stream = kStream, .first = first, .last = first});
    handler({.stream = kStream, .first = first + 100, .last = first + 100});
    return 0;
}

const SpoolContent kNumbered{.fingerprint = 7, .visit_numbers = visit_numbers};
constexpr RecordLayout kLayout = RecordLayout::of(groups_of<TunnelGroup>(), FlowDirection::biflow);
constexpr std::size_t kMostChanges = 8;

void demand(bool holds, std::source_location where = std::source_location::current()) {
    if (!holds) {
        static_cast<void>(std::fprintf(stderr, "line %u\n", where.line()));
        std::abort();
    }
}

/// A directory in memory.
class Directory {
public:
    Directory() { demand(::mkdtemp(name_.data()) != nullptr); }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path(), ignored);
    }
    [[nodiscard]] std::string path() const { return name_.data(); }

private:
    std::array<char, 32> name_{"/dev/shm/spool_fuzz-XXXXXX"};
};

/// One for all runs.
const std::string& directory() {
    static const Directory made;
    static const std::string path = made.path();
    return path;
}

void put_be16(std::vector<std::byte>& octets, std::size_t at, std::size_t value) {
    octets[at] = static_cast<std::byte>(value >> 8U);
    octets[at + 1] = static_cast<std::byte>(value);
}

OutgoingMessage message_of(std::uint64_t number) {
    constexpr std::size_t kOctets = 44;
    OutgoingMessage message;
    message.octets.assign(kOctets, static_cast<std::byte>(number));
    put_be16(message.octets, 0, 10);
    put_be16(message.octets, 2, kOctets);
    put_be16(message.octets, 16, 256);
    put_be16(message.octets, 18, kOctets - 16);
    message.entries.push_back({.number = number, .queue = 0, .packets = number, .octets = 100});
    message.entries.push_back({.number = number + 1, .queue = 3, .packets = 1, .octets = 40});
    message.data_records = 2;
    message.latest_end = Timestamp{std::chrono::seconds{1'600'000'000}};
    return message;
}

void demand_content(const OutgoingMessage& message, const SpoolContent& content) {
    if (content.record_bytes == 0) {
        demand(is_data_message(message.octets));
        return;
    }
    demand(message.octets.size() == message.data_records * content.record_bytes);
    static_cast<void>(tally_of_all(message.octets, kLayout));  // touches what it judges
}

/// Takes all there is. @return  the records that were sent or lost
RecordTally take_all(Spool& spool, const SpoolContent& content, std::uint64_t* numbers = nullptr) {
    RecordTally sum;
    std::uint64_t known = 0;
    while (const std::optional<OutgoingMessage> message = spool.take()) {
        demand_content(*message, content);
        demand(message->latest_end >= kFirstTimestamp && message->latest_end <= kLastTimestamp);
        for (const RecordEntry& entry : message->entries) {
            sum += entry.tally();
        }
        sum += message->inherited;
        known += message->data_records;
        spool.done(*message->place);
    }
    demand(!spool.has_untaken());
    for (const Spool::Account& account : spool.take_damaged()) {
        demand(account.is_damaged || account.is_unusable);  // of another layout
        sum += account.tally;
        for (const NumberRange& range : account.ranges) {
            known += range.last - range.first + 1;
        }
    }
    if (numbers != nullptr) {
        *numbers = known;
    }
    return sum;
}

/// Makes the headers in a file's octets say the truth about themselves, so that what they say is
/// looked at.
void mend_headers(std::vector<std::byte>& octets, std::size_t record_bytes) {
    SpoolFrame frame;
    for (std::size_t at = sizeof(SpoolFileHeader); octets.size() >= sizeof frame + at;) {
        std::memcpy(&frame, octets.data() + at, sizeof frame);
        frame.magic = SpoolFrame::kMagic;
        frame.octets %= 256;
        frame.entries %= 8;
        if (record_bytes > 0) {
            frame.octets = frame.entries * static_cast<std::uint32_t>(record_bytes);
            frame.data_records = frame.entries;
        }
        const std::uint64_t ranges =
            std::min<std::uint64_t>(frame.tally.records % 4, frame.entries);
        frame.tally.records = frame.entries - ranges;
        const std::size_t payload =
            std::min<std::size_t>(frame.payload(), octets.size() - at - sizeof frame);
        const std::size_t message = std::min<std::size_t>(frame.octets, payload);
        frame.octets_checksum =
            XXH3_64bits(octets.data() + at + sizeof frame + payload - message, message);
        frame.checksum = frame.header_checksum();
        std::memcpy(octets.data() + at, &frame, sizeof frame);
        at += sizeof frame + payload;
    }
}

void write_file(const std::string& name, std::span<const std::byte> octets) {
    const FileDescriptor file(
        ::open((directory() + "/" + name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600));
    demand(write_at(file.get(), octets, 0));
}

/// @param how  8: records; 16: messages with numbers; otherwise messages
SpoolContent content_of(unsigned how) {
    if ((how & 8U) != 0) {
        return {.fingerprint = fingerprint_of(kLayout), .record_bytes = record_size(kLayout)};
    }
    return (how & 16U) != 0 ? kNumbered : kMessages;
}

/// @param how  1: the file's header is right; 2: those of its frames are; others: content_of()
void inherit(unsigned how, std::span<const std::byte> data) {
    const SpoolContent content = content_of(how);
    std::vector<std::byte> octets(data.begin(), data.end());
    const SpoolFileHeader header{.fingerprint = content.fingerprint};
    if ((how & 1U) != 0 && octets.size() >= sizeof header) {
        std::memcpy(octets.data(), &header, sizeof header);
    }
    if ((how & 2U) != 0) {
        mend_headers(octets, content.record_bytes);
    }
    write_file(spool_file_name(1), octets);
    {
        Spool spool({.directory = directory(), .max_octets = 1U << 23U}, content);
        RecordTally inherited;
        RecordTally known;
        const auto add = [&](const Spool::Account& account) {
            inherited += account.tally;
            known += account.is_damaged ? account.tally : RecordTally{};
        };
        std::ranges::for_each(spool.take_damaged(), add);
        spool.adopt();
        spool.visit_untaken(add);
        spool.drop_unusable([&known](const Spool::Account& account) { known += account.tally; });
        known += take_all(spool, content);
        demand(known == inherited);
    }
    // What a process has told of is not there for the next one.
    Spool next({.directory = directory(), .max_octets = 1U << 23U}, content);
    demand(next.take_damaged().empty());
    next.adopt();
    demand(take_all(next, content) == RecordTally{});
}

/// Changes octets of a file that is in use, and its end.
void change_own(const SpoolContent& content, std::span<const std::byte> data) {
    Spool spool({.directory = directory(), .max_octets = 1U << 23U}, content);
    spool.adopt();
    spool.keep_numbers(true);
    RecordTally written;
    std::uint64_t number = 0;
    const auto write = [&] {
        OutgoingMessage message = message_of(number);
        number += 2;
        for (const RecordEntry& entry : message.entries) {
            written += entry.tally();
        }
        demand(spool.append(message, false));
    };
    for (int i = 0; i < 4; ++i) {
        write();
    }
    const FileDescriptor file(
        ::open((directory() + "/" + spool_file_name(1)).c_str(), O_RDWR | O_CLOEXEC));
    const std::uint64_t size = spool.octets();
    for (std::size_t i = 0; i < kMostChanges && data.size() >= 3; ++i) {
        const std::uint64_t at = (std::to_integer<std::uint64_t>(data[0]) |
                                  std::to_integer<std::uint64_t>(data[1]) << 8U) %
                                 size;
        if (data[2] == std::byte{0}) {
            demand(::ftruncate(file.get(), static_cast<off_t>(at)) == 0);
        } else {
            demand(write_at(file.get(), data.subspan(2, 1), at));
        }
        data = data.subspan(3);
    }
    write();
    std::uint64_t numbers = 0;
    const RecordTally known = take_all(spool, content, &numbers);
    demand(known == written);
    demand(!content.visit_numbers || numbers == number);  // each was sent, or is lost by its name
    demand(spool.octets() == 0);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    // What is no spool's file, and too short for a record, stays.
    static_cast<void>(::unlink((directory() + "/" + spool_file_name(1)).c_str()) == 0);
    const auto octets = std::as_bytes(std::span(data + 1, size - 1));
    if ((data[0] & 4U) != 0) {
        change_own(content_of(data[0] & 16U), octets);
    } else {
        inherit(data[0], octets);
    }
    return 0;
}
