// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <span>
#include <utility>

#include "flowcache/flow_cache.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/held_flows.hpp"

// Input: a byte that chooses the cache, then commands of two bytes: packets, one a burst, of a few
// flows, whose flags end connections; the clock, which may go back; a sink that is full; holders
// that hold, let go, come and leave, in notices too; ends from outside. HeldFlows is the model of
// who is told what. Each record that a holder was told of has to leave, in that order, or to be
// counted as lost.
namespace tributary::test {

namespace {

void demand(bool holds, const char* what) {
    if (!holds) {
        std::cerr << what << "\n";
        std::abort();
    }
}

class FuzzedCache {
public:
    explicit FuzzedCache(unsigned how)
        : options_{.key = (how & 32U) != 0 ? masked_key() : KeyDescriptor{},
                   .max_flows = 1U << (how & 3U),
                   .idle_timeout = std::chrono::seconds{10},
                   .active_timeout = std::chrono::seconds{(how & 4U) != 0 ? 5 : 60},
                   .direction = is_biflow(how) ? FlowDirection::biflow : FlowDirection::uniflow,
                   .tcp_end = (how & 16U) != 0,
                   .tcp_analysis = true,
                   .flow_holders = true},
          harness_(options_, RecordLayout::of(groups_of<TcpAnalysisGroup>(), options_.direction)),
          held_(harness_.cache, options_) {
        static_cast<void>(held_.add(1));
        held_.in_notice = [this](std::size_t holder, FlowHandle flow) {
            // What it may do is chosen by the command before.
            const std::size_t other = 1 + (argument_ >> 2U) % kOthers;
            if ((argument_ & 1U) != 0 && held_.has(other)) {
                held_.let_go(flow, other);
            } else if ((argument_ & 2U) != 0) {
                held_.hold(last_, holder);
            }
            demand(!harness_.cache.end(last_, FlowEndReason::forced_end, harness_.sink),
                   "a flow was ended in a notice");
        };
    }

    void carry_out(unsigned command, unsigned argument) {
        argument_ = argument;
        const std::size_t holder = 1 + argument % kOthers;
        switch (command % 12) {
            case 0:
                clock_ += std::chrono::milliseconds{argument * 50};
                break;
            case 1:
                clock_ -= std::chrono::milliseconds{argument * 10};
                break;
            case 2:
                harness_.sink.room = (argument & 1U) != 0
                                         ? ~std::size_t{0}
                                         : harness_.sink.records.size() + argument / 128;
                break;
            case 3:
                harness_.cache.expire_some(clock_, argument, harness_.sink);
                break;
            case 4:
                if (held_.has(holder)) {
                    held_.hold(last_, holder);
                }
                break;
            case 5:
                if (held_.has(holder)) {
                    held_.let_go(last_, holder);
                }
                break;
            case 6:
                if (held_.has(holder)) {
                    held_.remove(holder);
                } else {
                    static_cast<void>(held_.add(holder));  // none is free until a sweep
                }
                break;
            case 7:
                static_cast<void>(
                    harness_.cache.end(last_, FlowEndReason::forced_end, harness_.sink));
                break;
            default:
                packet(argument);
                break;
        }
        compare();
        held_.check_all();
        held_.check(last_);
    }
    void finish() {
        harness_.sink.room = ~std::size_t{0};
        while (!harness_.cache.end_all(clock_, harness_.sink)) {
        }
        compare();
        demand(held_.count() == 0, "a flow has not ended");
        demand(lost_ + held_.told.size() == harness_.counters.lost_ring_full.read().records,
               "a record is gone");
        demand(held_.records == harness_.counters.flows_created.read(),
               "a record has ended in silence");
    }

private:
    static constexpr std::size_t kOthers = 3;
    [[nodiscard]] static bool is_biflow(unsigned how) { return (how & 8U) != 0; }
    /// Under it four of the flows are one.
    [[nodiscard]] static KeyDescriptor masked_key() {
        KeyDescriptor key;
        key.source = key.destination = {.ipv4 = 6, .ipv6 = 0};
        key.source_port = key.destination_port = false;
        return key;
    }

    void packet(unsigned argument) {
        PacketFields fields = flow_packet(argument & 7U);
        fields.protocol = ip_protocol::kTcp;
        constexpr std::array<std::uint16_t, 4> kFlags{tcp_flag::kAck, tcp_flag::kSyn,
                                                      tcp_flag::kFin, tcp_flag::kRst};
        fields.tcp_control_bits = kFlags[argument >> 3U & 3U];
        fields.has_tcp_segment = true;
        fields.tcp = {.sequence = 1000 * (argument >> 5U), .payload_bytes = 500};
        if ((argument & 0x80U) != 0) {
            std::swap(fields.source, fields.destination);
            std::swap(fields.source_port, fields.destination_port);
        }
        const PacketView view{.ingress_interface = {1}, .seen_at = clock_, .clock = clock_};
        harness_.burst.clear();
        harness_.burst.add(view, fields);
        const std::span<KeyedPacket> keyed = harness_.burst.finish();
        harness_.cache.account(keyed, harness_.sink);
        held_.hold_begun(keyed);
        last_ = harness_.cache.flow_of(keyed[0]).value();
        demand(harness_.cache.handle_of(keyed[0]) == last_, "the flow behind a packet is another");
    }
    /// The records of the sink are those that the holder of all was told of, but for lost ones.
    void compare() {
        held_.check();
        demand(held_.fault.empty(), held_.fault.c_str());
        for (; compared_ < harness_.sink.records.size(); ++compared_) {
            while (!held_.told.empty() &&
                   std::memcmp(&held_.told.front(), &harness_.sink.records[compared_],
                               sizeof held_.told.front()) != 0) {
                held_.told.pop_front();
                ++lost_;
            }
            demand(!held_.told.empty(), "a record left that nobody was told of");
            held_.told.pop_front();
        }
    }

    using Harness = CacheHarness<272>;

    FlowCacheOptions options_;
    Harness harness_;
    HeldFlows<Harness::Cache> held_;
    Timestamp clock_ = at_ms(1'700'000'000'000);
    FlowHandle last_;  ///< of the last packet; it may have ended
    unsigned argument_ = 0;
    std::size_t compared_ = 0;  ///< records of the sink
    std::uint64_t lost_ = 0;
};

}  // namespace

}  // namespace tributary::test

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 0) {
        tributary::test::FuzzedCache cache(data[0]);
        for (std::size_t at = 1; at + 1 < size; at += 2) {
            cache.carry_out(data[at], data[at + 1]);
        }
        cache.finish();
    }
    return 0;
}
