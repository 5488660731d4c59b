// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/recorder/packet_dump.hpp"
#include "daemon/trigger/trigger_set.hpp"
#include "export/threads/helper_thread.hpp"
#include "flowcache/record/flow_hasher.hpp"

namespace tributary {

/// What `tributary trigger` asks a trigger for.
struct AskedDump {
    std::string filter{};                            ///< in pcap syntax; empty: all packets
    std::optional<std::chrono::nanoseconds> last{};  ///< nothing: `before` of the trigger
    std::string who{};                               ///< for the log
};

/// Has the packets of a recorder written for which triggers fire, one file each time. One thread
/// takes the events of all caches; each file is written by a thread of its own, with the lowest
/// priority.
///
/// @thread  main; functions that say so by any
class TriggerDumps {
public:
    /// Files that are written at the same time. Others wait.
    static constexpr std::size_t kMostRunning = 8;
    /// Files that wait; what fires beyond is counted as `busy`.
    static constexpr std::size_t kMostWaiting = 64;
    /// At the end of the program files are begun and written for so long. Then those that wait are
    /// given up, and those that are being written end early, as whole ones.
    static constexpr std::chrono::milliseconds kEndPatience{5000};

    /// @param set     outlives this
    /// @param rings   outlive this
    /// @param hasher  of the recorder's stages
    /// @param clock   the host's
    TriggerDumps(TriggerSet& set, std::vector<DumpQueue> rings, FlowHasher hasher,
                 std::function<Timestamp()> clock)
        : set_(set), rings_(std::move(rings)), hasher_(hasher), clock_(std::move(clock)) {}
    TriggerDumps(const TriggerDumps&) = delete;
    TriggerDumps& operator=(const TriggerDumps&) = delete;
    ~TriggerDumps() { end(); }

    /// Starts the thread that takes events.
    /// @errors  std::system_error
    void start();
    /// When no input thread runs any more: writes what waits from what is in the rings now, and
    /// ends the threads. No file is begun after kEndPatience.
    void end() noexcept;

    /// Fires a trigger by hand, however often it has fired.
    ///
    /// @return  the path that the file will have
    /// @errors  std::runtime_error: there is no such trigger, too many files wait, or the filter is
    ///          none
    /// @thread  any
    [[nodiscard]] std::string fire(const std::string& name, const AskedDump& asked);

private:
    using Clock = std::chrono::steady_clock;
    using Trigger = TriggerSet::Trigger;

    /// A file that is to be written.
    struct Job {
        TriggerEvent event{};
        std::shared_ptr<const WatchedTable> table{};  ///< nullptr: fired by hand
        AskedDump asked{};
    };
    struct Running {
        Job job{};
        std::atomic<bool> has_ended{false};
        HelperThread thread{};
    };

    void run(ThreadPlaceInRegistry& place);
    bool enqueue(Job job) noexcept;
    void begin_jobs();
    [[nodiscard]] bool begin_next_job();
    [[nodiscard]] bool is_over();
    void write(const Job& job) noexcept;
    void write_file(const Job& job, Trigger& trigger);
    [[nodiscard]] static DumpRequest request_for(const Job& job, const TriggerOptions& options);
    [[nodiscard]] bool has_time() const;

    TriggerSet& set_;
    std::vector<DumpQueue> rings_;
    FlowHasher hasher_;
    std::function<Timestamp()> clock_;
    std::atomic<bool> is_ending_{false};
    Clock::time_point end_at_{};  ///< written before is_ending_
    std::mutex mutex_;            ///< of `waiting_`
    std::condition_variable wake_;
    std::deque<Job> waiting_;
    std::list<Running> running_;  ///< of the thread
    HelperThread thread_;         ///< last: uses the rest
};

}  // namespace tributary
