// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tl/expected.hpp>

#include "daemon/program/not_native.hpp"

struct bpf_insn;
struct rte_bpf;

namespace tributary {

/// A program of libpcap's compiler as machine code, made and verified by DPDK's rte_bpf. It gives
/// the verdict of libpcap's bpf_filter() for any octets: a program that cannot be shown to do so
/// has no machine code.
///
/// Executable memory stays until the program is destroyed. It may serve several threads.
class NativeProgram {
public:
    /// @param program  as libpcap has compiled it
    /// @return         or the reason why it is to be interpreted
    /// @thread         any; it waits while DPDK starts
    /// @cost           allocates; less than 1 ms for most programs
    [[nodiscard]] static tl::expected<NativeProgram, NotNative> of(
        std::span<const bpf_insn> program);

    /// @param argument  of FrameArgument::of()
    /// @return          whether the frame matches
    [[nodiscard]] bool matches(void* argument) const noexcept {
        return static_cast<std::uint32_t>(run_(argument)) != 0;
    }

private:
    struct Destroyer {
        void operator()(rte_bpf* program) const noexcept;
    };

    NativeProgram() = default;

    std::unique_ptr<rte_bpf, Destroyer> program_;
    std::uint64_t (*run_)(void*) = nullptr;  ///< in the memory of program_
};

}  // namespace tributary
