// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_writer.hpp"

#include <sys/mman.h>
#include <sysexits.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "daemon/base/startup_error.hpp"
#include "daemon/capture/capture_reader.hpp"
#include "daemon/preparse/capture_feed.hpp"
#include "tests/unit/daemon/capture/capture_builder.hpp"

namespace tributary {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// A file in memory with a path.
class MemoryFile {
public:
    explicit MemoryFile(const std::vector<std::byte>& content = {})
        : descriptor_(::memfd_create("capture", MFD_CLOEXEC)) {
        REQUIRE(descriptor_ >= 0);
        REQUIRE(::write(descriptor_, content.data(), content.size()) ==
                static_cast<ssize_t>(content.size()));
    }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    ~MemoryFile() { ::close(descriptor_); }

    [[nodiscard]] std::string path() const {
        return "/proc/self/fd/" + std::to_string(descriptor_);
    }
    [[nodiscard]] std::vector<std::byte> content() const {
        std::vector<std::byte> bytes(static_cast<std::size_t>(::lseek(descriptor_, 0, SEEK_END)));
        REQUIRE(::pread(descriptor_, bytes.data(), bytes.size(), 0) ==
                static_cast<ssize_t>(bytes.size()));
        return bytes;
    }

private:
    int descriptor_;
};

int exit_code_of(const std::string& path) {
    try {
        const CaptureWriter writer(path);
    } catch (const StartupError& error) {
        return error.exit_code();
    }
    return 0;
}

TEST_CASE("CaptureWriter: frames come back with their times, to the nanosecond", "[daemon][unit]") {
    const MemoryFile file;
    CaptureWriter writer(file.path());
    CaptureSink sink(writer, 100);
    for (const std::size_t octets : {100U, 96U}) {
        const auto frame = sink.begin();
        REQUIRE(frame.size() == 100);
        std::ranges::fill(frame, static_cast<std::byte>(octets));
        CHECK(sink.send(octets, Timestamp{std::chrono::seconds{octets} + 987'654'321ns}) ==
              FrameOutcome::sent);
    }
    CHECK(writer.failure().empty());

    const std::vector<std::byte> bytes = file.content();
    CaptureReader reader{bytes};
    CaptureFrame frame;
    for (const std::size_t octets : {100U, 96U}) {
        REQUIRE(reader.next(frame) == CaptureItem::frame);
        CHECK(frame.captured.size() == octets);
        CHECK(frame.wire_bytes == octets);
        CHECK(frame.captured.back() == static_cast<std::byte>(octets));
        CHECK(frame.link_type == LinkType::ethernet);
        CHECK(frame.time == Timestamp{std::chrono::seconds{octets} + 987'654'321ns});
    }
    CHECK(reader.next(frame) == CaptureItem::end);
}

TEST_CASE("CaptureWriter: the last time that a capture can say is the last that there is",
          "[daemon][unit]") {
    const MemoryFile file;
    CaptureWriter writer(file.path());
    std::vector<std::byte> record(CaptureWriter::kRecordHeader + 60);
    REQUIRE(writer.write(record, kLastTimestamp));
    const std::vector<std::byte> bytes = file.content();
    CaptureReader reader{bytes};
    CaptureFrame frame;
    REQUIRE(reader.next(frame) == CaptureItem::frame);
    CHECK(frame.time == kLastTimestamp);
}

TEST_CASE("CaptureWriter: a file that can't be made or written, is refused", "[daemon][unit]") {
    CHECK(exit_code_of("/nonexistent/x.pcap") == EX_IOERR);
    CHECK(exit_code_of("/dev/full") == EX_IOERR);
    CHECK(exit_code_of(MemoryFile().path()) == 0);
}

/// The times in a feed's records.
class Times final : public FrameSink {
public:
    [[nodiscard]] std::span<std::byte> begin() noexcept override { return room_; }
    [[nodiscard]] FrameOutcome send(std::size_t octets, Timestamp /*now*/) noexcept override {
        for (std::size_t at = unified_header::frame_at::kFirstRecord; at < octets;
             at += unified_header::kRecordBytes) {
            PacketFields fields;
            PacketView packet;
            (void)read_unified_header(room_.data() + at, fields, packet);
            told.push_back(packet.seen_at);
            interfaces.push_back(packet.ingress_interface);
        }
        return FrameOutcome::sent;
    }
    [[nodiscard]] const MacAddresses& addresses() const noexcept override { return addresses_; }

    std::vector<Timestamp> told;
    std::vector<InterfaceIndex> interfaces;

private:
    std::vector<std::byte> room_ = std::vector<std::byte>(32 + 64 * 10);
    MacAddresses addresses_{};
};

TEST_CASE("CaptureFeed: captures are one stream, with the times that they say", "[daemon][unit]") {
    CaptureBytes first = pcap_header(std::endian::little);
    for (std::uint32_t second = 1; second <= 100; ++second) {
        add(first, {.seconds = second, .data = "no packet", .wire_bytes = 60});
    }
    CaptureBytes second{std::endian::little};
    add_section(second);
    add_interface(second, 1);
    add_enhanced(second, {.interface = 3, .ticks = 1'000'000, .data = "stray"});
    add_enhanced(second, {.interface = 0, .ticks = 0, .data = "no time"});
    second.u32(6);  // the start of another block
    const MemoryFile one{first.bytes()};
    const MemoryFile other{second.bytes()};
    CaptureFiles files{{one.path(), other.path()}, 1};
    Times sink;
    PreparseCounters counters;
    PreparseStream stream(0, {}, sink, counters);
    CaptureFeed feed(files, stream, InterfaceIndex{4});
    const std::atomic<bool> stop{false};
    feed.run(stop);

    REQUIRE(sink.told.size() == 101);
    for (std::size_t i = 0; i < 100; ++i) {
        CHECK(sink.told[i] == Timestamp{std::chrono::seconds{i + 1}});
    }
    CHECK(sink.told[100] == Timestamp{});  // bad, for the receiver to judge
    CHECK(sink.interfaces[100] == InterfaceIndex{4});
    CHECK(feed.unknown_interface().read() == 1);
    CHECK(files.cut_count() == 1);
    CHECK(counters.input.received.read() == 101);
    CHECK(counters.packets[static_cast<std::size_t>(FrameOutcome::sent)].read() == 101);
}

TEST_CASE("CaptureFeed: a capture that can't be read ends the stream, a stop does too",
          "[daemon][unit]") {
    CaptureBytes good = pcap_header(std::endian::little);
    add(good, {.seconds = 5, .data = "no packet"});
    const MemoryFile file{good.bytes()};
    const auto told = [&file](const std::string& path, bool is_stopped) {
        CaptureFiles files{{file.path(), path, file.path()}, 1};
        Times sink;
        PreparseCounters counters;
        PreparseStream stream(0, {}, sink, counters);
        CaptureFeed feed(files, stream, {});
        feed.run(std::atomic<bool>{is_stopped});
        CHECK(files.failure().has_value() == (path == "/nonexistent" && !is_stopped));
        return sink.told.size();
    };
    CHECK(told(file.path(), false) == 3);
    CHECK(told("/nonexistent", false) == 1);
    CHECK(told(file.path(), true) == 0);
}

}  // namespace
}  // namespace tributary
