// SPDX-License-Identifier: Apache-2.0
#include "daemon/program/code_check.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

namespace tributary {
namespace {

using Code = std::span<const std::byte>;

constexpr std::size_t kOctetImmediate = 1;
constexpr std::size_t kImmediate = 4;
constexpr std::size_t kLongImmediate = 8;

/// An instruction by the form of its operands.
struct Form {
    bool has_operands = false;  ///< a ModRM octet, and what that wants
    std::size_t immediate = 0;  ///< octets
    bool is_jump = false;       ///< by its immediate
};

struct Instruction {
    std::size_t start{};
    std::size_t end{};
    unsigned opcode{};  ///< behind the prefixes; 0x0F00 and the second octet of those with two
    std::optional<std::size_t> target;
};

/// DPDK's instructions. @return  nullopt: none of them
std::optional<Form> form_of(unsigned opcode, bool is_wide, unsigned extension) {
    switch (opcode) {
        case 0x01:    // add
        case 0x09:    // or
        case 0x21:    // and
        case 0x29:    // sub
        case 0x31:    // xor
        case 0x39:    // cmp
        case 0x85:    // test
        case 0x87:    // xchg
        case 0x89:    // mov
        case 0x8B:    // mov
        case 0xD3:    // shifts by cl
        case 0xFF:    // call
        case 0x0F44:  // cmove
        case 0x0FB6:  // movzx
        case 0x0FB7:  // movzx
            return Form{.has_operands = true};
        case 0x83:  // arithmetic with an immediate
        case 0xC1:  // shifts by an immediate
            return Form{.has_operands = true, .immediate = kOctetImmediate};
        case 0x81:
        case 0xC7:  // mov
            return Form{.has_operands = true, .immediate = kImmediate};
        case 0xF7:  // test has an immediate; neg, mul, div have none
            return Form{.has_operands = true, .immediate = extension == 0 ? kImmediate : 0};
        case 0xC3:  // ret
            return Form{};
        case 0xE9:  // jmp
            return Form{.immediate = kImmediate, .is_jump = true};
        case 0xEB:  // jmp
            return Form{.immediate = kOctetImmediate, .is_jump = true};
        default:
            break;
    }
    constexpr unsigned kLowBits = 0xF;
    constexpr unsigned kRegisterBits = 0x7;
    if ((opcode & ~kLowBits) == 0x70) {
        return Form{.immediate = kOctetImmediate, .is_jump = true};
    }
    if ((opcode & ~kLowBits) == 0x0F80) {
        return Form{.immediate = kImmediate, .is_jump = true};
    }
    if ((opcode & ~kRegisterBits) == 0xB8) {  // mov to a register
        return Form{.immediate = is_wide ? kLongImmediate : kImmediate};
    }
    if ((opcode & ~kRegisterBits) == 0x0FC8) {  // bswap
        return Form{};
    }
    return std::nullopt;
}

/// The instructions of some code, one behind the other.
class Decoder {
public:
    explicit Decoder(Code code) : code_(code) {}

    /// @return  nullopt: it has unknown ones
    std::optional<std::vector<Instruction>> run() {
        std::vector<Instruction> instructions;
        while (at_ < code_.size()) {
            const std::optional<Instruction> instruction = next();
            if (!instruction) {
                return std::nullopt;
            }
            instructions.push_back(*instruction);
        }
        return instructions;
    }

private:
    /// Behind the end: 0, and at_ passes the end.
    unsigned octet() noexcept {
        const std::size_t place = at_++;
        return place < code_.size() ? std::to_integer<unsigned>(code_[place]) : 0;
    }

    [[nodiscard]] unsigned peek() const noexcept {
        return at_ < code_.size() ? std::to_integer<unsigned>(code_[at_]) : 0;
    }

    std::optional<Instruction> next() {
        constexpr unsigned kOperandSize = 0x66;
        constexpr unsigned kTwoOctets = 0x0F;
        constexpr unsigned kRex = 0x40;
        constexpr unsigned kRexBits = 0xF0;
        constexpr unsigned kWide = 0x08;
        Instruction instruction{.start = at_, .end = 0, .opcode = 0, .target = {}};
        if (peek() == kOperandSize) {
            octet();
        }
        const unsigned rex = (peek() & kRexBits) == kRex ? octet() : 0;
        instruction.opcode = octet();
        if (instruction.opcode == kTwoOctets) {
            instruction.opcode = kTwoOctets << 8U | octet();
        }
        constexpr unsigned kExtensionShift = 3;
        constexpr unsigned kExtensionBits = 0x7;
        const std::optional<Form> form = form_of(instruction.opcode, (rex & kWide) != 0,
                                                 peek() >> kExtensionShift & kExtensionBits);
        if (!form || (form->has_operands && !skip_operands())) {
            return std::nullopt;
        }
        const std::size_t immediate = at_;
        at_ += form->immediate;
        instruction.end = at_;
        if (at_ > code_.size()) {
            return std::nullopt;
        }
        if (form->is_jump) {
            instruction.target = at_ + distance(immediate, form->immediate);
        }
        return instruction;
    }

    /// @return  false: a form that DPDK does not use
    bool skip_operands() noexcept {
        constexpr unsigned kModeShift = 6;
        constexpr unsigned kBaseBits = 0x7;
        constexpr unsigned kScaledIndex = 4;
        const unsigned operands = octet();
        const unsigned mode = operands >> kModeShift;
        if (mode == 3) {
            return true;  // registers
        }
        if ((operands & kBaseBits) == kScaledIndex) {
            octet();
        }
        at_ += mode == 1 ? 1 : 4;  // of the displacement
        return mode != 0;
    }

    /// Negative ones wrap, as the sum with a place does.
    [[nodiscard]] std::size_t distance(std::size_t place, std::size_t octets) const noexcept {
        if (octets == kOctetImmediate) {
            return static_cast<std::size_t>(std::to_integer<std::int8_t>(code_[place]));
        }
        std::int32_t value = 0;
        std::memcpy(&value, &code_[place], sizeof value);
        return static_cast<std::size_t>(std::int64_t{value});
    }

    Code code_;
    std::size_t at_ = 0;
};

class JumpCheck {
public:
    JumpCheck(Code code, std::vector<Instruction> instructions)
        : code_(code), instructions_(std::move(instructions)) {}

    bool run() {
        if (!find_epilog()) {
            return false;
        }
        for (place_ = 0; place_ < instructions_.size(); ++place_) {
            if (is(place_, kMarker)) {
                markers_.insert(instructions_[place_].start);
            }
            const auto& target = instructions_[place_].target;
            if (target && !take_jump(*target)) {
                return false;
            }
        }
        return targets_ == markers_;
    }

private:
    // How these instructions begin. DPDK's compiler emits each of the first four for one purpose
    // only, and to_ebpf() causes the last one only as a marker, so that they tell where code is.
    static constexpr std::array kStackBack{0x48U, 0x89U, 0xECU};     // mov %rbp, %rsp
    static constexpr std::array kFrameBack{0x48U, 0x8BU, 0x5CU};     // mov (%rsp), %rbx
    static constexpr std::array kFrameAddress{0x48U, 0x01U, 0xF0U};  // add %rsi, %rax
    static constexpr std::array kAddressTest{0x48U, 0x85U, 0xC0U};   // test %rax, %rax
    static constexpr std::array kMarker{0x41U, 0xC7U, 0xC0U};        // mov immediate, %r8d
    static constexpr unsigned kConditionalMove = 0x0F44;
    static constexpr unsigned kShortJump = 0xEB;
    static constexpr unsigned kJump = 0xE9;
    static constexpr unsigned kShortJumpIfLess = 0x7C;
    static constexpr unsigned kJumpIfLess = 0x0F8C;

    [[nodiscard]] bool is(std::size_t place, const std::array<unsigned, 3>& octets) const {
        const Code instruction = code_.subspan(instructions_[place].start);
        return instruction.size() >= octets.size() &&
               std::equal(octets.begin(), octets.end(), instruction.begin(),
                          [](unsigned wanted, std::byte octet) {
                              return wanted == std::to_integer<unsigned>(octet);
                          });
    }

    /// The end of all ways; the program has one.
    bool find_epilog() {
        std::size_t found = 0;
        for (std::size_t place = 0; place < instructions_.size(); ++place) {
            if (is(place, kFrameBack)) {
                const bool is_second = place > 0 && is(place - 1, kStackBack);
                epilog_ = instructions_[is_second ? place - 1 : place].start;
                ++found;
            }
        }
        return found == 1;
    }

    /// @return  false: it goes wrong
    bool take_jump(std::size_t target) {
        const Instruction& jump = instructions_[place_];
        const bool is_unconditional = jump.opcode == kShortJump || jump.opcode == kJump;
        if (jump.opcode == kShortJumpIfLess || jump.opcode == kJumpIfLess) {
            return target == end_of_next([this](std::size_t place) { return reads_fast(place); });
        }
        if (is_unconditional && reads_fast(place_)) {
            return target == end_of_next([this](std::size_t place) { return ends_read(place); });
        }
        if (ends_early(place_) || (is_unconditional && target < jump.start)) {
            return target == epilog_;
        }
        targets_.insert(target);
        return true;
    }

    /// A jump over the call that reads what is not in the first segment.
    [[nodiscard]] bool reads_fast(std::size_t place) const {
        return place > 0 && instructions_[place].target && is(place - 1, kFrameAddress);
    }

    /// The jump behind that call, if it has read nothing.
    [[nodiscard]] bool ends_read(std::size_t place) const {
        return place > 0 && instructions_[place].target && is(place - 1, kAddressTest);
    }

    /// Jumps that end the program without a match.
    [[nodiscard]] bool ends_early(std::size_t place) const {
        return ends_read(place) ||
               (place > 0 && instructions_[place - 1].opcode == kConditionalMove);
    }

    template <class Predicate>
    [[nodiscard]] std::size_t end_of_next(const Predicate& predicate) const {
        std::size_t place = place_ + 1;
        while (place < instructions_.size() && !predicate(place)) {
            ++place;
        }
        return place < instructions_.size() ? instructions_[place].end : 0;
    }

    Code code_;
    std::vector<Instruction> instructions_;
    std::size_t place_ = 0;
    std::size_t epilog_ = 0;
    std::set<std::size_t> markers_;
    std::set<std::size_t> targets_;
};

}  // namespace

bool has_right_jumps(std::span<const std::byte> code) {
    std::optional<std::vector<Instruction>> instructions = Decoder(code).run();
    return instructions && JumpCheck(code, std::move(*instructions)).run();
}

}  // namespace tributary
