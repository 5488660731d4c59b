// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "flowcache/record/options.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

/// How a packet's fields are found.
enum class ParseMode : std::uint8_t {
    full,            ///< by walking the headers in the captured bytes
    trimmed,         ///< the same, in the first bytes of the frame only
    unified_header,  ///< the sender has parsed the packets and sends their fields
};

/// The octets of a frame that the trimmed path reads.
inline constexpr std::uint16_t kDefaultTrimLength = 128;

/// How the frames of an input are parsed.
///
/// @param mode         full or trimmed
/// @param trim_length  octets of a frame that the trimmed path looks at
[[nodiscard]] constexpr ParseOptions parse_options(const FlowCacheOptions& flows, ParseMode mode,
                                                   std::uint16_t trim_length) noexcept {
    ParseOptions options{.tunnel = flows.tunnel,
                         .mac_addresses = flows.mac_addresses,
                         .mpls_pseudowires = flows.mpls_pseudowires,
                         .llc_snap = flows.llc_snap,
                         .tcp_segments = flows.tcp_analysis};
    if (mode == ParseMode::trimmed) {
        options.keep_cut_headers = true;
        options.most_bytes = trim_length;
    }
    return options;
}

/// What cuts the packets of the trimmed path.
enum class TrimmedBy : std::uint8_t {
    driver,  ///< the NIC: its driver has it put the first octets into buffers of their own
    source,  ///< the source: packets come cut, or whole and only their first octets are read
};

/// The fields by which the NIC spreads packets over its queues.
enum class RssMode : std::uint8_t {
    ip,         ///< addresses only: fragments stay with their flow
    ip_and_l4,  ///< addresses and ports: spreads better, separates fragments from their flow
};

/// How an input's threads wait for packets.
enum class PollMode : std::uint8_t {
    busy,      ///< poll on: no packet waits, and the core is always busy
    adaptive,  ///< wait for the NIC's interrupt, or sleep as long as its queues can hold the
               ///< packets
};

struct InputOptions {
    std::string name;    ///< in logs and metrics; default: the device
    std::string device;  ///< PCI address, af_packet:IFNAME, af_xdp:IFNAME, or any DPDK vdev string
    std::uint32_t interface_index = 0;  ///< ingressInterface; 0: position in the list, from 1
    std::uint16_t queues = 1;           ///< 1 .. 1024
    ParseMode parse = ParseMode::full;
    std::uint16_t trim_length = kDefaultTrimLength;  ///< `trimmed` only; 64 .. 256
    TrimmedBy trimmed_by = TrimmedBy::driver;        ///< `trimmed` only
    std::string filter;                              ///< pcap expression; empty: all frames
    std::uint32_t sampling = 1;                      ///< 1 in N of the frames that pass
    SamplingMethod sampling_method = SamplingMethod::count;
    RssMode rss = RssMode::ip_and_l4;
    PollMode poll = PollMode::busy;
    bool promiscuous = true;
    std::uint16_t mtu = 0;  ///< octets of IP packet that a buffer must hold; 68 .. 16000;
                            ///< 0: the interface's, if the device is one (with_mtu())
    std::uint16_t rx_descriptors = 4096;  ///< per queue; the driver may take fewer
    std::uint32_t mempool_size = 0;  ///< buffers for this input; 0: from queues and descriptors
    /// Buffers, beside those, that packets which stages of one queue keep may hold at a time.
    std::uint32_t kept_buffers = 0;
};

/// A device that frames are sent to.
struct OutputOptions {
    std::string device;                   ///< as InputOptions::device
    std::uint16_t queues = 1;             ///< one for each stream
    std::uint16_t mtu = 0;                ///< octets of the longest IP packet that is sent
    std::uint16_t tx_descriptors = 1024;  ///< per queue; the driver may take fewer
};

enum class NumaPolicy : std::uint8_t { strict, warn, off };

struct CoreOptions {
    std::vector<std::uint32_t> export_cores;  ///< empty: auto
    std::vector<std::uint32_t> input_cores;   ///< in the order of inputs and queues; empty: auto
    std::vector<std::uint32_t> helper_cores;  ///< of all other threads; empty: the export thread's
    NumaPolicy numa = NumaPolicy::strict;
};

/// How much of a frame a recorder keeps.
enum class SnapMode : std::uint8_t {
    full,     ///< all that came of it
    headers,  ///< up to the end of the transport header of its metered packet
    octets,   ///< so many of its first octets
};

/// The packet recorder: the last packets in memory.
struct RecorderOptions {
    /// Octets that a ring keeps of the longest frame.
    static constexpr std::uint32_t kMostOctets = 65'536;

    std::uint64_t memory = 0;  ///< octets, of all queues together; 0: there is no recorder
    SnapMode snap = SnapMode::full;
    std::uint32_t snap_octets = 0;    ///< SnapMode::octets; 1 .. kMostOctets
    std::uint32_t cutoff = 0;         ///< octets of payload of each direction of a flow; 0: all
    std::string filter;               ///< pcap expression; empty: all frames
    std::vector<std::string> inputs;  ///< by name; empty: all
    bool all_frames = false;          ///< also those that an input's filter or sampling leaves out
    std::string socket = "auto";      ///< a path
    std::string group;                ///< that may use the socket; empty: its owner alone

    /// Whether the input of this name is recorded.
    [[nodiscard]] bool records(const std::string& input) const {
        return memory != 0 && (inputs.empty() || std::ranges::find(inputs, input) != inputs.end());
    }
};

/// Which packets a trigger has written.
enum class TriggerPackets : std::uint8_t {
    flow,   ///< with the key of the record
    hosts,  ///< from or to one of the addresses of the record
    all,
};

/// How often a trigger may have a file written.
struct TriggerRate {
    std::uint32_t files = 6;  ///< from 1
    std::chrono::seconds period{60};
};

inline constexpr std::size_t kMostTriggers = 16;

/// Has packets written when a flow meets a condition.
struct TriggerOptions {
    std::string name;            ///< is_table_name()
    std::string when;            ///< in the language of FlowFilter
    std::string table = "main";  ///< by name
    TriggerPackets packets = TriggerPackets::flow;
    std::chrono::milliseconds before{30'000};
    std::chrono::milliseconds after{30'000};
    std::string directory = "auto";                      ///< of its files
    std::uint64_t max_octets = std::uint64_t{1} << 30U;  ///< of its files together
    TriggerRate rate{};
};

/// Offline metering (`--read`).
struct ReadOptions {
    std::uint16_t queues = 1;           ///< workers that share the packets; 1 .. 256
    std::uint32_t interface_index = 1;  ///< ingressInterface of every packet of a capture
    ParseMode parse = ParseMode::full;
    std::uint16_t trim_length = kDefaultTrimLength;  ///< `trimmed` only; 64 .. 256
    std::string filter;                              ///< pcap expression; empty: all frames
    std::uint32_t sampling = 1;                      ///< 1 in N of the frames that pass
    SamplingMethod sampling_method = SamplingMethod::count;
    std::uint32_t kept_buffers = 0;  ///< as InputOptions::kept_buffers
};

}  // namespace tributary
