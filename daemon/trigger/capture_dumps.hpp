// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/trigger/trigger_set.hpp"
#include "export/threads/helper_thread.hpp"
#include "flowcache/input/packet_selector.hpp"
#include "flowcache/record/options.hpp"
#include "parsers/packet.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

/// Has the packets of captures written for which triggers have fired. The captures are read once
/// more, when all is metered: their files are the past, and what came after.
///
/// @thread  main
class CaptureDumps {
public:
    /// Files that are written in one pass through the captures.
    static constexpr std::size_t kMostAtATime = 128;

    struct Parts {
        TriggerSet& set;
        std::vector<std::string> captures;
        const FlowCacheOptions& flows;
        ParseOptions parse;                    ///< as the captures were metered
        PacketSelector* filter = nullptr;      ///< that frames must pass; nullptr: all do
        InterfaceIndex interface {};           ///< of every packet
        std::function<bool()> is_interrupted;  ///< whether a signal ends the run
    };

    /// @param parts  set, flows and filter outlive the object
    /// @errors       StartupError(64): a capture can be read once only; std::system_error
    explicit CaptureDumps(Parts parts);
    CaptureDumps(const CaptureDumps&) = delete;
    CaptureDumps& operator=(const CaptureDumps&) = delete;
    ~CaptureDumps() { stop(); }

    /// Writes all files, when no input thread runs any more. A signal ends it.
    ///
    /// @errors  std::bad_alloc
    /// @cost    reads the captures once for each kMostAtATime files, and more often where a trigger
    ///          has no room for so many
    void write();
    /// Writes none of them: the run was ended early.
    void give_up() noexcept;

private:
    struct Job {
        TriggerEvent event;
        std::shared_ptr<const WatchedTable> table;
    };
    class Output;
    class Outputs;
    class Spans;

    void collect();
    void keep(const Job& job) noexcept;
    void stop() noexcept;
    enum class ReadEnd : std::uint8_t { all_was_read, interrupted, failed };

    void suppress(std::span<const Job> jobs) noexcept;
    void write_some();
    [[nodiscard]] bool begin(const Job& job, Outputs& outputs);
    [[nodiscard]] ReadEnd read_captures(const Spans& spans);

    Parts parts_;
    std::atomic<bool> is_stopping_{false};
    std::vector<Job> jobs_;  ///< to be written. Of the thread; of main once that has ended
    HelperThread thread_;
};

}  // namespace tributary
