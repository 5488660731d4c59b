// SPDX-License-Identifier: Apache-2.0
#include "daemon/program/verifier_steps.hpp"

#include <rte_bpf.h>

#include <cstddef>
#include <limits>
#include <vector>

namespace tributary {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::uint64_t sum(std::uint64_t left, std::uint64_t right) noexcept {
    return left > kMost - right ? kMost : left + right;
}

bool is_jump(const ebpf_insn& instruction) noexcept {
    return BPF_CLASS(instruction.code) == BPF_JMP && BPF_OP(instruction.code) != EBPF_EXIT &&
           BPF_OP(instruction.code) != EBPF_CALL;
}

bool goes_on_behind(const ebpf_insn& instruction) noexcept {
    return BPF_CLASS(instruction.code) != BPF_JMP ||
           (BPF_OP(instruction.code) != EBPF_EXIT && BPF_OP(instruction.code) != BPF_JA);
}

}  // namespace

std::uint64_t verifier_steps(std::span<const ebpf_insn> program) {
    std::vector<std::uint64_t> paths(program.size() + 1);  // to each instruction, and behind them
    paths[0] = 1;
    std::uint64_t steps = 0;
    for (std::size_t at = 0; at < program.size(); ++at) {
        const ebpf_insn& instruction = program[at];
        const std::uint64_t here = paths[at];
        steps = sum(steps, here);
        if (goes_on_behind(instruction)) {
            paths[at + 1] = sum(paths[at + 1], here);
        }
        if (is_jump(instruction)) {
            std::uint64_t& target = paths.at(at + 1 + static_cast<std::size_t>(instruction.off));
            target = sum(target, here);
        }
    }
    return steps;
}

}  // namespace tributary
