// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "parsers/packet.hpp"

// The frames of the tree's captures, for rooms that may not link the reader of captures.
namespace tributary::test {

/// A pcap file with microseconds or nanoseconds, of this machine's byte order.
class CaptureFrames {
public:
    explicit CaptureFrames(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(file), {});
        constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4;
        constexpr std::uint32_t kNanoseconds = 0xa1b23c4d;
        if (bytes_.size() < 24 || (word(0) != kMicroseconds && word(0) != kNanoseconds)) {
            throw std::runtime_error("no such capture: " + path);
        }
        const std::uint32_t unit = word(0) == kMicroseconds ? 1000 : 1;
        for (std::size_t at = 24; at + 16 <= bytes_.size(); at += 16 + word(at + 8)) {
            const Timestamp time{std::chrono::seconds{word(at)} +
                                 std::chrono::nanoseconds{std::uint64_t{word(at + 4)} * unit}};
            frames_.push_back(
                {.captured = std::as_bytes(std::span(bytes_)).subspan(at + 16, word(at + 8)),
                 .wire_bytes = word(at + 12),
                 .link_type = static_cast<LinkType>(word(20)),
                 .ingress_interface = {7},
                 .seen_at = time,
                 .clock = time});
        }
    }

    [[nodiscard]] const std::vector<PacketView>& frames() const { return frames_; }

private:
    [[nodiscard]] std::uint32_t word(std::size_t at) const {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes_.data() + at, sizeof value);
        return value;
    }

    std::vector<char> bytes_;
    std::vector<PacketView> frames_;
};

/// The captures of the demonstration and of all golden cases.
///
/// @param source  the root of the tree
inline std::vector<std::string> captures_in(const std::string& source) {
    std::vector<std::string> paths{source + "/tests/data/demo.pcap"};
    for (const auto& each : std::filesystem::directory_iterator(source + "/tests/golden")) {
        if (std::filesystem::exists(each.path() / "input.pcap")) {
            paths.push_back(each.path() / "input.pcap");
        }
    }
    return paths;
}

}  // namespace tributary::test
