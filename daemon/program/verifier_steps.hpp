// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

struct ebpf_insn;

namespace tributary {

/// How many instructions DPDK's verifier evaluates at most in a program without loops. DPDK 22.11
/// follows paths one by one, and leaves only some of them early: 36 branches in a row whose ways
/// meet again take it 16 s, and each two more about 2.5 times as long.
///
/// @param program  each jump goes forward, and none beyond its end
/// @return         2^64 - 1: as many, or more
/// @thread         any; pure
/// @cost           allocates; linear
/// @source         evaluate() in DPDK's lib/bpf/bpf_validate.c
[[nodiscard]] std::uint64_t verifier_steps(std::span<const ebpf_insn> program);

}  // namespace tributary
