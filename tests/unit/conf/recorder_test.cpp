// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "conf/dump_config.hpp"
#include "tests/unit/conf/config_harness.hpp"

namespace tributary {
namespace {

const std::string kOneWithUnifiedHeaders =
    "inputs: [{device: net_null0, name: a}, {device: net_null1, name: b, parse: unified-header}]\n"
    "export: {collectors: [{host: h}]}\n";

RecorderOptions recorder(const std::string& keys) {
    return load("recorder: {" + keys + "}\n").config.recorder;
}
/// The refusal without the help behind it.
std::string recorder_judged(const std::string& keys) {
    const std::string all = refusal("recorder: {" + keys + "}\n");
    return all.substr(0, all.find(" ("));
}

}  // namespace

TEST_CASE("recorder: every key reaches its member", "[conf][unit]") {
    const RecorderOptions options = recorder(
        "memory: 4GiB, snap: 96, cutoff: 64k, filter: tcp, inputs: [a, b], all-frames: true, "
        "socket: /run/x.sock, group: wheel");
    CHECK(options.memory == std::uint64_t{4} << 30U);
    CHECK(options.snap == SnapMode::octets);
    CHECK(options.snap_octets == 96);
    CHECK(options.cutoff == 64'000);
    CHECK(options.filter == "tcp");
    CHECK(options.inputs == std::vector<std::string>{"a", "b"});
    CHECK(options.all_frames);
    CHECK(options.socket == "/run/x.sock");
    CHECK(options.group == "wheel");
    CHECK(recorder("snap: headers").snap == SnapMode::headers);
    CHECK(recorder("snap: full").snap == SnapMode::full);
    CHECK(recorder("memory: 0").memory == 0);
    CHECK(Config().recorder.memory == 0);
}

TEST_CASE("recorder: what is dumped is read back", "[conf][unit]") {
    for (const char* const keys : {"memory: 1MiB, snap: headers", "snap: 65536", "cutoff: 1"}) {
        const Config config = load("recorder: {" + std::string(keys) + "}\n").config;
        const std::string dumped = dump_config(config);
        CHECK(dump_config(load(dumped).config) == dumped);
    }
}

TEST_CASE("recorder: wrong values", "[conf][unit]") {
    CHECK(recorder_judged("memory: 1000") ==
          "probe.yaml:1: recorder.memory is 1000; must be 0 or a whole number from 1048576 to "
          "17592186044416");
    CHECK(recorder_judged("snap: 0") ==
          "probe.yaml:1: recorder.snap is 0; must be full, headers or a whole number from 1 to "
          "65536");
    CHECK(recorder_judged("snap: whole") ==
          "probe.yaml:1: recorder.snap is whole; must be full, headers or a whole number from 1 "
          "to 65536");
    CHECK(
        recorder_judged("socket: \"\"") ==
        "probe.yaml:1: recorder.socket is empty; must be auto or the path of a unix socket, of at "
        "most 107 octets");
}

TEST_CASE("recorder: it fits its inputs", "[conf][unit]") {
    CHECK(probe_refusal(kOneWithUnifiedHeaders + "recorder: {memory: 1MiB, inputs: [a, c]}\n") ==
          "probe.yaml:3: recorder.inputs has c, but there is no such input; must be names of "
          "inputs");
    CHECK(
        probe_refusal(kOneWithUnifiedHeaders + "recorder: {memory: 1MiB}\n") ==
        "probe.yaml:3: recorder.memory is given, but inputs.1.parse is unified-header; must be 0, "
        "or recorder.inputs without that input (unified headers bring no octets to keep)");
    CHECK(probe_refusal(kOneWithUnifiedHeaders + "recorder: {memory: 1MiB, inputs: [a]}\n") ==
          "accepted");
    CHECK(probe_refusal(kOneWithUnifiedHeaders + "recorder: {inputs: [c]}\n") == "accepted");
}

TEST_CASE("recorder: keys without an effect are warned of", "[conf][unit]") {
    using Texts = std::vector<std::string>;
    const auto warnings = [](const std::string& keys) {
        return load("recorder: {" + keys + "}\n").warnings;
    };
    CHECK(warnings("memory: 1MiB, cutoff: 5") == Texts{});
    CHECK(warnings("cutoff: 5") == Texts{"recorder has no effect without recorder.memory"});
    CHECK(warnings("memory: 1MiB, cutoff: 5, snap: headers") ==
          Texts{"recorder.cutoff has no effect with recorder.snap: headers"});
}

}  // namespace tributary
