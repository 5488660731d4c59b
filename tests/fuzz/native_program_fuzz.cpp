// SPDX-License-Identifier: Apache-2.0
#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "daemon/program/frame_argument.hpp"
#include "daemon/program/native_program.hpp"

// Machine code of any classic BPF program that libpcap calls valid has the interpreter's verdict.
//
// Input: the number of instructions; instructions of four octets each, which are a code (from a
// table), two jump distances and a constant; then a frame. Scratch memory is written before the
// program, because the interpreter does not clear it.

using tributary::FrameArgument;
using tributary::NativeProgram;

namespace {

constexpr std::array kCodes{
    BPF_LD | BPF_W | BPF_ABS,
    BPF_LD | BPF_H | BPF_ABS,
    BPF_LD | BPF_B | BPF_ABS,
    BPF_LD | BPF_W | BPF_IND,
    BPF_LD | BPF_H | BPF_IND,
    BPF_LD | BPF_B | BPF_IND,
    BPF_LD | BPF_W | BPF_LEN,
    BPF_LDX | BPF_W | BPF_LEN,
    BPF_LDX | BPF_MSH | BPF_B,
    BPF_LD | BPF_IMM,
    BPF_LDX | BPF_IMM,
    BPF_LD | BPF_MEM,
    BPF_LDX | BPF_MEM,
    BPF_ST,
    BPF_STX,
    BPF_ALU | BPF_ADD | BPF_K,
    BPF_ALU | BPF_ADD | BPF_X,
    BPF_ALU | BPF_SUB | BPF_K,
    BPF_ALU | BPF_SUB | BPF_X,
    BPF_ALU | BPF_MUL | BPF_K,
    BPF_ALU | BPF_MUL | BPF_X,
    BPF_ALU | BPF_DIV | BPF_K,
    BPF_ALU | BPF_DIV | BPF_X,
    BPF_ALU | BPF_MOD | BPF_K,
    BPF_ALU | BPF_MOD | BPF_X,
    BPF_ALU | BPF_AND | BPF_K,
    BPF_ALU | BPF_AND | BPF_X,
    BPF_ALU | BPF_OR | BPF_K,
    BPF_ALU | BPF_OR | BPF_X,
    BPF_ALU | BPF_XOR | BPF_K,
    BPF_ALU | BPF_XOR | BPF_X,
    BPF_ALU | BPF_LSH | BPF_K,
    BPF_ALU | BPF_LSH | BPF_X,
    BPF_ALU | BPF_RSH | BPF_K,
    BPF_ALU | BPF_RSH | BPF_X,
    BPF_ALU | BPF_NEG,
    BPF_JMP | BPF_JA,
    BPF_JMP | BPF_JEQ | BPF_K,
    BPF_JMP | BPF_JEQ | BPF_X,
    BPF_JMP | BPF_JGT | BPF_K,
    BPF_JMP | BPF_JGT | BPF_X,
    BPF_JMP | BPF_JGE | BPF_K,
    BPF_JMP | BPF_JGE | BPF_X,
    BPF_JMP | BPF_JSET | BPF_K,
    BPF_JMP | BPF_JSET | BPF_X,
    BPF_RET | BPF_K,
    BPF_RET | BPF_A,
    BPF_MISC | BPF_TAX,
    BPF_MISC | BPF_TXA,
};

/// Small numbers, and some near the ends of 8, 16 and 32 bits.
std::uint32_t constant_of(std::uint8_t octet) {
    constexpr std::array<std::uint32_t, 16> kLarge{
        0x7F,   0x80, 0xFF,        0x100,       0x7FFF, 0xFFFF, 0x1'0000, 0x800,
        0x86DD, 14,   0x7FFF'FFFF, 0x8000'0000, ~0U,    ~1U,    ~3U,      0xFFFF'F02C};
    return octet < 0xF0 ? octet : kLarge.at(octet & 0xFU);
}

std::vector<bpf_insn> program_of(std::span<const std::uint8_t> octets) {
    std::vector<bpf_insn> program;
    for (std::uint32_t word = 0; word < BPF_MEMWORDS; ++word) {
        program.push_back({.code = BPF_ST, .jt = 0, .jf = 0, .k = word});
    }
    for (; octets.size() >= 4; octets = octets.subspan(4)) {
        const int code = kCodes.at(octets[0] % kCodes.size());
        program.push_back({.code = static_cast<u_short>(code),
                           .jt = octets[1],
                           .jf = octets[2],
                           .k = constant_of(octets[3])});
    }
    program.push_back({.code = BPF_RET | BPF_A, .jt = 0, .jf = 0, .k = 0});
    return program;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::span<const std::uint8_t> octets(data + 1, size - 1);
    const std::size_t code_octets = std::min<std::size_t>(octets.size(), data[0] % 64U * 4U);
    const std::vector<bpf_insn> program = program_of(octets.first(code_octets));
    const tl::expected<NativeProgram, tributary::NotNative> native = NativeProgram::of(program);
    const bool is_valid = bpf_validate(program.data(), static_cast<int>(program.size())) != 0;
    if (!native || !is_valid) {
        return 0;
    }
    // In memory of its own, so that AddressSanitizer sees libpcap read beyond it.
    const std::vector<std::uint8_t> frame(octets.begin() + static_cast<std::ptrdiff_t>(code_octets),
                                          octets.end());
    const auto wire = static_cast<std::uint32_t>(frame.size()) + data[0];
    FrameArgument argument;
    const bool matches = native->matches(argument.of(std::as_bytes(std::span(frame)), wire));
    const bool is_expected =
        bpf_filter(program.data(), frame.data(), wire, static_cast<u_int>(frame.size())) != 0;
    if (matches != is_expected) {
        std::abort();
    }
    return 0;
}
