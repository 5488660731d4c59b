// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "export/collector_events.hpp"
#include "export/collector_session.hpp"
#include "export/export_counters.hpp"
#include "export/export_time.hpp"
#include "export/options.hpp"
#include "flowcache/flow_record.hpp"
#include "flowcache/record_stream.hpp"

namespace tributary {

/// Drains the queues' record rings into IPFIX messages for the collector. While the collector takes
/// nothing, it drains nothing: the records wait in the rings, and behind them in the caches.
/// @thread  the export thread, construction apart
class ExportWorker {
public:
    static constexpr std::size_t kBatchRecords = 256;
    /// A collector that takes a little now and then has this many drain timeouts in all.
    static constexpr int kSlowestDrain = 10;

    /// @param layout    of the records of every queue
    /// @param queues    one source per queue; they outlive the worker
    /// @param counters  outlive the worker; as many queues and collectors as there are here
    /// @param handler   told of what concerns the collector; may be empty
    /// @errors  ExportError: not exactly one collector, its file cannot be created, its source
    ///          address is unusable, or records and layout do not fit together
    ExportWorker(const ExportOptions& options, const RecordLayout& layout,
                 std::vector<RecordSource*> queues, ExportCounters& counters,
                 CollectorEventHandler handler);

    /// Takes at most kBatchRecords records from each queue, and sends what is due.
    ///
    /// @return  false: there was nothing to do
    /// @cost    at most one batch per queue; never blocks on a socket
    bool step(ExportTime now);
    /// The rest, once no queue gets records any more: drains, flushes, and gives up after
    /// drain_timeout in which the collector took nothing; what is left then is counted as lost. To
    /// be called until it returns true.
    [[nodiscard]] bool finish(ExportTime now);
    /// The line that tells of a final failure (the file cannot be written); empty: there was none.
    /// After it, all further records are counted as lost.
    [[nodiscard]] const std::string& error() const noexcept { return session_.error(); }

private:
    [[nodiscard]] bool encode_batch(ExportTime now);
    bool take_batch(std::size_t queue);
    [[nodiscard]] bool all_drained();
    void abandon(ExportTime now);

    CollectorSession session_;
    std::vector<RecordSource*> queues_;
    RecordLayout layout_;
    std::size_t record_bytes_;
    std::chrono::nanoseconds drain_timeout_;

    std::unique_ptr<std::byte[]> batch_;  ///< records of one queue
    std::size_t batch_queue_{};
    std::size_t batch_next_{};  ///< records before this one are encoded
    std::size_t batch_end_{};
    std::size_t first_queue_{};                              ///< where the next round begins
    std::optional<std::chrono::nanoseconds> last_progress_;  ///< since finish() is called
    std::chrono::nanoseconds finish_began_{};
};

}  // namespace tributary
