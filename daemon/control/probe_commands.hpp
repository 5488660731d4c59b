// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "daemon/control/control_server.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/telemetry/metrics.hpp"
#include "export/message.hpp"

namespace tributary {

/// What a running probe can be asked; each is called by threads of the ControlServer.
struct ProbeAnswers {
    std::function<Ledger()> ledger;
    std::function<ProbeFigures()> figures;
    /// Hands the flows that run now on as IPFIX messages, until it is told false.
    std::function<void(const std::function<bool(MessageView)>&)> flows;
    std::function<void()> flush;          ///< ends the flows that run now
    std::function<std::string()> reload;  ///< takes the configuration of now; tells what changed
};

/// Figures as the command of that name tells them.
[[nodiscard]] std::string to_json(const ProbeFigures& figures);

/// The commands of a probe:
///
///     stats    the ledger as JSON, as --stats writes it
///     figures  what `tributary top` wants beside it, as JSON
///     flows    the flows that run now, as an IPFIX stream
///     flush    ends them all
///     reload   takes the configuration anew
[[nodiscard]] ControlServer::Commands probe_commands(const ProbeAnswers& answers);

}  // namespace tributary
