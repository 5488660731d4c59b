// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/program/not_native.hpp"

struct bpf_insn;
struct ebpf_insn;

namespace tributary {

/// Translates a program of libpcap's compiler into eBPF, for rte_bpf with a FrameArgument.
///
/// DPDK's rte_bpf_convert() does not serve here. Its memory is of EAL, which a run over captures
/// does not start, and which the filters of inputs do not wait for. And in DPDK 22.11 indexed loads
/// of octets and words get the wrong register from it, such as `tcp[13]`.
///
/// Each place to which it jumps begins with a move of 1 to register 5, a marker for
/// has_right_jumps().
///
/// @return  instructions, or why it has no translation with bpf_filter()'s verdicts
/// @thread  any; pure
/// @cost    allocates
/// @source  bpf(4) of the BSDs, libpcap's bpf_filter.c; rte_bpf.h
[[nodiscard]] tl::expected<std::vector<ebpf_insn>, NotNative> to_ebpf(
    std::span<const bpf_insn> program);

}  // namespace tributary
