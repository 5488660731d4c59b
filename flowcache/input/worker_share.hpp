// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "flowcache/record/address_words.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {

/// Which of `workers` meters the packets between two hosts: the same for both directions, and for
/// every run.
///
/// @return  below `workers`
/// @cost    no allocation, no loop
[[nodiscard]] inline std::uint16_t worker_of(const AddressWords& source,
                                             const AddressWords& destination,
                                             std::uint16_t workers) noexcept {
    // XOR and sum are the same both ways round; together they distinguish pairs whose XOR is equal,
    // such as all of x and x + 1. The multipliers are XXH64's odd primes.
    std::uint64_t mix = (source.low ^ destination.low) * 0x9E37'79B1'85EB'CA87U;
    mix = (mix ^ mix >> 32U ^ (source.low + destination.low)) * 0xC2B2'AE3D'27D4'EB4FU;
    mix = (mix ^ mix >> 32U ^ (source.high ^ destination.high)) * 0x9E37'79B1'85EB'CA87U;
    mix = (mix ^ mix >> 32U ^ (source.high + destination.high)) * 0xC2B2'AE3D'27D4'EB4FU;
    mix = (mix ^ mix >> 29U) * 0x1656'67B1'9E37'79F9U;
    return static_cast<std::uint16_t>((mix >> 32U) * workers >>
                                      32U);  // top bits, scaled to 0 .. workers-1
}

/// The worker that meters a packet with these fields.
///
/// @return  below `workers`
[[nodiscard]] inline std::uint16_t worker_of(const PacketFields& fields,
                                             std::uint16_t workers) noexcept {
    return worker_of(words_of(fields.source, fields.ip_version),
                     words_of(fields.destination, fields.ip_version), workers);
}

/// The packets of a stream that one of several workers meters. Each worker reads the whole stream.
/// Packets in no flow are worker 0's.
struct WorkerShare {
    std::uint16_t worker = 0;  ///< below `workers`
    std::uint16_t workers = 1;
    bool is_numbered = false;  ///< bursts have the numbers of their packets (FrameBurst::numbers);
                               ///< with more than one worker

    [[nodiscard]] bool is_everything() const noexcept { return workers == 1; }
    [[nodiscard]] bool has_packets_without_flow() const noexcept { return worker == 0; }
    [[nodiscard]] bool has(const PacketFields& fields) const noexcept {
        return worker_of(fields, workers) == worker;
    }
};

}  // namespace tributary
