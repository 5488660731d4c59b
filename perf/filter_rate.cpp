// SPDX-License-Identifier: Apache-2.0
// Packet filters as machine code beside libpcap's interpreter, on the frames of a capture.
//
//   filter_rate CAPTURE...           nanoseconds per packet of each filter, as JSON, both ways in
//                                    turn
//   filter_rate --check CAPTURE...   only checks that both have the same verdicts
//
// Both ways get bursts of the same frames and give the same masks; only the program differs. The
// frames are those at the front of each capture, one behind the other in memory, more than the
// second-level cache holds.

#include <pcap/pcap.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/filter/packet_filter.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/report_failure.hpp"
#include "tests/support/libpcap_program.hpp"

namespace tributary::perf {
namespace {

using test::LibpcapProgram;
using test::Pcap;

constexpr std::array kExpressions{
    "ip",
    "ip6",
    "tcp",
    "udp",
    "icmp or icmp6",
    "not arp and not stp",
    "tcp port 443",
    "udp port 53",
    "tcp port 443 or udp",
    "portrange 1000-2000",
    "ip6 and tcp port 443",
    "host 10.0.0.1",
    "net 10.0.0.0/8",
    "not net 10.0.0.0/8",
    "net 192.168.0.0/16 and not port 53",
    "src net 10.0.0.0/8 and dst net 192.168.0.0/16",
    "tcp and (port 80 or port 443) and net 10.0.0.0/8",
    "host 10.1.1.1 or host 10.1.1.2 or host 10.1.1.3 or host 10.1.1.4 or net 172.16.0.0/12",
    "tcp[tcpflags] & tcp-syn != 0",
    "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
    "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420",
    "ip[8] < 64",
    "ip[6:2] & 0x1fff = 0",
    "greater 1000",
    "udp and greater 200",
    "vlan and tcp",
    "ether host 02:00:00:00:00:01",
};

/// The first frames of Ethernet captures.
class Frames {
public:
    void add(const std::string& path) {
        std::array<char, PCAP_ERRBUF_SIZE> error{};
        const Pcap pcap(pcap_open_offline(path.c_str(), error.data()));
        demand(pcap != nullptr, error.data());
        demand(pcap_datalink(pcap.get()) == DLT_EN10MB, path + " is not of Ethernet");
        pcap_pkthdr* header = nullptr;
        const u_char* data = nullptr;
        for (std::size_t count = 0;
             count < kMostOfCapture && pcap_next_ex(pcap.get(), &header, &data) == 1; ++count) {
            const auto frame = std::as_bytes(std::span(data, header->caplen));
            places_.push_back(octets_.size());
            wire_.push_back(header->len);
            octets_.insert(octets_.end(), frame.begin(), frame.end());
        }
    }

    /// All frames, after the last call of add().
    [[nodiscard]] std::vector<PacketView> views() const {
        std::vector<PacketView> views(places_.size());
        for (std::size_t index = 0; index < views.size(); ++index) {
            const std::size_t end =
                index + 1 < places_.size() ? places_[index + 1] : octets_.size();
            views[index].captured =
                std::span(octets_).subspan(places_[index], end - places_[index]);
            views[index].wire_bytes = wire_[index];
        }
        return views;
    }

private:
    static constexpr std::size_t kMostOfCapture = 4096;

    std::vector<std::byte> octets_;
    std::vector<std::size_t> places_;
    std::vector<std::uint32_t> wire_;
};

/// libpcap's way.
class Interpreter {
public:
    explicit Interpreter(const char* expression)
        : pcap_(pcap_open_dead(DLT_EN10MB, kSnapLength)), program_(pcap_.get(), expression) {
        demand(program_.is_compiled(), pcap_geterr(pcap_.get()));
    }

    [[nodiscard]] PacketMask select(std::span<const PacketView> packets) const noexcept {
        PacketMask passed = 0;
        PacketMask bit = 1;
        for (const PacketView& packet : packets) {
            passed |= program_.passes(packet) ? bit : 0;
            bit <<= 1U;
        }
        return passed;
    }

private:
    static constexpr int kSnapLength = 262'144;

    Pcap pcap_;
    LibpcapProgram program_;
};

/// Calls `work` with bursts of the packets, round and round, until it has had so many.
template <class Work>
void in_bursts(std::span<const PacketView> packets, std::uint64_t count, const Work& work) {
    std::size_t first = 0;
    for (std::uint64_t done = 0; done < count; done += kBurstPackets) {
        first = first + kBurstPackets <= packets.size() ? first : 0;
        work(packets.subspan(first, std::min(kBurstPackets, packets.size() - first)));
        first += kBurstPackets;
    }
}

/// A filter both ways.
struct Both {
    explicit Both(const char* filter)
        : expression(filter),
          interpreter(filter),
          compiled(std::string(filter), FilterLinks::ethernet) {}

    /// @return  how many packets pass
    std::size_t check(std::span<const PacketView> packets) {
        std::size_t passed = 0;
        in_bursts(packets, packets.size(), [&](std::span<const PacketView> burst) {
            const PacketMask mask = compiled.select(burst);
            demand(mask == interpreter.select(burst),
                   std::string(expression) + ": other verdicts than libpcap's");
            passed += static_cast<std::size_t>(__builtin_popcountll(mask));
        });
        return passed;
    }

    const char* expression;
    Interpreter interpreter;
    PacketFilter compiled;
};

std::vector<Subject> subjects_of(const std::vector<std::unique_ptr<Both>>& filters,
                                 std::span<const PacketView> packets) {
    std::vector<Subject> subjects;
    for (const auto& filter : filters) {
        Both& both = *filter;
        const auto run = [packets](const auto& select) {
            return [packets, select](std::uint64_t count) { in_bursts(packets, count, select); };
        };
        subjects.push_back({both.expression, run([&both](std::span<const PacketView> burst) {
                                keep(both.interpreter.select(burst));
                            })});
        subjects.push_back({both.expression, run([&both](std::span<const PacketView> burst) {
                                keep(both.compiled.select(burst));
                            })});
    }
    return subjects;
}

int run(std::span<char*> arguments) {
    const bool only_checks = arguments.size() > 1 && std::string_view(arguments[1]) == "--check";
    const std::span<char*> captures = arguments.subspan(only_checks ? 2 : 1);
    demand(!captures.empty(), "filter_rate [--check] CAPTURE...");
    Frames frames;
    for (const char* const path : captures) {
        frames.add(path);
    }
    const std::vector<PacketView> packets = frames.views();
    demand(packets.size() >= kBurstPackets, "too few frames");
    std::vector<std::unique_ptr<Both>> filters;
    std::vector<std::size_t> passed;
    for (const char* const expression : kExpressions) {
        filters.push_back(std::make_unique<Both>(expression));
        passed.push_back(filters.back()->check(packets));
    }
    if (only_checks) {
        return EXIT_SUCCESS;
    }
    constexpr int kRounds = 15;
    constexpr std::uint64_t kPackets = std::uint64_t{1} << 19U;
    const std::vector<Figure> figures =
        measure_in_turn(subjects_of(filters, packets), kRounds, kPackets);
    auto json = nlohmann::ordered_json::object();
    std::vector<double> ratios;
    json["frames"] = packets.size();
    json["filters"] = nlohmann::ordered_json::array();
    for (std::size_t index = 0; index < filters.size(); ++index) {
        const Figure& interpreted = figures[2 * index];
        const Figure& compiled = figures[2 * index + 1];
        ratios.push_back(interpreted.median / compiled.median);
        json["filters"].push_back({{"filter", filters[index]->expression},
                                   {"execution", filters[index]->compiled.execution()},
                                   {"passed", passed[index]},
                                   {"libpcap_ns", interpreted.median},
                                   {"compiled_ns", compiled.median},
                                   {"ratio", ratios.back()}});
    }
    json["median_ratio"] = median_of(ratios);
    json["least_ratio"] = *std::ranges::min_element(ratios);
    std::cout << json.dump(2) << "\n";
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure(
        [&] { return tributary::perf::run(std::span(argv, static_cast<std::size_t>(argc))); });
}
