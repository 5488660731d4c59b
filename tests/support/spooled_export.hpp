// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <vector>

#include "tests/support/collector_group_harness.hpp"
#include "tests/support/temporary_directory.hpp"

// An export with a spool for its first collector.
namespace tributary::test {

inline constexpr std::size_t kSmallBuffer = 65'536;  // some 1200 records

struct SpooledExport : GroupExport {
    explicit SpooledExport(const TemporaryDirectory& directory,
                           std::uint64_t max_octets = std::uint64_t{1} << 26U,
                           std::size_t count = 1)
        : GroupExport(ExportMode::copy, count, kSmallBuffer) {
        options.drain_timeout = milliseconds{1000};
        options.collectors[0].spool = {.directory = directory.path(), .max_octets = max_octets};
    }
    /// Records first .. end - 1, by their source ports.
    void put(std::uint16_t first, std::uint16_t end) {
        for (std::uint16_t number = first; number < end; ++number) {
            queue.put(record_of(number));
        }
    }
    [[nodiscard]] std::uint64_t spooled() const {
        return counters.queues[0].spooled.read().records;
    }
    [[nodiscard]] bool told(CollectorEventKind kind) const {
        return std::ranges::count(events, kind) > 0;
    }
};

/// An export whose collector is away until listen(), and reads what no IPFIX decoder understands.
struct SpooledText : SpooledExport {
    explicit SpooledText(const TemporaryDirectory& directory,
                         std::uint64_t max_octets = std::uint64_t{1} << 26U)
        : SpooledExport(directory, max_octets) {
        collectors[0].go_away();
    }
    void listen() {
        listener = bind_loopback(SOCK_STREAM, collectors[0].port());
        REQUIRE(::listen(listener.get(), 1) == 0);
    }
    void run_and_read(milliseconds lasting) {
        for (const milliseconds end = uptime + lasting; uptime < end; uptime += milliseconds{50}) {
            run(milliseconds{50});
            if (!connection && listener) {
                connection = accept_one(listener);
            }
            const auto octets = connection ? receive(connection) : std::nullopt;
            for (const std::byte octet : octets.value_or(std::vector<std::byte>{})) {
                text += static_cast<char>(octet);
            }
        }
    }
    void leave(std::uint16_t records) {
        start();
        put(0, records);
        run(milliseconds{100});
        finish();
        CHECK(spooled() == records);
        worker.reset();
    }

    FileDescriptor listener;
    FileDescriptor connection;
    std::string text;
};

/// An export with its collector away until the end: all records stay in the spool.
inline void leave_in_spool(const TemporaryDirectory& directory, std::uint16_t records) {
    SpooledExport exports(directory);
    exports.collectors[0].go_away();
    exports.start();
    exports.put(0, records);
    exports.run(milliseconds{100});
    exports.finish();
    CHECK(exports.spooled() == records);
}

/// Damages an octet of a file.
inline void flip_octet(const std::filesystem::path& path, std::streamoff at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int octet = file.get();
    file.seekp(at);
    file.put(static_cast<char>(octet ^ 0x55));
}

/// Files of a spool, oldest first.
inline std::vector<std::filesystem::path> spool_files_in(const TemporaryDirectory& directory) {
    std::vector<std::filesystem::path> files;
    for (const std::string& name : directory.names()) {
        if (name.ends_with(".spool")) {
            files.push_back(directory / name);
        }
    }
    return files;
}

}  // namespace tributary::test
