// SPDX-License-Identifier: Apache-2.0
// Writes the kept corpus of unified_header_fuzz: unified_header_seeds DIRECTORY
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "parsers/parse_packet.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/unified_frames.hpp"

namespace tributary::test {

namespace {

using namespace unified_header;
using FrameBytes = std::vector<std::byte>;
using Seed = std::pair<std::string, std::vector<FrameBytes>>;

ToldPacket told(const Frame& frame, const ParseOptions& options = {}) {
    ToldPacket packet{.wire_bytes = frame.wire_bytes};
    packet.status = parse_packet(frame.view(), options, packet.fields);
    return packet;
}

FrameBytes with(FrameBytes frame, std::size_t at, int value) {
    frame[at] = static_cast<std::byte>(value);
    return frame;
}

std::vector<Seed> seeds() {
    const ToldPacket udp = told(ethernet().vlan(5).ipv4({.dont_fragment = true}).udp(1, 2).build());
    const ToldPacket tcp =
        told(ethernet().ipv6().tcp(443, 50000, 0x012).build(), {.tcp_segments = true});
    const ToldPacket arp = told(ethernet().ethertype(0x0806).bytes(28).build());
    const ToldPacket cut =
        told(ethernet().ipv4().tcp(1, 2, 0).build().cut(36), {.keep_cut_headers = true});
    ToldPacket early = udp;
    early.time = Timestamp{};
    const FrameBytes good = unified_frame({udp, tcp, arp}, 1000, 7);
    const FrameBytes full = unified_frame(std::vector<ToldPacket>(23, udp), 1003, 7);
    FrameBytes padded = good;
    padded.resize(padded.size() + 64);
    const std::size_t status = frame_at::kFirstRecord + record_at::kStatus;
    return {
        {"one_record", {unified_frame({udp})}},
        {"three_records", {good}},
        {"many_records", {full, full, full, full}},
        {"gap_and_restart", {good, unified_frame({tcp}, 2000, 7), unified_frame({tcp}, 0, 7)}},
        {"bad_time", {unified_frame({tcp, early, udp})}},
        {"cut_header", {unified_frame({cut, udp})}},
        {"padding", {padded}},
        {"version_2", {unified_frame({tcp, arp, udp}, 1000, 7, true), good}},
        {"bad_version", {good, with(good, frame_at::kVersion, 3), good}},
        {"bad_record_size", {good, with(good, frame_at::kRecordBytes, 65), good}},
        {"too_many_records", {good, with(good, frame_at::kRecords, 4), good}},
        {"no_record", {with(good, frame_at::kRecords, 0)}},
        {"other_ethertype", {with(good, frame_at::kEthertype, 8)}},
        {"unknown_status", {with(good, status, 99)}},
        {"unknown_cut_header", {with(good, status - 4, 0xe0)}},
        {"short_frame", {FrameBytes(31), {}}},
    };
}

void put(std::ostream& file, const FrameBytes& frame) {
    for (const std::byte octet : frame) {
        file << std::to_integer<char>(octet);
    }
}

/// A seed for the whole path, or for three workers. False when the file cannot be written.
bool write_frames(const std::string& path, const std::vector<FrameBytes>& frames, char mode) {
    std::ofstream file(path, std::ios::binary);
    file << mode;
    for (const FrameBytes& frame : frames) {
        file << static_cast<char>(frame.size() >> 8U) << static_cast<char>(frame.size());
        put(file, frame);
    }
    return static_cast<bool>(file.flush());
}

/// A seed of one frame.
bool write_frame(const std::string& path, const FrameBytes& frame) {
    std::ofstream file(path, std::ios::binary);
    file << '\0';
    put(file, frame);
    return static_cast<bool>(file.flush());
}

}  // namespace

}  // namespace tributary::test

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: unified_header_seeds DIRECTORY\n";
        return 64;
    }
    for (const auto& [name, frames] : tributary::test::seeds()) {
        using namespace tributary::test;
        const std::string path = std::string(argv[1]) + "/" + name;
        const bool is_written =
            frames.size() == 1
                ? write_frame(path, frames[0])
                : write_frames(path, frames, '\1') && write_frames(path + "_shared", frames, '\2');
        if (!is_written) {
            std::cerr << "cannot write " << path << '\n';
            return 74;
        }
    }
    return 0;
}
