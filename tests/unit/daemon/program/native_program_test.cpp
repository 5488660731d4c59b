// SPDX-License-Identifier: Apache-2.0
#include "daemon/program/native_program.hpp"

#include <pcap/bpf.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "daemon/program/executable_memory.hpp"
#include "daemon/program/frame_argument.hpp"
#include "daemon/program/self_check.hpp"

#ifndef PR_SET_MDWE  // since Linux 6.3
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

namespace tributary {
namespace {

using Program = std::vector<bpf_insn>;
using Octets = std::vector<std::byte>;

bpf_insn statement(int code, std::uint32_t k = 0) {
    return {.code = static_cast<u_short>(code), .jt = 0, .jf = 0, .k = k};
}

bpf_insn jump(int code, std::uint32_t k, unsigned when_true, unsigned when_false) {
    return {.code = static_cast<u_short>(code),
            .jt = static_cast<u_char>(when_true),
            .jf = static_cast<u_char>(when_false),
            .k = k};
}

const bpf_insn kMatch = statement(BPF_RET | BPF_K, 1);
const bpf_insn kNoMatch = statement(BPF_RET | BPF_K, 0);
const bpf_insn kReturnAccumulator = statement(BPF_RET | BPF_A);

bool interpreted(const Program& program, std::span<const std::byte> frame, std::uint32_t wire) {
    return bpf_filter(program.data(), reinterpret_cast<const u_char*>(frame.data()), wire,
                      static_cast<u_int>(frame.size())) != 0;
}

bool native(const Program& program, std::span<const std::byte> frame, std::uint32_t wire) {
    const tl::expected<NativeProgram, NotNative> compiled = NativeProgram::of(program);
    REQUIRE(compiled);
    FrameArgument argument;
    return compiled->matches(argument.of(frame, wire));
}

bool native(const Program& program, std::span<const std::byte> frame) {
    return native(program, frame, static_cast<std::uint32_t>(frame.size()));
}

std::optional<NotNative> refusal(const Program& program) {
    const tl::expected<NativeProgram, NotNative> compiled = NativeProgram::of(program);
    return compiled ? std::nullopt : std::optional(compiled.error());
}

/// Classic programs by chance, with all that libpcap's compiler can give, and more.
class Programs {
public:
    Program next() {
        Program program;
        for (std::uint32_t word = 0; word < kWords; ++word) {  // none is read before it is written
            program.push_back(statement(BPF_LD | BPF_IMM, value()));
            program.push_back(statement(word % 2 == 0 ? BPF_ST : BPF_STX, word));
        }
        const std::size_t length = 2 + below(30);
        for (std::size_t place = 0; place < length; ++place) {
            program.push_back(instruction(length - place - 1));
        }
        program.push_back(kReturnAccumulator);
        return program;
    }

    Octets frame() {
        Octets octets(below(8) == 0 ? 0 : below(120));
        for (std::byte& octet : octets) {
            octet = static_cast<std::byte>(below(3) == 0 ? below(256) : below(4));
        }
        return octets;
    }

    std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

private:
    static constexpr std::uint32_t kWords = 4;

    std::uint32_t value() {
        switch (below(6)) {
            case 0:
                return static_cast<std::uint32_t>(random_());
            case 1:
                return 0 - below(300);
            case 2:
                return std::uint32_t{1} << below(32);
            default:
                return below(140);
        }
    }

    template <std::size_t Count>
    int one_of(const int (&codes)[Count]) {
        return codes[below(Count)];
    }

    // At most one call of below() in an expression: compilers evaluate them in different orders,
    // and would test different programs.
    bpf_insn instruction(std::size_t behind) {
        switch (below(10)) {
            case 0:
            case 1:
                return load(BPF_ABS, below(64));
            case 2:
                return load(BPF_IND, below(40));
            case 3: {
                const std::uint32_t operand = below(40);
                return statement(one_of({BPF_LDX | BPF_MSH | BPF_B, BPF_LD | BPF_W | BPF_LEN,
                                         BPF_LDX | BPF_W | BPF_LEN}),
                                 operand);
            }
            case 4: {
                const std::uint32_t operand = below(kWords);
                return statement(one_of({BPF_LD | BPF_MEM, BPF_LDX | BPF_MEM, BPF_ST, BPF_STX}),
                                 operand);
            }
            case 5:
                return statement(one_of({BPF_LD | BPF_IMM, BPF_LDX | BPF_IMM}), value());
            case 6:
                return statement(one_of({BPF_MISC | BPF_TAX, BPF_MISC | BPF_TXA}));
            case 7:
            case 8:
                return computation();
            default:
                return branch(behind);
        }
    }

    bpf_insn load(int mode, std::uint32_t offset) {
        return statement(BPF_LD | mode | one_of({BPF_W, BPF_H, BPF_B}), offset);
    }

    bpf_insn computation() {
        const int operation = one_of({BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_MOD, BPF_AND, BPF_OR,
                                      BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG});
        if (operation == BPF_NEG) {
            return statement(BPF_ALU | BPF_NEG);
        }
        if (below(2) == 0) {
            return statement(BPF_ALU | operation | BPF_X);
        }
        const bool shifts = operation == BPF_LSH || operation == BPF_RSH;
        return statement(BPF_ALU | operation | BPF_K, shifts ? below(32) : value() | 1U);
    }

    bpf_insn branch(std::size_t behind) {
        const int test = one_of({BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET});
        const int code = BPF_JMP | test | one_of({BPF_K, BPF_K, BPF_X});
        const unsigned distance = below(behind + 1);  // the other way goes on: all is reachable
        return below(2) == 0 ? jump(code, value(), distance, 0) : jump(code, value(), 0, distance);
    }

    std::minstd_rand random_{7};
};

/// Whether all frames have the interpreter's verdict.
bool agrees(const Program& program, const NativeProgram& compiled, Programs& chance) {
    FrameArgument argument;
    for (int count = 0; count < 40; ++count) {
        const Octets frame = chance.frame();
        const auto wire = static_cast<std::uint32_t>(frame.size()) + chance.below(100);
        if (compiled.matches(argument.of(frame, wire)) != interpreted(program, frame, wire)) {
            return false;
        }
    }
    return true;
}

/// Runs a function in a child that may not make memory executable. @return its exit code; -1: the
/// kernel knows no such prohibition
template <class Function>
int exit_code_without_executable_memory(const Function& function) {
    const pid_t child = fork();
    if (child == 0) {
        if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0L, 0L, 0L) != 0) {
            _exit(99);
        }
        _exit(function());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) != 99 ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("NativeProgram: programs by chance have the interpreter's verdicts",
          "[daemon][program][unit]") {
    Programs chance;
    int compiled_programs = 0;
    int matching = 0;
    int wrong_jumps = 0;
    for (int count = 0; count < 10'000; ++count) {
        const Program program = chance.next();
        const tl::expected<NativeProgram, NotNative> compiled = NativeProgram::of(program);
        if (!compiled) {
            // What DPDK's verifier finds in constants, and what its compiler does wrong.
            REQUIRE((compiled.error() == NotNative::refused ||
                     compiled.error() == NotNative::wrong_jumps));
            wrong_jumps += compiled.error() == NotNative::wrong_jumps ? 1 : 0;
            continue;
        }
        ++compiled_programs;
        REQUIRE(agrees(program, *compiled, chance));
        matching += interpreted(program, Octets(100), 100) ? 1 : 0;
    }
    CHECK(compiled_programs > 9'000);
    CHECK(wrong_jumps > 0);  // has_right_jumps() finds what would crash
    CHECK(matching > 500);
    CHECK(matching < compiled_programs - 500);
}

TEST_CASE("NativeProgram: no offset passes 32 bits or the end of the captured octets",
          "[daemon][program][unit]") {
    for (const std::uint32_t index : {0x0U, 60U, 61U, 63U, 64U, 65'535U, 65'536U, 0x7FFF'FFFFU,
                                      0xFFFF'FFC0U, 0xFFFF'FFFCU, 0xFFFF'FFFFU}) {
        for (const int size : {BPF_W, BPF_H, BPF_B}) {
            for (const std::uint32_t offset : {0U, 1U, 4U, 63U, 64U, 65'535U}) {
                // From the frame, because the verifier knows the value of a constant.
                Octets frame(64, std::byte{1});
                std::ranges::copy(std::as_bytes(std::span(&index, 1)), frame.rbegin());
                const Program program{
                    statement(BPF_LD | BPF_W | BPF_ABS, 60), statement(BPF_MISC | BPF_TAX),
                    statement(BPF_LD | BPF_IND | size, offset), kReturnAccumulator};
                CAPTURE(index, size, offset);
                CHECK(native(program, frame) == interpreted(program, frame, 64));
                // The length on the wire is no reason to read more.
                CHECK(native(program, frame, 1'000'000) == interpreted(program, frame, 64));
                CHECK_FALSE(native(program, {}, 64));
            }
        }
    }
}

TEST_CASE("NativeProgram: the length on the wire is read, also behind what was captured",
          "[daemon][program][unit]") {
    const Program program{statement(BPF_LD | BPF_W | BPF_LEN),
                          jump(BPF_JMP | BPF_JGE | BPF_K, 1000, 0, 1), kMatch, kNoMatch};
    CHECK(native(program, Octets(64), 1000));
    CHECK_FALSE(native(program, Octets(64), 999));
    CHECK(native(program, Octets(FrameArgument::kMostOctets), UINT32_MAX));
}

TEST_CASE("NativeProgram: small masks are tested", "[daemon][program][unit]") {
    for (std::uint32_t mask = 0; mask < 512; ++mask) {
        const Program program{statement(BPF_LD | BPF_B | BPF_ABS, 0),
                              jump(BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1), kMatch, kNoMatch};
        const Octets frame{std::byte{0x82}};
        CHECK(native(program, frame) == ((0x82U & mask) != 0));
    }
}

TEST_CASE("NativeProgram: what has no machine code has a reason", "[daemon][program][unit]") {
    const auto foreign = NotNative::foreign_instruction;
    CHECK(refusal({statement(BPF_JMP | BPF_JA, 0xFFFF'FFFF), kMatch}) == NotNative::loop);
    CHECK(refusal({jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 9, 0), kMatch}) == NotNative::loop);
    CHECK(refusal({statement(BPF_LD | BPF_B | BPF_ABS, 65'536), kReturnAccumulator}) ==
          NotNative::offset_beyond_frames);
    CHECK(refusal({statement(BPF_LD | BPF_B | BPF_ABS, 0xFFFF'F02C), kReturnAccumulator}) ==
          NotNative::offset_beyond_frames);
    CHECK(refusal({statement(BPF_LDX | BPF_MSH | BPF_B, 0xFFFF'FFFF), kMatch}) ==
          NotNative::offset_beyond_frames);
    CHECK(refusal({statement(BPF_ALU | BPF_LSH | BPF_K, 32), kReturnAccumulator}) == foreign);
    CHECK(refusal({statement(BPF_ALU | BPF_DIV | BPF_K, 0), kReturnAccumulator}) == foreign);
    CHECK(refusal({statement(BPF_LD | BPF_MEM, BPF_MEMWORDS), kReturnAccumulator}) == foreign);
    CHECK(refusal({statement(BPF_ST, BPF_MEMWORDS), kMatch}) == foreign);
    CHECK(refusal({statement(0xFFFF), kMatch}) == foreign);
    CHECK(refusal({kMatch, kMatch}) == NotNative::refused);
    CHECK(refusal({statement(BPF_LD | BPF_MEM, 0), kReturnAccumulator}) == NotNative::refused);
    CHECK(refusal({}) == foreign);
    CHECK(refusal({statement(BPF_LD | BPF_IMM)}) == foreign);
    Program longer(20'000, statement(BPF_ALU | BPF_LSH | BPF_X));
    longer.push_back(kReturnAccumulator);
    CHECK(refusal(longer) == NotNative::too_long);
}

TEST_CASE("NativeProgram: no verifier follows paths without end", "[daemon][program][unit]") {
    const auto branching = [](int branches) {
        Program program;
        for (std::uint32_t octet = 0; octet < static_cast<std::uint32_t>(branches); ++octet) {
            program.push_back(statement(BPF_LD | BPF_B | BPF_ABS, octet));
            program.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));  // both ways lead on
            program.push_back(statement(BPF_ST, 0));
        }
        program.push_back(kReturnAccumulator);
        return program;
    };
    CHECK(NativeProgram::of(branching(12)).has_value());
    for (const int branches : {24, 30, 64, 500}) {
        CAPTURE(branches);
        CHECK(refusal(branching(branches)) == NotNative::too_many_paths);
    }
}

TEST_CASE("NativeProgram: each reason has words of its own", "[daemon][program][unit]") {
    std::vector<std::string> words;
    for (unsigned why = 0; why <= static_cast<unsigned>(NotNative::differs); ++why) {
        words.emplace_back(reason_of(static_cast<NotNative>(why)));
        CHECK_FALSE(words.back().empty());
        CHECK(std::count(words.begin(), words.end(), words.back()) == 1);
    }
}

TEST_CASE("NativeProgram: the self-check finds another program", "[daemon][program][unit]") {
    const auto tests_octet = [](std::uint32_t value, bool matches) {
        return Program{statement(BPF_LD | BPF_H | BPF_ABS, 12),
                       jump(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), matches ? kMatch : kNoMatch,
                       matches ? kNoMatch : kMatch};
    };
    const Program program = tests_octet(0x0800, true);
    const tl::expected<NativeProgram, NotNative> compiled = NativeProgram::of(program);
    REQUIRE(compiled);
    CHECK(agrees_with_libpcap(program, *compiled));
    CHECK_FALSE(agrees_with_libpcap(tests_octet(0x0800, false), *compiled));
    CHECK_FALSE(agrees_with_libpcap(tests_octet(0x0801, true), *compiled));
    CHECK_FALSE(agrees_with_libpcap(Program{kMatch}, *compiled));
}

TEST_CASE("NativeProgram: a process that may not make memory executable has no machine code",
          "[daemon][program][unit]") {
    CHECK(may_make_memory_executable());
    const int code = exit_code_without_executable_memory([] {
        const tl::expected<NativeProgram, NotNative> compiled = NativeProgram::of(Program{kMatch});
        const bool is_refused = !compiled && compiled.error() == NotNative::no_executable_memory;
        return is_refused && !may_make_memory_executable() ? 0 : 1;
    });
    if (code == -1) {
        WARN("skipped: this kernel has no PR_SET_MDWE");
        return;
    }
    CHECK(code == 0);
}

}  // namespace tributary
