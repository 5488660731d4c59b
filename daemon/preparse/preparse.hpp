// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "conf/config.hpp"
#include "daemon/base/signals.hpp"
#include "daemon/port/transmit_port.hpp"

namespace tributary {

/// The job of `tributary preparse`.
struct PreparseJob {
    /// Read in this order as one stream; empty: packets come from the configuration's one input.
    std::vector<std::string> captures;
    std::string to_device;     ///< as InputOptions::device; empty: to_capture
    std::string to_capture;    ///< a pcap file
    std::uint16_t mtu = 1500;  ///< octets of the longest frame to send, after its Ethernet header
    std::uint32_t first_stream = 0;      ///< number of the first stream, at most
                                         ///< kHighestFirstStream; the others follow
    MacAddress destination{};            ///< of the frames
    std::chrono::seconds link_wait{10};  ///< at most, for to_device's link to come up
    std::string stats_path;              ///< ledger as JSON at exit; empty: none
};

/// Octets of the smallest mtu: a frame with one record of version 2.
inline constexpr std::uint16_t kSmallestPreparseMtu = 98;
/// With as many streams as an input can have queues, the last number still fits.
inline constexpr std::uint32_t kHighestFirstStream = 0xffff'ffff - 1023;

/// Parses packets and sends their fields as unified headers (docs/unified-header.md), for a
/// tributaryd with `parse: unified-header`.
///
///     receive queue 0: thread, parse, frame of records --transmit queue 0-->  stream 0
///     receive queue N: thread, parse, frame of records --transmit queue N-->  stream N
///
/// Packets of NICs never wait: those that the output does not take are lost, by cause. Captures
/// wait for the output, so none of their packets is lost.
///
/// @param config  how packets are parsed: its flows options, and its input or read options
/// @return        exit code: 0; 66 a capture could not be read, the packets before are sent; 74 the
///                output could not be written; 128 + signal when the reading of captures was
///                interrupted
/// @errors        StartupError: it could not start
/// @thread        main
[[nodiscard]] int run_preparse(const PreparseJob& job, const Config& config, Signals& signals);

}  // namespace tributary
