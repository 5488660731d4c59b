// SPDX-License-Identifier: Apache-2.0
#include "daemon/program/ebpf_translation.hpp"

#include <pcap/bpf.h>
#include <rte_bpf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "daemon/program/frame_argument.hpp"

namespace tributary {
namespace {

/// Registers. DPDK's loads from the frame take it from register 6, leave what they read in
/// register 0, and change registers 1 to 5.
using Register = std::uint8_t;
constexpr Register kAccumulator = EBPF_REG_0;
constexpr Register kArgument = EBPF_REG_1;  // at the start
constexpr Register kScratch = EBPF_REG_3;   // for one instruction of the program
constexpr Register kMark = EBPF_REG_5;      // for has_right_jumps() alone
constexpr Register kFrame = EBPF_REG_6;
constexpr Register kIndex = EBPF_REG_7;
constexpr Register kSaved = EBPF_REG_8;
constexpr Register kStack = EBPF_REG_10;

constexpr std::uint32_t kFarthestOffset = FrameArgument::kMostOctets;
constexpr std::uint32_t kBitsOfRegister = 32;
constexpr std::size_t kWordOctets = 4;
constexpr int kMove64 = int{EBPF_ALU64} | int{EBPF_MOV} | int{BPF_X};
constexpr int kMove = int{BPF_ALU} | int{EBPF_MOV};

class Translation {
public:
    explicit Translation(std::span<const bpf_insn> program)
        : program_(program), is_target_(program.size() + 1) {
        instructions_.reserve(2 * program.size());
        starts_.reserve(program.size() + 1);
    }

    [[nodiscard]] std::optional<NotNative> fault() const noexcept { return fault_; }

    [[nodiscard]] std::vector<ebpf_insn> run() {
        begin();
        for (place_ = 0; place_ < program_.size() && !fault_; ++place_) {
            mark();
            translate(program_[place_]);
        }
        mark();
        if (is_target_.back()) {
            give_no_match();
        }
        resolve_jumps();
        return std::move(instructions_);
    }

private:
    struct Jump {
        std::size_t at;      ///< among the instructions
        std::size_t target;  ///< in the program; its size: "no match"
    };

    void refuse(NotNative why) noexcept { fault_ = fault_ ? fault_ : why; }

    void emit(int code, unsigned destination, unsigned source = 0, std::size_t offset = 0,
              std::uint32_t immediate = 0) {
        ebpf_insn instruction{};
        instruction.code = static_cast<std::uint8_t>(code);
        instruction.dst_reg = destination & 0xFU;
        instruction.src_reg = source & 0xFU;
        instruction.off = static_cast<std::int16_t>(offset);
        instruction.imm = static_cast<std::int32_t>(immediate);
        instructions_.push_back(instruction);
    }

    void emit_jump(int code, unsigned destination, unsigned source, std::uint32_t immediate,
                   std::size_t target) {
        is_target_[target] = true;
        jumps_.push_back({.at = instructions_.size(), .target = target});
        emit(code, destination, source, 0, immediate);
    }

    /// The frame does not match, if a register has more than this.
    void emit_limit(unsigned subject, std::uint32_t most) {
        emit_jump(BPF_JMP | BPF_JGT | BPF_K, subject, 0, most, program_.size());
    }

    void begin() {
        emit(kMove64, kFrame, kArgument);
        emit(kMove | BPF_K, kAccumulator);
        if (std::ranges::any_of(program_, reads_index)) {
            emit(kMove | BPF_K, kIndex);
        }
    }

    /// Begins the next instruction of the program, and marks it if a jump goes there. The value is
    /// not used; 0 would be another instruction of the CPU.
    void mark() {
        starts_.push_back(instructions_.size());
        if (is_target_[place_]) {
            emit(kMove | BPF_K, kMark, 0, 0, 1);
        }
    }

    void give_no_match() {
        emit(kMove | BPF_K, kAccumulator);
        emit(BPF_JMP | EBPF_EXIT, 0);
    }

    static bool reads_index(const bpf_insn& instruction) noexcept {
        const int code = instruction.code;
        switch (BPF_CLASS(code)) {
            case BPF_LD:
                return BPF_MODE(code) == BPF_IND;
            case BPF_ALU:
            case BPF_JMP:
                return BPF_SRC(code) == BPF_X;
            case BPF_MISC:
                return BPF_MISCOP(code) == BPF_TXA;
            default:
                return BPF_CLASS(code) == BPF_STX;
        }
    }

    void translate(const bpf_insn& instruction) {
        switch (BPF_CLASS(instruction.code)) {
            case BPF_LD:
                return load(instruction);
            case BPF_LDX:
                return load_index(instruction);
            case BPF_ST:
                return store(instruction, BPF_ST, kAccumulator);
            case BPF_STX:
                return store(instruction, BPF_STX, kIndex);
            case BPF_ALU:
                return compute(instruction);
            case BPF_JMP:
                return jump(instruction);
            case BPF_RET:
                return end(instruction);
            default:
                return move(instruction);
        }
    }

    void load(const bpf_insn& instruction) {
        switch (instruction.code) {
            case BPF_LD | BPF_W | BPF_ABS:
            case BPF_LD | BPF_H | BPF_ABS:
            case BPF_LD | BPF_B | BPF_ABS:
                return load_from_frame(instruction.code, 0, instruction.k);
            case BPF_LD | BPF_W | BPF_IND:
            case BPF_LD | BPF_H | BPF_IND:
            case BPF_LD | BPF_B | BPF_IND:
                // The sum of index and offset must not pass 32 bits: DPDK would cut it, and read
                // another octet. No frame has an octet behind a larger index.
                emit_limit(kIndex, kFarthestOffset);
                return load_from_frame(instruction.code, kIndex, instruction.k);
            default:
                return load_value(instruction, kAccumulator);
        }
    }

    /// @param index  the register with what is added to the offset, where the code wants one
    void load_from_frame(int code, unsigned index, std::uint32_t offset) {
        if (offset > kFarthestOffset) {
            return refuse(NotNative::offset_beyond_frames);
        }
        emit(code, kAccumulator, index, 0, offset);
    }

    void load_index(const bpf_insn& instruction) {
        if (instruction.code != (BPF_LDX | BPF_MSH | BPF_B)) {
            return load_value(instruction, kIndex);
        }
        // The length of an IPv4 header: 4 * (octet & 0xF)
        constexpr std::uint32_t kLengthBits = 0xF;
        constexpr std::uint32_t kShiftToOctets = 2;
        const bool is_kept = !next_loads_accumulator();
        if (is_kept) {
            emit(kMove64, kSaved, kAccumulator);
        }
        load_from_frame(BPF_LD | BPF_ABS | BPF_B, 0, instruction.k);
        emit(BPF_ALU | BPF_AND | BPF_K, kAccumulator, 0, 0, kLengthBits);
        emit(BPF_ALU | BPF_LSH | BPF_K, kAccumulator, 0, 0, kShiftToOctets);
        emit(kMove64, kIndex, kAccumulator);
        if (is_kept) {
            emit(kMove64, kAccumulator, kSaved);
        }
    }

    [[nodiscard]] bool next_loads_accumulator() const noexcept {
        return place_ + 1 < program_.size() && BPF_CLASS(program_[place_ + 1].code) == BPF_LD;
    }

    /// Loads what is not of the frame's octets.
    void load_value(const bpf_insn& instruction, unsigned destination) {
        constexpr int kClassBits = 0x07;
        switch (instruction.code & ~kClassBits) {
            case BPF_IMM:
                return emit(kMove | BPF_K, destination, 0, 0, instruction.k);
            case BPF_LEN:
                return emit(BPF_LDX | BPF_MEM | BPF_W, destination, kFrame,
                            FrameArgument::kWireOctetsOffset);
            case BPF_MEM:
                if (instruction.k < BPF_MEMWORDS) {
                    return emit(BPF_LDX | BPF_MEM | BPF_W, destination, kStack,
                                word_offset(instruction.k));
                }
                return refuse(NotNative::foreign_instruction);
            default:
                return refuse(NotNative::foreign_instruction);
        }
    }

    void store(const bpf_insn& instruction, int code, unsigned source) {
        if (instruction.code != code || instruction.k >= BPF_MEMWORDS) {
            return refuse(NotNative::foreign_instruction);
        }
        emit(BPF_STX | BPF_MEM | BPF_W, kStack, source, word_offset(instruction.k));
    }

    /// The stack grows downwards: a negative offset.
    static std::size_t word_offset(std::uint32_t word) noexcept {
        return 0 - (BPF_MEMWORDS - word) * kWordOctets;
    }

    void compute(const bpf_insn& instruction) {
        const int code = instruction.code;
        const bool by_index = BPF_SRC(code) == BPF_X;
        switch (BPF_OP(code)) {
            case BPF_ADD:
            case BPF_SUB:
            case BPF_MUL:
            case BPF_AND:
            case BPF_OR:
            case BPF_XOR:
            case BPF_NEG:
                break;
            case BPF_LSH:
            case BPF_RSH:
                if (by_index) {
                    clear_before_long_shift();
                } else if (instruction.k >= kBitsOfRegister) {
                    return refuse(NotNative::foreign_instruction);
                }
                break;
            case BPF_DIV:
            case BPF_MOD:
                if (by_index) {
                    // By zero: the frame does not match.
                    emit_jump(BPF_JMP | BPF_JEQ | BPF_K, kIndex, 0, 0, program_.size());
                } else if (instruction.k == 0) {
                    return refuse(NotNative::foreign_instruction);
                }
                break;
            default:
                return refuse(NotNative::foreign_instruction);
        }
        emit(code, kAccumulator, by_index ? kIndex : 0, 0, by_index ? 0 : instruction.k);
    }

    /// A shift by 32 or more gives 0; the CPU would take the lowest 5 bits of the number.
    void clear_before_long_shift() {
        emit(BPF_JMP | EBPF_JLE | BPF_K, kIndex, 0, 1, kBitsOfRegister - 1);
        emit(kMove | BPF_K, kAccumulator);
        emit(kMove | BPF_K, kMark, 0, 0, 1);
    }

    void jump(const bpf_insn& instruction) {
        const int operation = BPF_OP(instruction.code);
        if (operation == BPF_JA) {
            return jump_to(target_of(instruction.k));
        }
        if (operation != BPF_JEQ && operation != BPF_JGT && operation != BPF_JGE &&
            operation != BPF_JSET) {
            return refuse(NotNative::foreign_instruction);
        }
        const std::size_t when_true = target_of(instruction.jt);
        const std::size_t when_false = target_of(instruction.jf);
        if (when_true == when_false) {
            return jump_to(when_true);
        }
        if (instruction.jt == 0 && operation != BPF_JSET) {
            return branch(instruction, opposite_of(operation), when_false);
        }
        branch(instruction, operation, when_true);
        jump_to(when_false);
    }

    static int opposite_of(int operation) noexcept {
        switch (operation) {
            case BPF_JEQ:
                return EBPF_JNE;
            case BPF_JGT:
                return EBPF_JLE;
            default:
                return EBPF_JLT;  // of BPF_JGE
        }
    }

    /// @return  place in the program
    std::size_t target_of(std::size_t distance) noexcept {
        const std::size_t target = place_ + 1 + distance;
        if (target >= program_.size()) {  // backward is 2^32 less a little
            refuse(NotNative::loop);
            return program_.size();
        }
        return target;
    }

    void jump_to(std::size_t target) {
        if (target != place_ + 1) {
            emit_jump(BPF_JMP | BPF_JA, 0, 0, 0, target);
        }
    }

    void branch(const bpf_insn& instruction, int operation, std::size_t target) {
        if (BPF_SRC(instruction.code) == BPF_X) {
            return emit_jump(BPF_JMP | operation | BPF_X, kAccumulator, kIndex, 0, target);
        }
        if (!fits_immediate(operation, instruction.k)) {
            emit(kMove | BPF_K, kScratch, 0, 0, instruction.k);
            return emit_jump(BPF_JMP | operation | BPF_X, kAccumulator, kScratch, 0, target);
        }
        emit_jump(BPF_JMP | operation | BPF_K, kAccumulator, 0, instruction.k, target);
    }

    /// Comparisons are of 64 bits, and extend the sign of an immediate. DPDK 22.11 writes a small
    /// immediate of a bit test as one octet, where the CPU reads four.
    static bool fits_immediate(int operation, std::uint32_t immediate) noexcept {
        return immediate <= std::numeric_limits<std::int32_t>::max() &&
               (operation != BPF_JSET || immediate > std::numeric_limits<std::int8_t>::max());
    }

    void end(const bpf_insn& instruction) {
        if (instruction.code == (BPF_RET | BPF_K)) {
            emit(kMove | BPF_K, kAccumulator, 0, 0, instruction.k);
        } else if (instruction.code != (BPF_RET | BPF_A)) {
            return refuse(NotNative::foreign_instruction);
        }
        emit(BPF_JMP | EBPF_EXIT, 0);
    }

    void move(const bpf_insn& instruction) {
        if (instruction.code == (BPF_MISC | BPF_TAX)) {
            emit(kMove64, kIndex, kAccumulator);
        } else if (instruction.code == (BPF_MISC | BPF_TXA)) {
            emit(kMove64, kAccumulator, kIndex);
        } else {
            refuse(NotNative::foreign_instruction);
        }
    }

    void resolve_jumps() {
        constexpr std::size_t kFarthestJump = std::numeric_limits<std::int16_t>::max();
        if (instructions_.size() > kFarthestJump) {
            refuse(NotNative::too_long);
        }
        if (fault_) {
            return;
        }
        for (const Jump& jump : jumps_) {
            instructions_[jump.at].off =
                static_cast<std::int16_t>(starts_[jump.target] - jump.at - 1);
        }
    }

    std::span<const bpf_insn> program_;
    std::size_t place_ = 0;
    std::vector<ebpf_insn> instructions_;
    std::vector<std::size_t> starts_;  ///< of each of the program's instructions, and of "no match"
    std::vector<bool> is_target_;      ///< of a jump so far, of each of the same
    std::vector<Jump> jumps_;
    std::optional<NotNative> fault_;
};

}  // namespace

tl::expected<std::vector<ebpf_insn>, NotNative> to_ebpf(std::span<const bpf_insn> program) {
    if (program.empty() || BPF_CLASS(program.back().code) != BPF_RET) {
        return tl::unexpected(NotNative::foreign_instruction);  // DPDK's verifier would run past it
    }
    Translation translation(program);
    std::vector<ebpf_insn> instructions = translation.run();
    if (const std::optional<NotNative> fault = translation.fault()) {
        return tl::unexpected(*fault);
    }
    return instructions;
}

}  // namespace tributary
