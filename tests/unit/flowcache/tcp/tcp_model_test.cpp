// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowcache/tcp/tcp_analysis.hpp"
#include "tests/support/tcp_model.hpp"
#include "tests/support/tcp_reference.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

constexpr std::size_t kFlows = 8;

/// Directions that share the TcpLossStates of one analysis.
struct Analysed {
    CacheCounters counters;
    std::array<TcpLossState, kFlows> loss_states{};
    TcpAnalysis analysis{FlowCacheOptions{}, loss_states, counters};
    std::array<TcpState, kFlows> states{};

    Analysed() {
        for (TcpState& state : states) {
            TcpAnalysis::begin(state);
        }
    }
    void add(std::size_t flow, const std::vector<TcpModel::Seen>& stream, std::size_t at) {
        const TcpModel::Seen& seen = stream[at];
        if (at > 0) {
            analysis.pause(states[flow], seen.seen_at - stream[at - 1].seen_at);
        }
        analysis.add(states[flow], seen.fields, seen.seen_at);
    }
    [[nodiscard]] TcpAnalysisGroup told(std::size_t flow) const {
        return analysis.report(states[flow]);
    }
    /// The flow has ended, and another begins.
    void renew(std::size_t flow) {
        analysis.end(states[flow]);
        TcpAnalysis::begin(states[flow]);
    }
};

TcpAnalysisGroup reference_of(const std::vector<TcpModel::Seen>& stream) {
    TcpReference reference;
    for (std::size_t at = 0; at < stream.size(); ++at) {
        if (at > 0) {
            reference.pause(stream[at].seen_at - stream[at - 1].seen_at);
        }
        reference.add(stream[at].fields, stream[at].seen_at);
    }
    return reference.found;
}

TcpModel::Host random_host(Random& random) {
    // one in four wraps soon, and one in eight at its first octet
    const std::uint32_t wraps_soon = 0xFFFF'FFFFU - (random.once_in(2) ? 0 : random.below(500));
    return {.initial_sequence =
                random.once_in(4) ? wraps_soon : static_cast<std::uint32_t>(random.next()),
            .is_ipv6 = random.once_in(3),
            .has_identification = !random.once_in(3)};
}

TcpModel::Parts random_parts(Random& random) {
    constexpr std::array kParts{TcpModel::Parts::as_before, TcpModel::Parts::joined,
                                TcpModel::Parts::other_boundaries};
    return kParts[random.below(kParts.size())];
}

/// What happens beside losses.
void play_event(TcpModel& model, Random& random) {
    switch (random.below(8)) {
        case 0:
            model.reorder(random.between(1, 40), random.between(1, 40));
            break;
        case 1:
            model.send_again_with_more(random.between(1, 40), random.between(1, 40));
            break;
        case 2:
            if (!model.stream().empty()) {
                model.probe(random.once_in(2));
            }
            break;
        case 3:
            model.acknowledge(true);
            break;
        case 4:
            model.acknowledge();
            break;
        default:
            model.send(random.between(1, 40));
    }
}

void play_step(TcpModel& model, Random& random, std::size_t most_lost) {
    const std::array<std::uint32_t, 2> octets{random.between(2, 40), random.between(2, 40)};
    switch (random.below(5)) {
        case 0:
            if (model.lost_pairs() < most_lost) {
                model.lose(octets, random.once_in(2), random.once_in(2));
            }
            break;
        case 1:
            model.repair(random_parts(random), random.once_in(4));
            break;
        case 2:
            if (model.remembered() > 0) {
                const auto remembered = static_cast<std::uint32_t>(model.remembered());
                model.copy(random.between(1, remembered));
            }
            break;
        default:
            play_event(model, random);
    }
}

/// A connection, or two, whose losses an analysis can hold: a lost pair is two holes at most, and
/// a late segment one.
TcpModel play_within_bounds(std::uint64_t seed) {
    Random random(seed);
    TcpModel model(seed, random_host(random));
    if (!random.once_in(4)) {  // else it is met in the middle
        model.open();
        if (random.once_in(8)) {
            model.open();
        }
    }
    const std::uint32_t connections = random.once_in(6) ? 2 : 1;
    for (std::uint32_t connection = 0; connection < connections; ++connection) {
        if (connection > 0) {
            model.reuse_ports(static_cast<std::uint32_t>(random.next()));
        }
        for (std::uint32_t steps = random.below(60); steps > 0; --steps) {
            play_step(model, random, 3);
        }
        if (random.once_in(8)) {
            model.reset();
            continue;
        }
        model.close(random.below(40));
        while (model.lost_pairs() > 0) {  // a FIN stops no retransmission
            model.repair(random_parts(random), false);
        }
        model.acknowledge();
        if (random.once_in(8)) {
            model.close(0);
        }
    }
    return model;
}

/// More holes than an analysis holds, most of the time; and no copies.
TcpModel play_with_many_holes(std::uint64_t seed) {
    Random random(seed);
    TcpModel model(seed, random_host(random));
    model.open();
    for (int step = 0; step < 200; ++step) {
        if (random.once_in(3)) {
            model.lose({random.between(2, 40), random.between(2, 40)}, random.once_in(2),
                       random.once_in(2));
        } else if (model.lost_pairs() > random.below(30)) {
            model.repair(random_parts(random), random.once_in(2));
        } else {
            play_event(model, random);
        }
    }
    return model;
}

/// Copies of segments long ago.
TcpModel play_late_copies(std::uint64_t seed) {
    Random random(seed);
    TcpModel model(seed, random_host(random));
    model.open();
    for (int step = 0; step < 100; ++step) {
        play_step(model, random, 3);
        if (random.once_in(4) && model.originals() > 0) {
            model.copy(random.between(1, static_cast<std::uint32_t>(model.originals())));
        }
    }
    return model;
}

}  // namespace

TEST_CASE("TcpAnalysis: thousands of connections are analysed without a miss or a false alarm",
          "[flowcache][unit]") {
    Analysed analysed;
    TcpAnalysisGroup all;
    for (std::uint64_t round = 0; round < 500; ++round) {
        std::vector<TcpModel> models;
        std::size_t longest = 0;
        for (std::uint64_t flow = 0; flow < kFlows; ++flow) {
            models.push_back(play_within_bounds(round * kFlows + flow));
            longest = std::max(longest, models.back().stream().size());
        }
        for (std::size_t at = 0; at < longest; ++at) {  // their segments come by turns
            for (std::size_t flow = 0; flow < kFlows; ++flow) {
                if (at < models[flow].stream().size()) {
                    analysed.add(flow, models[flow].stream(), at);
                }
            }
        }
        for (std::size_t flow = 0; flow < kFlows; ++flow) {
            INFO("seed " << round * kFlows + flow);
            const TcpAnalysisGroup& truth = models[flow].truth();
            REQUIRE(numbers_of(reference_of(models[flow].stream())) == numbers_of(truth));
            REQUIRE(numbers_of(analysed.told(flow)) == numbers_of(truth));
            analysed.renew(flow);
            all.retransmissions += truth.retransmissions;
            all.duplicates += truth.duplicates;
            all.out_of_order += truth.out_of_order;
            all.keep_alives += truth.keep_alives;
        }
    }
    CHECK(analysed.counters.tcp_segments_unjudged.read() == 0);
    CHECK(all.retransmissions > 10'000);  // there was something to be found
    CHECK(all.duplicates > 10'000);
    CHECK(all.out_of_order > 10'000);
    CHECK(all.keep_alives > 1'000);
}

TEST_CASE("TcpAnalysis: the records that the active timeout cuts sum up to the flow",
          "[flowcache][unit]") {
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        INFO("seed " << seed);
        const TcpModel model = play_within_bounds(seed);
        Random random(seed);
        Analysed analysed;
        std::array<std::uint64_t, 16> sum{};
        std::uint64_t sizes = 0;
        const auto end_record = [&] {
            const TcpAnalysisGroup told = analysed.told(0);
            sizes += told.has_size() ? 1 : 0;
            const auto numbers = numbers_of(told);
            for (std::size_t i = 0; i < sum.size(); ++i) {
                sum[i] += numbers[i];
            }
            analysed.analysis.begin_next_record(analysed.states[0]);
        };
        for (std::size_t at = 0; at < model.stream().size(); ++at) {
            analysed.add(0, model.stream(), at);
            if (random.once_in(20)) {
                end_record();
            }
        }
        end_record();
        const auto truth = numbers_of(model.truth());
        for (const std::size_t counted : {0U, 2U, 3U, 4U, 5U, 6U, 7U, 12U, 13U, 14U, 15U}) {
            CHECK(sum[counted] == truth[counted]);
        }
        CHECK(sizes <= model.truth().syn);  // ports may be used again
        CHECK(sizes >= (model.truth().has_size() ? 1 : 0));
    }
}

TEST_CASE("TcpAnalysis: too many holes make overflow, and no false retransmission",
          "[flowcache][unit]") {
    std::uint64_t unjudged = 0;
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        INFO("seed " << seed);
        const TcpModel model = play_with_many_holes(seed);
        const TcpAnalysisGroup reference = reference_of(model.stream());
        REQUIRE(numbers_of(reference) == numbers_of(model.truth()));
        Analysed analysed;
        for (std::size_t at = 0; at < model.stream().size(); ++at) {
            analysed.add(0, model.stream(), at);
        }
        const TcpAnalysisGroup told = analysed.told(0);
        CHECK(told.retransmissions <= reference.retransmissions);
        CHECK(told.retransmitted_octets <= reference.retransmitted_octets);
        CHECK(told.out_of_order <= reference.out_of_order);
        CHECK(reference.retransmissions + reference.out_of_order <=
              told.retransmissions + told.out_of_order + told.overflow);
        CHECK(told.keep_alives == reference.keep_alives);
        CHECK(told.duplicates == 0);
        CHECK(analysed.counters.tcp_segments_unjudged.read() == told.overflow);
        unjudged += told.overflow;
    }
    CHECK(unjudged > 1'000);
}

TEST_CASE("TcpAnalysis: a copy that comes too late is a retransmission at most",
          "[flowcache][unit]") {
    std::uint64_t missed = 0;
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        INFO("seed " << seed);
        const TcpModel model = play_late_copies(seed);
        const TcpAnalysisGroup reference = reference_of(model.stream());
        REQUIRE(numbers_of(reference) == numbers_of(model.truth()));
        Analysed analysed;
        for (std::size_t at = 0; at < model.stream().size(); ++at) {
            analysed.add(0, model.stream(), at);
        }
        const TcpAnalysisGroup told = analysed.told(0);
        REQUIRE(told.duplicates <= reference.duplicates);
        const std::uint32_t missed_here = reference.duplicates - told.duplicates;
        CHECK(told.overflow == 0);
        CHECK(told.out_of_order == reference.out_of_order);
        CHECK(told.retransmissions >= reference.retransmissions);
        CHECK(told.retransmissions <= reference.retransmissions + missed_here);
        missed += missed_here;
    }
    CHECK(missed > 1'000);
}
