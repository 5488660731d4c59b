// SPDX-License-Identifier: Apache-2.0
#include "daemon/program/native_program.hpp"

#include <pcap/bpf.h>
#include <rte_bpf.h>
#include <rte_log.h>
#include <rte_mbuf_core.h>

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "daemon/machine/dpdk_start.hpp"
#include "daemon/program/code_check.hpp"
#include "daemon/program/ebpf_translation.hpp"
#include "daemon/program/executable_memory.hpp"
#include "daemon/program/self_check.hpp"
#include "daemon/program/verifier_steps.hpp"

namespace tributary {
namespace {

/// Three lists of 17 addresses or ports, joined by `and`, have 157,610; 20 branches in a row whose
/// ways meet again have 6,291,453, which take 12 ms.
constexpr std::uint64_t kMostVerifierSteps = 10'000'000;

/// @return  nullptr: the verifier refuses it
rte_bpf* load(const std::vector<ebpf_insn>& instructions) {
    rte_bpf_prm parameters{};
    parameters.ins = instructions.data();
    parameters.nb_ins = static_cast<std::uint32_t>(instructions.size());
    parameters.prog_arg.type = RTE_BPF_ARG_PTR_MBUF;
    parameters.prog_arg.size = sizeof(rte_mbuf);
    const std::lock_guard lock(dpdk_start_mutex());
    // A refusal has a reason of ours. DPDK would log it as an error of the probe.
    rte_log_set_level_pattern("lib.bpf", RTE_LOG_EMERG);
    return rte_bpf_load(&parameters);
}

}  // namespace

void NativeProgram::Destroyer::operator()(rte_bpf* program) const noexcept {
    rte_bpf_destroy(program);
}

tl::expected<NativeProgram, NotNative> NativeProgram::of(std::span<const bpf_insn> program) {
    if (!may_make_memory_executable()) {
        return tl::unexpected(NotNative::no_executable_memory);
    }
    const tl::expected<std::vector<ebpf_insn>, NotNative> translated = to_ebpf(program);
    if (!translated) {
        return tl::unexpected(translated.error());
    }
    if (verifier_steps(*translated) > kMostVerifierSteps) {
        return tl::unexpected(NotNative::too_many_paths);
    }
    NativeProgram native;
    native.program_.reset(load(*translated));
    if (native.program_ == nullptr) {
        return tl::unexpected(NotNative::refused);
    }
    rte_bpf_jit code{};
    if (rte_bpf_get_jit(native.program_.get(), &code) != 0 || code.func == nullptr) {
        return tl::unexpected(NotNative::no_compiler);
    }
    native.run_ = code.func;
    if (!has_right_jumps(
            std::as_bytes(std::span(reinterpret_cast<const unsigned char*>(code.func), code.sz)))) {
        return tl::unexpected(NotNative::wrong_jumps);
    }
    if (!agrees_with_libpcap(program, native)) {
        return tl::unexpected(NotNative::differs);
    }
    return native;
}

}  // namespace tributary
