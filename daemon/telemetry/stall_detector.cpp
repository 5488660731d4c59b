// SPDX-License-Identifier: Apache-2.0
#include "daemon/telemetry/stall_detector.hpp"

#include <utility>

namespace tributary {

StallDetector::StallDetector(const std::vector<const ThreadLoad*>& threads, Uptime now) {
    seen_.reserve(threads.size());
    for (const ThreadLoad* const thread : threads) {
        seen_.push_back({.thread = thread, .rounds = thread->rounds.read(), .since = now});
    }
}

bool StallDetector::look(Uptime now) {
    bool all_go_on = true;
    for (Seen& seen : seen_) {
        const std::uint64_t rounds = seen.thread->rounds.read();
        const bool goes_on = rounds != seen.rounds;
        if (goes_on) {
            seen.rounds = rounds;
            seen.since = now;
        }
        const bool hangs = !goes_on && now - seen.since >= kPatience;
        if (hangs && !seen.hangs) {
            news_.push_back("thread " + seen.thread->thread + " hangs");
        } else if (goes_on && seen.hangs) {
            news_.push_back("thread " + seen.thread->thread + " goes on again");
        }
        seen.hangs = hangs;
        all_go_on = all_go_on && !hangs;
    }
    return all_go_on;
}

std::vector<std::string> StallDetector::hanging() const {
    std::vector<std::string> names;
    for (const Seen& seen : seen_) {
        if (seen.hangs) {
            names.push_back(seen.thread->thread);
        }
    }
    return names;
}

std::vector<std::string> StallDetector::take_news() { return std::exchange(news_, {}); }

}  // namespace tributary
