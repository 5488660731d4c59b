// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "daemon/base/options.hpp"
#include "daemon/control/control_reply.hpp"
#include "daemon/control/control_server.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/recorder/dump_command.hpp"
#include "daemon/recorder/packet_dump.hpp"
#include "daemon/recorder/recorder.hpp"
#include "flowcache/input/burst_stage.hpp"
#include "flowcache/input/filter_slot.hpp"
#include "flowcache/record/flow_hasher.hpp"

namespace tributary {

/// The recorder of a running probe, with its socket.
///
/// @thread  main, but where it says any
class ProbeRecorder {
public:
    /// @param options  with `memory`
    /// @errors         as Recorder(); StartupError(78): there is no such group
    ProbeRecorder(const RecorderOptions& options, FlowHasher hasher,
                  std::vector<RecorderPlace> places);
    ProbeRecorder(const ProbeRecorder&) = delete;
    ProbeRecorder& operator=(const ProbeRecorder&) = delete;
    ~ProbeRecorder() { stop_serving(); }

    /// Adds the stage of a queue, if that is recorded.
    void add_stage(std::size_t queue, StageList& stages);
    /// As Recorder::filter().
    [[nodiscard]] FilterSlot* filter() noexcept { return recorder_.filter(); }
    [[nodiscard]] bool huge_pages() const noexcept { return recorder_.huge_pages(); }

    /// The rings, for dumps.
    [[nodiscard]] std::vector<DumpQueue> rings() const { return recorder_.rings(); }
    /// Opens the socket. If it cannot be opened, the log says so, and the probe runs without it.
    ///
    /// @param further  commands beside its own
    void serve(ControlCommands further);
    /// Ends the dumps, and closes the socket.
    void stop_serving() noexcept;

    /// Adds the recorder's account.
    /// @thread  any
    void read(Ledger& ledger) const;

private:
    ControlPlace place_;
    Recorder recorder_;
    DumpCommand dumps_;
    std::unique_ptr<ControlServer> server_;
};

}  // namespace tributary
