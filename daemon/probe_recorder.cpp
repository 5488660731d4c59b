// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe_recorder.hpp"

#include <grp.h>
#include <sysexits.h>

#include <array>
#include <exception>
#include <string>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"
#include "daemon/control/control_socket.hpp"
#include "daemon/machine/host_clock.hpp"

namespace tributary {
namespace {

/// @errors  StartupError(78): there is no such group
gid_t group_of(const std::string& name) {
    std::array<char, 16'384> text{};
    group entry{};
    group* found = nullptr;
    static_cast<void>(::getgrnam_r(name.c_str(), &entry, text.data(), text.size(), &found));
    if (found == nullptr) {
        throw StartupError(EX_CONFIG, "recorder.group " + name + ": there is no such group");
    }
    return found->gr_gid;
}

ControlPlace place_of(const RecorderOptions& options) {
    constexpr mode_t kOwner = 0600;
    constexpr mode_t kOwnerAndGroup = 0660;
    ControlPlace place{.path = options.socket == "auto"
                                   ? default_control_socket(kRecorderSocketName)
                                   : options.socket,
                       .key = "recorder.socket",
                       .mode = options.group.empty() ? kOwner : kOwnerAndGroup,
                       .thread = "recorder"};
    if (!options.group.empty()) {
        place.group = group_of(options.group);
    }
    return place;
}

}  // namespace

ProbeRecorder::ProbeRecorder(const RecorderOptions& options, FlowHasher hasher,
                             std::vector<RecorderPlace> places)
    : place_(place_of(options)),
      recorder_(options, hasher, std::move(places)),
      dumps_(recorder_.rings(), hasher, host_clock) {}

void ProbeRecorder::add_stage(std::size_t queue, StageList& stages) {
    if (std::unique_ptr<BurstStage> stage = recorder_.stage(queue)) {
        stages.add(std::move(stage));
    }
}

void ProbeRecorder::serve(ControlCommands further) {
    try {
        further.merge(dumps_.commands());
        server_ = std::make_unique<ControlServer>(place_, std::move(further));
        spdlog::info("recorder: {}", place_.path);
    } catch (const std::exception& error) {
        spdlog::error("no recorder socket: {}", error.what());
    }
}

void ProbeRecorder::stop_serving() noexcept {
    dumps_.end();
    server_.reset();
}

void ProbeRecorder::read(Ledger& ledger) const {
    RecorderLedger& account = ledger.recorder.emplace();
    recorder_.read(account);
    account.dumps = dumps_.account();
}

}  // namespace tributary
