// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "daemon/program/native_program.hpp"

struct bpf_insn;

namespace tributary {

/// Compares a native program with libpcap's interpreter on frames that are made for it: octets by
/// chance, and the values that it compares with at the places where it reads them, so that its
/// branches are taken both ways. The frames depend on the program alone.
///
/// This is a safeguard against another version of DPDK whose compiler has another fault. That both
/// agree on all frames is shown by the tests and the fuzzer.
///
/// @thread  any
/// @cost    allocates; 256 frames of up to 200 octets, some 0.1 ms
[[nodiscard]] bool agrees_with_libpcap(std::span<const bpf_insn> program,
                                       const NativeProgram& native);

}  // namespace tributary
