// SPDX-License-Identifier: Apache-2.0
#include "daemon/thread_watch.hpp"

#include <utility>

namespace tributary {

ThreadWatch::ThreadWatch(std::vector<WatchedThread> threads, Uptime now) {
    for (WatchedThread& thread : threads) {
        const std::uint64_t rounds = thread.rounds->read();
        seen_.push_back({.thread = std::move(thread), .rounds = rounds, .since = now});
    }
}

bool ThreadWatch::look(Uptime now) {
    bool all_go_on = true;
    for (Seen& seen : seen_) {
        const std::uint64_t rounds = seen.thread.rounds->read();
        const bool goes_on = rounds != seen.rounds;
        if (goes_on) {
            seen.rounds = rounds;
            seen.since = now;
        }
        const bool hangs = !goes_on && now - seen.since >= kPatience;
        if (hangs && !seen.hangs) {
            news_.push_back("thread " + seen.thread.name + " hangs");
        } else if (goes_on && seen.hangs) {
            news_.push_back("thread " + seen.thread.name + " goes on again");
        }
        seen.hangs = hangs;
        all_go_on = all_go_on && !hangs;
    }
    return all_go_on;
}

std::vector<std::string> ThreadWatch::take_news() { return std::exchange(news_, {}); }

}  // namespace tributary
