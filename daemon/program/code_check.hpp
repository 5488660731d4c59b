// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace tributary {

/// Whether the jumps in machine code of rte_bpf for x86-64 go where to_ebpf() wants them.
///
/// DPDK 22.11 lays code out anew until two layouts have the same size, and takes the second for
/// final. If one jump became longer by what others became shorter, its jumps go into the middle of
/// other instructions. Most programs are not concerned, but no other sign tells which are.
///
/// Each place to which the program jumps has a marker, to_ebpf() says how it looks. Code without
/// fault jumps to each marker, and apart from DPDK's own jumps to nothing else: markers and targets
/// are in the same order, so equal sets mean that each jump has its own target.
///
/// @return  false also for instructions that DPDK 22.11 does not use
/// @thread  any; pure
/// @cost    allocates
/// @source  Intel SDM volume 2, chapter 2; DPDK's lib/bpf/bpf_jit_x86.c
[[nodiscard]] bool has_right_jumps(std::span<const std::byte> code);

}  // namespace tributary
