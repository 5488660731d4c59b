// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "export/file_descriptor.hpp"
#include "tests/support/file_export.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace tributary;
using namespace tributary::test;
namespace fs = std::filesystem;

namespace {

FileRotation each_minute() {
    FileRotation rotation;
    rotation.interval = std::chrono::seconds{60};
    return rotation;
}

/// Lets the processes of this thread have CAP_NET_RAW. @return  whether this one may
bool raise_ambient_capability() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, 2> data{};
    if (::syscall(SYS_capget, &header, data.data()) != 0) {
        return false;
    }
    data[0].inheritable |= 1U << CAP_NET_RAW;
    return ::syscall(SYS_capset, &header, data.data()) == 0 &&
           ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0) == 0;
}

}  // namespace

TEST_CASE("File rotation: by time, each file whole and readable alone", "[export][unit]") {
    const TemporaryDirectory directory;
    RotatingExport exports(directory, each_minute());
    std::vector<std::uint64_t> expected;
    for (std::uint16_t minute = 0; minute < 5; ++minute) {
        const milliseconds start{60'000 * minute};
        exports.run(start);
        for (std::uint16_t i = 0; i < 100; ++i) {
            const auto number = static_cast<std::uint16_t>(1000 * minute + i);
            exports.queue.put(record_of(number));
            expected.push_back(number);
        }
        exports.run(start + milliseconds{1000});
        exports.run(start + milliseconds{2000});  // flush_interval
        const auto parts = std::ranges::count_if(directory.names(), [](const std::string& name) {
            return name.ends_with(".ipfix.part");
        });
        CHECK(parts >= 1);  // the one that is being written; another is being finished, perhaps
    }
    exports.finish(milliseconds{299'000});
    std::vector<std::uint64_t> ports;
    const std::vector<std::string> names = directory.names();
    CHECK(names.size() == 5);
    for (const std::string& name : names) {
        CHECK(std::regex_match(name, std::regex(R"(flows-\d{8}T\d{6}Z(_\d+)?\.ipfix)")));
        const std::vector<std::uint64_t> found = ports_in(directory / name);
        CHECK(found.size() == 100);
        ports.insert(ports.end(), found.begin(), found.end());
    }
    std::ranges::sort(ports);  // names of one second need not sort by time
    CHECK(ports == expected);
    CHECK(exports.counters.queues[0].exported.read().records == 500);
    CHECK(exports.counters.collectors[0].errors.read() == 0);
}

TEST_CASE("File rotation: a name is not given twice, also when its file is moved away",
          "[export][unit]") {
    constexpr std::size_t kRecords = 100'000;  // 5 MB, in far less than 5 s
    const TemporaryDirectory directory;
    fs::create_directory(directory / "archive");
    FileRotation rotation;
    rotation.octets = 1U << 20U;
    rotation.command = "mv --target-directory=" + (directory / "archive").string();
    RotatingExport exports(directory, rotation);
    exports.queue.put_many(kRecords);
    exports.finish(milliseconds{0});
    std::size_t records = 0;
    for (const auto& entry : fs::directory_iterator(directory / "archive")) {
        records += ports_in(entry.path()).size();
    }
    CHECK(records == kRecords);
    CHECK(exports.counters.collectors[0].errors.read() == 0);
}

TEST_CASE("File rotation: by size, nothing missing and nothing twice", "[export][unit]") {
    constexpr std::uint64_t kOctets = 1U << 20U;
    const TemporaryDirectory directory;
    FileRotation rotation;
    rotation.octets = kOctets;
    RotatingExport exports(directory, rotation);
    constexpr std::size_t kRecords = 60'000;  // 3 MB
    exports.queue.put_many(kRecords);
    exports.finish(milliseconds{0});
    const std::vector<std::string> names = directory.names();
    CHECK(names.size() >= 4);
    std::size_t records = 0;
    for (const std::string& name : names) {
        CHECK(fs::file_size(directory / name) <= kOctets);
        records += ports_in(directory / name).size();
    }
    CHECK(records == kRecords);
    CHECK(exports.counters.queues[0].exported.read().records == kRecords);
}

TEST_CASE("File rotation: each finished file is synced and given to the command, in order",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const std::string list = (directory / "list").string();
    FileRotation rotation = each_minute();
    rotation.sync = true;
    rotation.command = "f() { test -f \"$1\" && echo \"$1\" >>'" + list + "'; }; f";
    RotatingExport exports(directory, rotation);
    for (int minute = 0; minute < 3; ++minute) {
        exports.run(milliseconds{60'000 * minute});
    }
    exports.finish(milliseconds{150'000});
    const std::string told = read_file(list);
    CHECK(std::ranges::count(told, '\n') == 3);
    for (const std::string& name : directory.names()) {
        CHECK(
            (name == "list" || told.find((directory / name).string() + "\n") != std::string::npos));
    }
    CHECK(exports.counters.collectors[0].errors.read() == 0);
}

TEST_CASE("File rotation: the command gets no descriptor and no capability of the probe's",
          "[export][unit]") {
    const TemporaryDirectory directory;
    FileRotation rotation = each_minute();
    const std::string report = (directory / "report").string();
    rotation.command = "f() { { ls /proc/self/fd | wc -l; grep CapAmb /proc/self/status; } >>'" +
                       report + "'; }; f";
    std::array<int, 2> inherited{-1, -1};
    REQUIRE(::pipe(inherited.data()) == 0);  // without O_CLOEXEC
    const bool has_ambient = raise_ambient_capability();
    {
        RotatingExport exports(directory, rotation);
        exports.queue.put(record_of(1));
        exports.run(milliseconds{1000});
        exports.finish(milliseconds{2000});
    }
    ::close(inherited[0]);
    ::close(inherited[1]);
    if (has_ambient) {
        REQUIRE(::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0);
    }
    // 0, 1, 2, and the directory that ls reads
    CHECK(read_file(report) == "4\nCapAmb:\t0000000000000000\n");
}

TEST_CASE("File rotation: a command that fails is logged, and costs nothing else",
          "[export][unit]") {
    const TemporaryDirectory directory;
    FileRotation rotation = each_minute();
    rotation.command = "exit 3;";
    RotatingExport exports(directory, rotation);
    exports.queue.put_many(10);
    exports.run(milliseconds{0});
    exports.run(milliseconds{61'000});
    exports.finish(milliseconds{62'000});
    CHECK(exports.counters.queues[0].exported.read().records == 10);
    CHECK(exports.counters.collectors[0].errors.read() == 2);
    const auto told = std::ranges::find(exports.events, CollectorEventKind::file_not_finished,
                                        &CollectorEvent::kind);
    REQUIRE(told != exports.events.end());
    CHECK(told->text.find(": exit status 3") != std::string::npos);
    CHECK(directory.names().size() == 2);
}

TEST_CASE("File rotation: a command that fails in another way than before is logged at once",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const TemporaryDirectory elsewhere;
    const std::string codes = (elsewhere / "codes").string();
    std::ofstream(codes) << "3\n3\n4\n0\n4\n4\nkill\n0\n";  // one for each file
    FileRotation rotation;
    rotation.interval = std::chrono::seconds{5};
    rotation.command = "code=$(head -n 1 '" + codes + "'); sed -i 1d '" + codes +
                       "'; [ \"$code\" != kill ] || kill $$; exit $code;";
    RotatingExport exports(directory, rotation);
    for (int file = 0; file < 8; ++file) {
        exports.queue.put(record_of(1));
        exports.run(milliseconds{5000 * file});
        exports.run(milliseconds{5000 * file + 2000});  // flush_interval
    }
    exports.finish(milliseconds{5000 * 7 + 3000});  // within a minute
    std::vector<std::string> told;
    for (const CollectorEvent& event : exports.events) {
        if (event.kind == CollectorEventKind::file_not_finished) {
            told.push_back(std::regex_replace(event.text, std::regex(".*\\.ipfix: "), ""));
        }
    }
    CHECK(exports.counters.collectors[0].errors.read() == 6);
    const std::vector<std::string> expected{
        "exit status 3)", "exit status 3), once more", "exit status 4)",
        "exit status 4)", "exit status 4), once more", "signal 15)"};
    CHECK(told == expected);
}

TEST_CASE("File rotation: a command that goes on holds up no name, and no descriptor",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const TemporaryDirectory elsewhere;
    const std::string gate = (elsewhere / "gate").string();
    REQUIRE(::mkfifo(gate.c_str(), 0600) == 0);
    const auto open_files = [] {
        return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
    };
    FileRotation rotation = each_minute();
    rotation.command =
        "read -r line <'" + gate + "'; echo >>'" + (elsewhere / "ran").string() + "'";
    RotatingExport exports(directory, rotation);
    exports.run(milliseconds{0});
    const auto before = open_files();
    constexpr std::size_t kFiles = 20;
    for (std::size_t minute = 1; minute <= kFiles; ++minute) {
        exports.queue.put_many(10);
        exports.run(milliseconds{60'000 * minute});
        exports.run(milliseconds{60'000 * minute + 2000});  // flush_interval
    }
    const auto named = [&directory] {
        return std::ranges::count_if(
            directory.names(), [](const std::string& name) { return name.ends_with(".ipfix"); });
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    while (named() < static_cast<std::ptrdiff_t>(kFiles) - 1 &&
           std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    CHECK(named() >= static_cast<std::ptrdiff_t>(kFiles) - 1);
    CHECK(open_files() <= before + 2);
    CHECK_FALSE(fs::exists(elsewhere / "ran"));
    const FileDescriptor opened(::open(gate.c_str(), O_RDWR));  // a reader, too, so none is missing
    const std::string lines(2 * kFiles, '\n');
    REQUIRE(::write(opened.get(), lines.data(), lines.size()) ==
            static_cast<ssize_t>(lines.size()));
    exports.finish(milliseconds{60'000 * (kFiles + 1)});
    const std::string ran = read_file(elsewhere / "ran");  // a line for each file
    CHECK(static_cast<std::size_t>(std::ranges::count(ran, '\n')) == directory.names().size());
    CHECK(exports.counters.collectors[0].errors.read() == 0);
}

TEST_CASE("File rotation: existing files are never overwritten", "[export][unit]") {
    const TemporaryDirectory directory;
    for (int run = 0; run < 3; ++run) {  // all within a second or two
        RotatingExport exports(directory, each_minute());
        exports.queue.put_many(10);
        exports.finish(milliseconds{0});
    }
    const std::vector<std::string> names = directory.names();
    CHECK(names.size() == 3);
    for (const std::string& name : names) {
        CHECK(ports_in(directory / name).size() == 10);
    }
}

TEST_CASE("File rotation: when the directory is gone, the export ends by name", "[export][unit]") {
    const TemporaryDirectory directory;
    RotatingExport exports(directory, each_minute());
    exports.run(milliseconds{0});
    fs::remove_all(directory / "");
    exports.run(milliseconds{61'000});
    exports.queue.put_many(10);
    const std::string path = (directory / "flows.ipfix").string();
    exports.run(milliseconds{62'000});
    CHECK(exports.worker->error() ==
          "file " + path + ": write failed, export ends (No such file or directory)");
    exports.finish(milliseconds{63'000});
    CHECK(exports.counters.queues[0].read_lost(ExportLoss::write_failed).records == 10);
}

TEST_CASE("file rotation: in each file, types of elements come before their templates",
          "[export][unit]") {
    const TemporaryDirectory directory;
    const RecordLayout layout = RecordLayout::of(groups_of<TunnelGroup, TcpAnalysisGroup>());
    ExportOptions options;
    options.enterprise_number = 424'242;
    RotatingExport rotating(directory, each_minute(), options, {.layout = layout});
    Record record = record_of(1);
    record.core.key.protocol = 6;
    record.group<TunnelGroup>(layout.at<TunnelGroup>()) = {.kind = TunnelKind::geneve,
                                                           .ip_version = 4};
    for (int minute = 0; minute < 3; ++minute) {
        rotating.queue.put(record);
        rotating.run(std::chrono::minutes{minute});
        rotating.run(std::chrono::minutes{minute} + std::chrono::seconds{2});
    }
    rotating.finish(std::chrono::minutes{3});
    std::size_t files = 0;
    for (const auto& entry : fs::directory_iterator(directory.path())) {
        ++files;
        std::size_t types = 0;
        std::size_t flows = 0;
        for (const DecodedMessage& message : decode_file(entry.path().string())) {
            for (const DecodedRecord& each : message.records) {
                types += each.has(303) ? 1 : 0;
                flows += each.is_option ? 0 : 1;
            }
        }
        CHECK(types == 18);
        CHECK(flows <= 1);
    }
    CHECK(files >= 3);
}
