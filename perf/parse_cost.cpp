// SPDX-License-Identifier: Apache-2.0
// The cost of finding the fields of one packet, by input path and by the headers before the ports.
//
//   parse_cost                  nanoseconds per packet, as JSON: all subjects in turn, in one run
//   parse_cost --count NAME N   works on N packets of one subject, untimed, for callgrind
//   parse_cost --check          only checks that every subject finds the right fields
//
// The frames are in the first-level cache, so this is only the processor's work.

#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "parsers/parse_packet.hpp"
#include "parsers/unified_header.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/report_failure.hpp"
#include "tests/support/packet_builder.hpp"

namespace tributary::perf {
namespace {

using test::ethernet;
using test::Frame;
using test::PacketBuilder;

constexpr std::uint16_t kPort = 53;

/// Frames of one kind that differ in source address and port.
struct Frames {
    using Build = Frame (*)(const std::string& source, std::uint16_t port);

    Frames(std::string kind, Build build, const ParseOptions& parse = {})
        : name(std::move(kind)), options(parse) {
        for (std::size_t i = 0; i < kBurstPackets; ++i) {
            frames[i] = build(std::to_string(i), static_cast<std::uint16_t>(1000 + i));
            packets[i] = frames[i].view();
        }
    }

    /// Checks each frame's fields against the values that it was built from.
    void check() const {
        for (std::size_t i = 0; i < kBurstPackets; ++i) {
            PacketFields fields;
            demand(parse_packet(packets[i], options, fields) == ParseStatus::ok, name);
            demand(fields.source_port.value == 1000 + i, name + ": source port");
            demand(fields.destination_port.value == kPort, name + ": destination port");
        }
    }

    std::string name;
    ParseOptions options;
    std::array<Frame, kBurstPackets> frames;
    std::array<PacketView, kBurstPackets> packets;
};

Frame ipv4_udp(const std::string& n, std::uint16_t port) {
    return ethernet().ipv4({.source = "192.0.2." + n}).udp(port, kPort).payload(18).build();
}
Frame ipv4_tcp(const std::string& n, std::uint16_t port) {
    return ethernet().ipv4({.source = "192.0.2." + n}).tcp(port, kPort).payload(6).build();
}
Frame ipv6_two_extensions(const std::string& n, std::uint16_t port) {
    PacketBuilder builder = ethernet().ipv6({.source = "2001:db8::" + n});
    return builder.extension(0, 8).extension(60, 16).udp(port, kPort).build();
}
Frame qinq_mpls_ipv4(const std::string& n, std::uint16_t port) {
    PacketBuilder builder = ethernet().vlan(100, 0x88a8).vlan(200).mpls(1000, false).mpls(2000);
    return builder.ipv4({.source = "192.0.2." + n}).udp(port, kPort).build();
}
Frame vxlan_inner(const std::string& n, std::uint16_t port) {
    PacketBuilder builder = ethernet().ipv4().vxlan(5).inner_ethernet();
    return builder.ipv4({.source = "192.0.2." + n}).udp(port, kPort).build();
}

/// The same packets as unified headers, one record after the other.
struct UnifiedHeaders {
    explicit UnifiedHeaders(const Frames& from) {
        for (std::size_t i = 0; i < kBurstPackets; ++i) {
            PacketFields parsed;
            const ParseStatus status = parse_packet(from.packets[i], from.options, parsed);
            write_unified_header(from.packets[i], status, parsed, record(i));
            PacketView packet;
            PacketFields read;
            demand(read_unified_header(record(i), read, packet), "a record that is not plain");
            demand(read.source == parsed.source && read.destination == parsed.destination &&
                       read.source_port == parsed.source_port && read.ttl == parsed.ttl &&
                       read.destination_port == parsed.destination_port &&
                       read.ip_bytes == parsed.ip_bytes && read.protocol == parsed.protocol &&
                       packet.wire_bytes == from.packets[i].wire_bytes,
                   "unified header: fields");
        }
    }
    [[nodiscard]] std::byte* record(std::size_t i) {
        return records.data() + i * unified_header::kRecordBytes;
    }
    [[nodiscard]] const std::byte* record(std::size_t i) const {
        return records.data() + i * unified_header::kRecordBytes;
    }

    alignas(64) std::array<std::byte, kBurstPackets * unified_header::kRecordBytes> records{};
};

using BurstFields = std::array<PacketFields, kBurstPackets>;
using BurstViews = std::array<PacketView, kBurstPackets>;

void parse_burst(const Frames& frames, BurstFields& fields) {
    for (std::size_t i = 0; i < kBurstPackets; ++i) {
        const PacketView& packet = frames.packets[i];
        keep(parse_plain(packet, frames.options, fields[i])
                 ? ParseStatus::ok
                 : parse_header_by_header(packet, frames.options, fields[i]));
    }
    keep(fields);
}

void read_burst(const UnifiedHeaders& headers, BurstFields& fields, BurstViews& views) {
    for (std::size_t i = 0; i < kBurstPackets; ++i) {
        keep(read_unified_header(headers.record(i), fields[i], views[i]));
    }
    keep(fields);
    keep(views);
}

/// As on the packet path: a burst at a time, into the fields of the last burst.
Subject parsing(const std::shared_ptr<Frames>& frames) {
    auto fields = std::make_shared<BurstFields>();
    return {frames->name, [frames, fields](std::uint64_t packets) {
                for (std::uint64_t n = 0; n < packets; n += kBurstPackets) {
                    parse_burst(*frames, *fields);
                }
            }};
}

Subject reading(const std::string& name, const std::shared_ptr<UnifiedHeaders>& headers) {
    auto fields = std::make_shared<BurstFields>();
    auto views = std::make_shared<BurstViews>();
    return {name, [headers, fields, views](std::uint64_t packets) {
                for (std::uint64_t n = 0; n < packets; n += kBurstPackets) {
                    read_burst(*headers, *fields, *views);
                }
            }};
}

std::vector<Subject> make_subjects() {
    constexpr ParseOptions kInner{.tunnel = TunnelMode::inner};
    constexpr ParseOptions kTrimmed{.keep_cut_headers = true, .most_bytes = 128};
    const auto plain = std::make_shared<Frames>("full: IPv4/UDP", ipv4_udp);
    const std::shared_ptr<Frames> kinds[] = {
        plain,
        std::make_shared<Frames>("full: IPv4/TCP", ipv4_tcp),
        std::make_shared<Frames>("full: IPv6, two extension headers, UDP", ipv6_two_extensions),
        std::make_shared<Frames>("full: QinQ, two MPLS labels, IPv4/UDP", qinq_mpls_ipv4),
        std::make_shared<Frames>("full: IPv4/UDP inside VXLAN", vxlan_inner, kInner),
        std::make_shared<Frames>("trimmed to 128: IPv4/UDP", ipv4_udp, kTrimmed)};
    std::vector<Subject> subjects;
    for (const auto& frames : kinds) {
        frames->check();
        subjects.push_back(parsing(frames));
    }
    subjects.push_back(
        reading("unified header: IPv4/UDP", std::make_shared<UnifiedHeaders>(*plain)));
    return subjects;
}

void print_figures(const std::vector<Subject>& subjects) {
    constexpr int kRounds = 31;
    constexpr std::uint64_t kPackets = std::uint64_t{1} << 20U;
    auto json = nlohmann::ordered_json::array();
    for (const Figure& figure : measure_in_turn(subjects, kRounds, kPackets)) {
        json.push_back({{"name", figure.name},
                        {"ns_median", figure.median},
                        {"ns_least", figure.least},
                        {"ns_most", figure.most}});
    }
    std::cout << json.dump(2) << "\n";
}

int run(std::span<char*> arguments) {
    const std::vector<Subject> subjects = make_subjects();
    if (arguments.size() == 1) {
        print_figures(subjects);
        return EXIT_SUCCESS;
    }
    if (arguments.size() == 2 && std::string_view(arguments[1]) == "--check") {
        return EXIT_SUCCESS;
    }
    if (arguments.size() == 4 && std::string_view(arguments[1]) == "--count") {
        const auto found =
            std::ranges::find(subjects, std::string_view(arguments[2]), &Subject::name);
        if (found != subjects.end()) {
            found->work(std::stoull(arguments[3]));
            return EXIT_SUCCESS;
        }
    }
    std::cerr << "usage: parse_cost [--check | --count NAME PACKETS]\n";
    return EXIT_FAILURE;
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([argc, argv] {
        return tributary::perf::run({argv, static_cast<std::size_t>(argc)});
    });
}
