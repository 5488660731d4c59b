// SPDX-License-Identifier: Apache-2.0
#include "daemon/program/verifier_steps.hpp"

#include <rte_bpf.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <vector>

namespace tributary {
namespace {

ebpf_insn instruction(int code, int offset = 0) {
    ebpf_insn made{};
    made.code = static_cast<std::uint8_t>(code);
    made.off = static_cast<std::int16_t>(offset);
    return made;
}

const ebpf_insn kMove = instruction(int{BPF_ALU} | int{EBPF_MOV});
const ebpf_insn kExit = instruction(int{BPF_JMP} | int{EBPF_EXIT});

ebpf_insn go(int distance) { return instruction(int{BPF_JMP} | int{BPF_JA}, distance); }
ebpf_insn branch(int distance) { return instruction(int{BPF_JMP} | int{BPF_JEQ}, distance); }

/// Each doubles the paths: the jump, one instruction beside it, both to the next.
std::vector<ebpf_insn> diamonds(int count) {
    std::vector<ebpf_insn> program;
    for (int made = 0; made < count; ++made) {
        program.push_back(branch(1));
        program.push_back(kMove);
    }
    program.push_back(kExit);
    return program;
}

}  // namespace

TEST_CASE("verifier_steps: each instruction counts once for each path to it",
          "[daemon][program][unit]") {
    CHECK(verifier_steps({}) == 0);
    CHECK(verifier_steps(std::vector{kExit}) == 1);
    CHECK(verifier_steps(std::vector{kMove, kMove, kExit}) == 3);
    CHECK(verifier_steps(std::vector{go(1), kMove, kExit}) == 2);  // one has no path
    CHECK(verifier_steps(std::vector{branch(1), kMove, kExit}) == 4);
    CHECK(verifier_steps(std::vector{branch(1), kExit, kMove, kExit}) == 4);
    CHECK(verifier_steps(diamonds(1)) == 4);
    CHECK(verifier_steps(diamonds(2)) == 3 + 2 * 3 + 1);
    CHECK(verifier_steps(diamonds(20)) == 3 * (1U << 20U) - 2);
}

TEST_CASE("verifier_steps: no sum overflows", "[daemon][program][unit]") {
    CHECK(verifier_steps(diamonds(62)) == 3 * (std::uint64_t{1} << 62U) - 2);
    for (const int count : {63, 64, 65, 100, 1000}) {
        CAPTURE(count);
        CHECK(verifier_steps(diamonds(count)) == UINT64_MAX);
    }
}

}  // namespace tributary
