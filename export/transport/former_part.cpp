// SPDX-License-Identifier: Apache-2.0
#include "export/transport/former_part.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "export/export_error.hpp"
#include "export/transport/file_octets.hpp"
#include "export/transport/open_output.hpp"

namespace tributary {
namespace {

constexpr std::uint64_t kLongestMessage = 65'535;

/// Where the whole messages of a file end.
/// @source  RFC 7011 §3.1: version, length
std::optional<std::uint64_t> end_of_messages(int file, std::uint64_t size) noexcept {
    constexpr std::uint64_t kMessageHeader = 16;
    constexpr unsigned kVersion = 10;
    std::uint64_t at = 0;
    std::array<unsigned char, 4> head{};
    while (at + kMessageHeader <= size) {
        if (!read_at(file, head, at)) {
            return std::nullopt;
        }
        const std::uint64_t length = unsigned{head[2]} << 8U | head[3];
        if ((unsigned{head[0]} << 8U | head[1]) != kVersion || length < kMessageHeader ||
            length > size - at) {
            break;
        }
        at += length;
    }
    return at;
}

/// Where the whole lines of a file end. Nothing: it cannot be read.
std::optional<std::uint64_t> end_of_lines(int file, std::uint64_t size) {
    constexpr std::uint64_t kBlock = 65'536;
    std::vector<std::byte> block(kBlock);
    for (std::uint64_t end = size; end > 0;) {
        const std::uint64_t from = end - std::min(end, kBlock);
        const std::span<std::byte> octets = std::span(block).first(end - from);
        if (!read_all_at(file, octets, from)) {
            return std::nullopt;
        }
        const std::string_view read(reinterpret_cast<const char*>(octets.data()), octets.size());
        if (const std::size_t last = read.rfind('\n'); last != std::string_view::npos) {
            return from + last + 1;
        }
        end = from;
    }
    return 0;
}

/// Where the whole messages of a file of delimited protobuf messages end. Nothing: it cannot be
/// read.
/// @source  protobuf.dev/programming-guides/encoding: varints; ours have lengths of two octets at
///          most (DelimitedFraming)
std::optional<std::uint64_t> end_of_delimited(int file, std::uint64_t size) noexcept {
    constexpr unsigned kMore = 0x80;
    constexpr unsigned kBits = 7;
    std::uint64_t at = 0;
    std::array<unsigned char, 2> head{};
    while (size - at >= head.size()) {
        if (!read_at(file, head, at)) {
            return std::nullopt;
        }
        const bool is_long = head[0] >= kMore;
        const std::uint64_t length =
            is_long ? (head[0] & ~kMore) | unsigned{head[1]} << kBits : head[0];
        const std::uint64_t octets = (is_long ? 2 : 1) + length;
        if (length == 0 || (is_long && head[1] >= kMore) || octets > size - at) {
            break;
        }
        at += octets;
    }
    return at;
}

/// Whether a file begins with a FlowMessage: behind its length is its type, IPFIX.
bool has_flow_messages(int file) noexcept {
    constexpr unsigned kMore = 0x80;
    std::array<unsigned char, 4> head{};
    if (!read_at(file, head, 0)) {
        return false;
    }
    const std::size_t at = head[0] >= kMore ? 2 : 1;
    return head.at(at) == 0x08 && head.at(at + 1) == 0x04;
}

/// Whether a file begins with text: no IPFIX does.
bool is_text(int file) noexcept {
    std::array<unsigned char, 1> first{};
    return read_at(file, first, 0) && first[0] >= ' ';
}

/// Whether a file has only zeros from here on, as after a power cut.
bool is_zero_from(int file, std::uint64_t at) {
    std::vector<std::byte> octets(kLongestMessage);
    for (;;) {
        const ssize_t got = ::pread(file, octets.data(), octets.size(), static_cast<off_t>(at));
        if (got <= 0) {
            return got == 0;
        }
        if (std::any_of(octets.begin(), octets.begin() + got,
                        [](std::byte each) { return each != std::byte{0}; })) {
            return false;
        }
        at += static_cast<std::uint64_t>(got);
    }
}

/// What a file of a former run has: its collector may have had another format.
enum class FileContent : std::uint8_t { ipfix, lines, flow_messages };

FileContent content_of(int file) noexcept {
    if (has_flow_messages(file)) {
        return FileContent::flow_messages;
    }
    return is_text(file) ? FileContent::lines : FileContent::ipfix;
}

/// Where what is whole ends. Nothing: it cannot be read, and errno is why.
std::optional<std::uint64_t> end_of_records(int file, std::uint64_t size, FileContent content) {
    switch (content) {
        case FileContent::flow_messages:
            return end_of_delimited(file, size);
        case FileContent::lines:
            return end_of_lines(file, size);
        case FileContent::ipfix:
            break;
    }
    return end_of_messages(file, size);
}

/// @param file  is locked
FormerPart mend_locked(const std::string& name, int file) {
    struct stat status {};
    if (::fstat(file, &status) != 0) {
        return {.is_whole = false, .note = {}, .failure = name + ": " + words_for(errno)};
    }
    if (!S_ISREG(status.st_mode)) {
        return {.is_whole = false, .note = {}, .failure = name + " is not a regular file"};
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    const FileContent content = content_of(file);
    const std::optional<std::uint64_t> found = end_of_records(file, size, content);
    if (!found) {
        return {.is_whole = false, .note = {}, .failure = name + ": " + words_for(errno)};
    }
    const std::uint64_t end = *found;
    const bool has_lines = content == FileContent::lines;
    const std::string unit = has_lines ? "line" : "message";
    const std::string rest = std::to_string(size - end) + " octets";
    const bool is_torn = size - end <= kLongestMessage || is_zero_from(file, end);
    if (end == 0 && is_torn) {
        if (::unlink(name.c_str()) != 0) {
            return {.is_whole = false, .note = {}, .failure = name + ": " + words_for(errno)};
        }
        return {.is_whole = false,
                .note = name + " had no whole " + unit + ", and is removed with its " + rest,
                .failure = {}};
    }
    if (end == 0) {
        return {.is_whole = false,
                .note = {},
                .failure = name + " is no file of " + (has_lines ? "lines" : "IPFIX")};
    }
    if (end == size) {
        return {.is_whole = true, .note = name + " is finished now", .failure = {}};
    }
    if (!is_torn) {
        return {.is_whole = true,
                .note = name + " is finished now; its last " + rest + " are no " + unit + "s",
                .failure = {}};
    }
    if (::ftruncate(file, static_cast<off_t>(end)) != 0) {
        return {.is_whole = false, .note = {}, .failure = name + ": " + words_for(errno)};
    }
    return {.is_whole = true,
            .note = name + " is finished now, without the last " + rest + ", of a " + unit +
                    " that was not written to its end",
            .failure = {}};
}

}  // namespace

bool claim_new_part(int file, const std::string& name) noexcept {
    return lock_file(file) && is_file_at(name, file);
}

void refuse_other_writer(const std::string& path, const std::vector<std::string>& parts,
                         const std::string& own) {
    for (const std::string& part : parts) {
        if (!own.empty() && part >= own) {
            return;
        }
        const FileDescriptor file(::open(part.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (file && is_locked_elsewhere(file.get())) {
            std::string fault = "export.collectors[].path ";
            fault.append(path).append(": another process writes files of this rotation");
            throw ExportError(fault.append(locking_process(file.get())).append(", now ") + part);
        }
    }
}

FormerPart mend_former_part(const std::string& name) {
    FileDescriptor file = open_patiently(name.c_str(), O_RDWR | O_NONBLOCK);
    if (!file && errno == ENOENT) {
        return {};  // its own process has finished it meanwhile
    }
    if (!file) {
        return {.is_whole = false, .note = {}, .failure = name + ": " + words_for(errno)};
    }
    if (!lock_file(file.get())) {
        return {.is_whole = false, .note = name + " is written by another process", .failure = {}};
    }
    if (!is_file_at(name, file.get())) {
        return {};  // the same, after it was opened
    }
    FormerPart part = mend_locked(name, file.get());
    if (part.is_whole) {
        part.lock = std::move(file);
    }
    return part;
}

}  // namespace tributary
