// SPDX-License-Identifier: Apache-2.0
#include "daemon/program/self_check.hpp"

#include <pcap/bpf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "daemon/program/frame_argument.hpp"

namespace tributary {
namespace {

constexpr std::size_t kFrames = 256;
constexpr std::size_t kLongestFrame = 200;
constexpr unsigned kOctetBits = 8;

/// A value in frames that the program compares with.
struct Comparison {
    std::size_t offset;
    std::size_t octets;
    std::uint32_t value;
};

std::size_t octets_of(const bpf_insn& load) noexcept {
    switch (BPF_SIZE(load.code)) {
        case BPF_B:
            return 1;
        case BPF_H:
            return 2;
        default:
            return 4;
    }
}

/// Whether it reads octets of the frame: at its offset, or behind an IPv4 header there.
bool reads_frame(const bpf_insn& instruction) noexcept {
    const int mode = BPF_MODE(instruction.code);
    return BPF_CLASS(instruction.code) == BPF_LD && (mode == BPF_ABS || mode == BPF_IND);
}

bool compares(const bpf_insn& instruction) noexcept {
    return BPF_CLASS(instruction.code) == BPF_JMP && BPF_OP(instruction.code) != BPF_JA &&
           BPF_SRC(instruction.code) == BPF_K;
}

/// Each comparison with the load before it, which is mostly its own.
std::vector<Comparison> comparisons_of(std::span<const bpf_insn> program) {
    constexpr std::size_t kIpv4Header = 20;
    constexpr std::uint32_t kIpv4FirstOctet = 0x45;
    std::vector<Comparison> comparisons;
    Comparison load{};
    for (const bpf_insn& instruction : program) {
        if (reads_frame(instruction)) {
            const std::size_t behind = BPF_MODE(instruction.code) == BPF_IND ? kIpv4Header : 0;
            load = {.offset = instruction.k + behind, .octets = octets_of(instruction), .value = 0};
        } else if (BPF_CLASS(instruction.code) == BPF_LDX) {
            comparisons.push_back({.offset = instruction.k, .octets = 1, .value = kIpv4FirstOctet});
        } else if (compares(instruction) && load.octets > 0) {
            load.value = instruction.k;
            comparisons.push_back(load);
        }
    }
    return comparisons;
}

class Frames {
public:
    explicit Frames(std::span<const bpf_insn> program) : comparisons_(comparisons_of(program)) {}

    /// The next frame, until the next call.
    [[nodiscard]] std::span<const std::byte> next() {
        std::ranges::generate(octets_, [this] { return static_cast<std::byte>(random()); });
        for (const Comparison& comparison : comparisons_) {
            if (random() % 4 != 0) {
                write(comparison);
            }
        }
        const bool is_cut = random() % 4 == 0;
        return std::span(octets_).first(is_cut ? random() % kLongestFrame : kLongestFrame);
    }

    /// The length on the wire of a frame of so many octets.
    [[nodiscard]] std::uint32_t wire_octets(std::size_t captured) {
        constexpr std::uint32_t kMostCut = 2000;
        const bool is_cut = random() % 2 == 0;
        return static_cast<std::uint32_t>(captured) + (is_cut ? random() % kMostCut : 0);
    }

private:
    std::uint32_t random() noexcept { return static_cast<std::uint32_t>(random_()); }

    /// The value in network byte order, or a neighbour of it.
    void write(const Comparison& comparison) noexcept {
        if (comparison.offset + comparison.octets > octets_.size()) {
            return;
        }
        std::uint32_t value = comparison.value + random() % 3 - 1;
        value = random() % 2 == 0 ? comparison.value : value;
        for (std::size_t octet = comparison.octets; octet-- > 0; value >>= kOctetBits) {
            octets_[comparison.offset + octet] = static_cast<std::byte>(value);
        }
    }

    std::vector<Comparison> comparisons_;
    std::array<std::byte, kLongestFrame> octets_{};
    std::minstd_rand random_;  // of the same seed each time
};

}  // namespace

bool agrees_with_libpcap(std::span<const bpf_insn> program, const NativeProgram& native) {
    Frames frames(program);
    FrameArgument argument;
    for (std::size_t count = 0; count < kFrames; ++count) {
        const std::span<const std::byte> frame = frames.next();
        const std::uint32_t wire = frames.wire_octets(frame.size());
        const bool matches =
            bpf_filter(program.data(), reinterpret_cast<const u_char*>(frame.data()), wire,
                       static_cast<u_int>(frame.size())) != 0;
        if (native.matches(argument.of(frame, wire)) != matches) {
            return false;
        }
    }
    return true;
}

}  // namespace tributary
