// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "flowcache/flow_cache.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/other_direction.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

struct Packet {
    std::uint32_t conversation;
    bool is_from_second;
    std::uint16_t flags;
    Timestamp time;
    Timestamp clock;
};

/// Records that TCP packets must give with and without `tcp_end`, in a std::map: every packet is
/// tested against all deadlines of its conversation, and nothing else ends a record. Of uniflows
/// each direction is a conversation of its own, which only the first end takes part in.
class ReferenceConnections {
public:
    explicit ReferenceConnections(const FlowCacheOptions& options)
        : options_(options), is_biflow_(options.direction == FlowDirection::biflow) {}

    /// Conversation, whether its second end is the source, biflowDirection, packets from the source
    /// and to it, flags of either, first and last packet, reason.
    using Line = std::tuple<std::uint32_t, bool, BiflowDirection, std::array<std::uint64_t, 2>,
                            std::array<std::uint16_t, 2>, Timestamp, Timestamp, FlowEndReason>;

    void packet(const Packet& packet) {
        const std::uint32_t key = packet.conversation * 2 + of_direction(packet.is_from_second);
        end_if_due(key, packet.clock);
        const bool has_syn = (packet.flags & tcp_flag::kSyn) != 0;
        const bool is_initial = has_syn && (packet.flags & tcp_flag::kAck) == 0;
        const auto found = talks_.find(key);
        if (found != talks_.end() && has_syn && is_over(found->second)) {
            end(key, FlowEndReason::end_of_flow);
        }
        if (talks_.find(key) == talks_.end()) {
            Talk talk;
            talk.source_is_second = packet.is_from_second != (is_biflow_ && has_syn && !is_initial);
            talk.is_guess = is_biflow_ && !has_syn;
            talks_[key] = talk;
        }
        Talk& talk = talks_[key];
        if (talk.is_guess && is_initial) {  // the initiator is the source
            talk.is_guess = false;
            talk.source_is_second = packet.is_from_second;
        }
        add(talk, packet);
    }
    std::vector<Line> finish_all(Timestamp clock) {
        std::vector<std::uint32_t> keys;
        for (const auto& [key, talk] : talks_) {
            keys.push_back(key);
        }
        for (const std::uint32_t key : keys) {
            end_if_due(key, clock);
            if (talks_.find(key) != talks_.end()) {
                end(key, FlowEndReason::forced_end);
            }
        }
        std::ranges::sort(lines_);
        return lines_;
    }

private:
    struct Talk {
        bool source_is_second{};
        bool is_guess{};
        std::array<std::uint64_t, 2> packets{};  ///< of the first and the second end
        std::array<std::uint16_t, 2> flags{};
        std::array<bool, 2> has_finished{};  ///< in any record of the conversation
        bool end_was_seen{};                 ///< in this record
        Timestamp start{};
        Timestamp end{};

        [[nodiscard]] bool has_record() const { return packets[0] + packets[1] > 0; }
    };

    [[nodiscard]] std::uint32_t of_direction(bool is_from_second) const {
        return is_biflow_ || !is_from_second ? 0 : 1;
    }
    /// A SYN is of another connection.
    [[nodiscard]] bool is_over(const Talk& talk) const {
        return options_.tcp_end &&
               (talk.has_record() ? talk.end_was_seen
                                  : talk.has_finished[0] && talk.has_finished[1]);
    }
    void add(Talk& talk, const Packet& packet) const {
        const std::size_t sender = packet.is_from_second ? 1 : 0;
        if (!talk.has_record()) {
            talk.start = talk.end = packet.time;
        }
        talk.start = std::min(talk.start, packet.time);
        talk.end = std::max(talk.end, packet.time);
        ++talk.packets[sender];
        talk.flags[sender] |= packet.flags;
        const bool is_reset = (packet.flags & tcp_flag::kRst) != 0;
        const bool finishes = (packet.flags & tcp_flag::kFin) != 0;
        talk.has_finished[sender] |= finishes || is_reset;
        talk.has_finished[1 - sender] |= is_reset || (finishes && !is_biflow_);
        talk.end_was_seen |= (finishes || is_reset) && talk.has_finished[0] && talk.has_finished[1];
    }
    void end_if_due(std::uint32_t key, Timestamp clock) {
        const auto found = talks_.find(key);
        if (found == talks_.end()) {
            return;
        }
        const Talk& talk = found->second;
        const bool is_closed = options_.tcp_end && talk.end_was_seen;
        const auto silence = is_closed ? std::min(options_.idle_timeout, options_.tcp_end_timeout)
                                       : options_.idle_timeout;
        const Timestamp silent = talk.end + silence;
        const Timestamp active = talk.start + options_.active_timeout;
        if (talk.has_record() && clock > active &&
            (active < silent || (is_closed && active == silent))) {
            end(key, FlowEndReason::active_timeout);
            end_if_due(key, clock);
        } else if (clock > silent) {
            end(key, is_closed ? FlowEndReason::end_of_flow : FlowEndReason::idle_timeout);
        }
    }
    void end(std::uint32_t key, FlowEndReason reason) {
        Talk& talk = talks_.at(key);
        if (talk.has_record()) {
            const std::size_t source = talk.source_is_second ? 1 : 0;
            lines_.emplace_back(
                key / 2, talk.source_is_second,
                talk.is_guess ? BiflowDirection::arbitrary : BiflowDirection::initiator,
                std::array{talk.packets[source], talk.packets[1 - source]},
                std::array{talk.flags[source], talk.flags[1 - source]}, talk.start, talk.end,
                reason);
        }
        if (reason != FlowEndReason::active_timeout) {
            talks_.erase(key);
            return;
        }
        talk.packets = {};
        talk.flags = {};
        talk.end_was_seen = false;
    }

    FlowCacheOptions options_;
    bool is_biflow_;
    std::map<std::uint32_t, Talk> talks_;
    std::vector<Line> lines_;
};

/// Some are late; now and then it is silent.
std::vector<Packet> random_packets(std::uint32_t seed) {
    constexpr std::array<std::uint16_t, 8> kFlags{
        tcp_flag::kSyn,
        tcp_flag::kSyn | tcp_flag::kAck,
        tcp_flag::kFin | tcp_flag::kAck,
        tcp_flag::kFin | tcp_flag::kAck,
        tcp_flag::kRst,
        tcp_flag::kRst | tcp_flag::kAck,
        tcp_flag::kSyn | tcp_flag::kRst,
        tcp_flag::kSyn | tcp_flag::kFin,
    };
    std::mt19937 random(seed);
    std::vector<Packet> packets;
    Timestamp clock = at_ms(1'700'000'000'000);
    for (int n = 0; n < 30'000; ++n) {
        clock += std::chrono::nanoseconds(random() % 40'000'000);
        if (random() % 2000 == 0) {
            clock += std::chrono::milliseconds(random() % 8000);
        }
        if (random() % 50 == 0) {  // deadlines are met to the nanosecond, too
            clock = Timestamp{std::chrono::ceil<std::chrono::seconds>(clock.time_since_epoch())};
        }
        const bool is_special = random() % 3 == 0;
        const bool is_late = random() % 10 == 0;
        packets.push_back(
            {static_cast<std::uint32_t>(random() % 60), random() % 2 == 0,
             is_special ? kFlags[random() % kFlags.size()] : std::uint16_t{tcp_flag::kAck},
             is_late ? clock - std::chrono::milliseconds(random() % 3000) : clock, clock});
    }
    return packets;
}

TimedPacket timed(const Packet& packet) {
    PacketFields fields = flow_packet(packet.conversation);
    fields.protocol = ip_protocol::kTcp;
    fields.destination = ip_address("0.0.7.0");  // now the smaller end, now the greater
    fields.source_port = {40000};
    fields.destination_port = {443};
    fields.tcp_control_bits = packet.flags;
    if (packet.is_from_second) {
        fields = other_direction(fields);
    }
    return {fields, packet.time, packet.clock};
}

template <std::size_t kBytes>
std::vector<ReferenceConnections::Line> lines_of(std::vector<FlowRecord<kBytes>>& records,
                                                 const RecordLayout& layout) {
    std::vector<ReferenceConnections::Line> lines;
    for (auto& record : records) {
        const FlowRecordCore& core = record.core;
        const ReverseGroup none{};
        const ReverseGroup& reverse =
            layout.reverse_at != 0 ? record.template group<ReverseGroup>(layout.reverse_at) : none;
        const bool source_is_second = core.key.source_port.value == 443;
        const IpAddress& first = source_is_second ? core.key.destination : core.key.source;
        const bool has_reverse = reverse.packets != 0;
        lines.emplace_back(std::to_integer<std::uint32_t>(first[0]), source_is_second,
                           reverse.biflow_direction, std::array{core.packets, reverse.packets},
                           std::array{core.tcp_control_bits, reverse.tcp_control_bits},
                           has_reverse ? std::min(core.start, reverse.start) : core.start,
                           has_reverse ? std::max(core.end, reverse.end) : core.end,
                           core.end_reason);
    }
    std::ranges::sort(lines);
    return lines;
}

}  // namespace

TEST_CASE("tcp_end: random connections give the records of the slow reference",
          "[flowcache][unit]") {
    const auto seed = GENERATE(1U, 2U, 3U, 4U);
    const FlowDirection direction = GENERATE(FlowDirection::uniflow, FlowDirection::biflow);
    const bool tcp_end = GENERATE(true, false);
    const std::size_t most_in_burst = GENERATE(std::size_t{1}, kBurstPackets);
    const FlowCacheOptions options{.max_flows = 200,
                                   .idle_timeout = std::chrono::seconds(seed == 3 ? 1 : 3 + seed),
                                   .active_timeout = std::chrono::seconds(seed % 2 == 0 ? 3 : 20),
                                   .direction = direction,
                                   .tcp_end = tcp_end};
    const RecordLayout layout = RecordLayout::of({}, direction);
    const std::vector<Packet> packets = random_packets(seed);
    ReferenceConnections reference(options);
    std::vector<TimedPacket> all;
    for (const Packet& packet : packets) {
        reference.packet(packet);
        all.push_back(timed(packet));
    }
    CacheHarness<144> harness(options, layout);
    std::mt19937 random(seed);
    harness.packets_in_bursts(all, most_in_burst, random, [&](Timestamp now) {
        if (seed > 1) {  // in one run records end by packets and end_all() alone
            harness.cache.expire_some(now, random() % (8 * most_in_burst), harness.sink);
        }
    });
    const Timestamp clock = packets.back().clock;
    CHECK(harness.cache.end_all(clock, harness.sink));
    const auto expected = reference.finish_all(clock);
    CHECK((lines_of(harness.sink.records, layout) == expected));
    CHECK(harness.counters.flows_created.read() == expected.size());
    CHECK(harness.counters.entries.read() == 0);
    CHECK(
        harness.counters.ended[static_cast<std::size_t>(FlowEndReason::lack_of_resources)].read() ==
        0);
    const auto& ends = harness.counters.ended[static_cast<std::size_t>(FlowEndReason::end_of_flow)];
    CHECK((ends.read() > 500) == tcp_end);
}
