// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "flowcache/fields/field_groups.hpp"
#include "flowcache/record/key_descriptor.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

/// The directions in one record.
enum class FlowDirection : std::uint8_t {
    uniflow,  ///< one direction of a conversation
    biflow,   ///< both (RFC 5103), where KeyMasks::can_be_paired()
};

/// The ports of later fragments, which do not carry any.
enum class FragmentMode : std::uint8_t {
    zero,   ///< 0
    track,  ///< those of the first fragment, as long as they are kept
};

/// How packets are sampled.
enum class SamplingMethod : std::uint8_t {
    count,   ///< each Nth packet of a queue
    random,  ///< each packet with the probability 1/N
};

struct SamplingOptions {
    std::uint32_t one_in = 1;  ///< N; 1: every packet
    SamplingMethod method = SamplingMethod::count;
};

struct FlowCacheOptions {
    KeyDescriptor key{};                    ///< what packets of one flow have in common
    std::uint32_t max_flows = 1'048'576;    ///< per queue, IPv4 and IPv6 together; 1 .. 2^30
    std::chrono::seconds idle_timeout{30};  ///< 1 .. 2^31 s
    std::chrono::seconds active_timeout{
        300};  ///< 1 .. 2^31 s; no relation to idle_timeout is required
    FlowDirection direction = FlowDirection::uniflow;
    bool initiator_by_port = false;  ///< biflow: of flows met in the middle, is_initiator()
    bool tcp_end = false;            ///< a connection's end ends its record: TcpEnd
    std::chrono::seconds tcp_end_timeout{2};      ///< 1 .. 2^31 s: of a record whose end was seen;
                                                  ///< never longer than idle_timeout
    TunnelMode tunnel = TunnelMode::outer;        ///< which IP header the key is taken from
    MacMode mac_addresses = MacMode::inner;       ///< of which Ethernet frame, in tunnels
    FragmentMode fragments = FragmentMode::zero;  ///< ports of later fragments
    std::chrono::seconds fragment_timeout{0};     ///< 0 .. 2^31 s; 0: no limit by time
    bool mpls_pseudowires = false;                ///< look into Ethernet frames inside MPLS
    bool llc_snap = false;                        ///< IP behind LLC and SNAP headers is IP
    bool tcp_analysis = false;                    ///< retransmissions and the like (TcpAnalysis)
    /// After a longer silence of its direction a segment is no duplicate of an earlier one.
    std::chrono::milliseconds tcp_duplicate_time{1000};
    /// After a longer silence it is no retransmission of earlier octets; 0: it always is.
    std::chrono::milliseconds tcp_retransmission_time{0};
    bool flow_holders = false;  ///< stages may hold flows (FlowHolder), at two octets an entry
    bool dump_files = false;    ///< records have the number of the file that a trigger wrote
};

/// The groups that records have under these options. Group tcp-analysis is there with TCP analysis,
/// group packet-dump with triggers of the table.
/// Group tunnel follows `flows.tunnel` alone: with `inner` a record carries its tunnel, because the
/// outer header is in no other record; with `outer` tunnels are not parsed, so there is nothing to
/// carry.
[[nodiscard]] inline FieldGroups effective_groups(const FieldGroups& asked,
                                                  const FlowCacheOptions& options) noexcept {
    FieldGroups effective;
    lasting_groups().for_each([&](FieldGroupId id) {
        switch (field_group(id).chosen_by) {
            case ChosenBy::fields:
                effective.set(id, asked.has(id));
                break;
            case ChosenBy::tunnel:
                effective.set(id, options.tunnel == TunnelMode::inner);
                break;
            case ChosenBy::tcp_analysis:
                effective.set(id, options.tcp_analysis);
                break;
            case ChosenBy::triggers:
                effective.set(id, options.dump_files);
                break;
            case ChosenBy::table:
                break;
        }
    });
    return effective;
}

}  // namespace tributary
