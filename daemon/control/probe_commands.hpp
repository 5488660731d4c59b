// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "daemon/control/control_server.hpp"
#include "daemon/pipeline/ledger.hpp"
#include "daemon/telemetry/metrics.hpp"
#include "export/message.hpp"

namespace tributary {

/// The answers of a running probe; called by threads of the ControlServer.
struct ProbeAnswers {
    std::function<Ledger()> ledger;
    std::function<ProbeFigures()> figures;
    /// Passes the running flows of a table as IPFIX messages, until the second argument returns
    /// false. Without a name they are those of the main table.
    std::function<void(const std::string& table, const std::function<bool(MessageView)>&)> flows;
    std::function<void()> flush;          ///< ends the running flows
    std::function<std::string()> reload;  ///< loads the present configuration; returns the changes
};

/// The answer of the command `figures`.
[[nodiscard]] std::string to_json(const ProbeFigures& figures);

/// The commands of a probe:
///
///     stats    the ledger as JSON, as --stats writes it
///     figures  what `tributary top` needs beside it, as JSON
///     flows    the running flows of the main table, or of the named one, as an IPFIX stream
///     flush    ends all running flows
///     reload   loads the configuration anew
[[nodiscard]] ControlServer::Commands probe_commands(const ProbeAnswers& answers);

}  // namespace tributary
