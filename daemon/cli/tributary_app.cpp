// SPDX-License-Identifier: Apache-2.0
#include "daemon/cli/tributary_app.hpp"

#include <CLI/CLI.hpp>

#include "daemon/base/exit_codes.hpp"

namespace tributary {

void define_tributary(CLI::App& app, TributaryArguments& arguments) {
    app.name("tributary");
    app.description("The companion of tributaryd: looks into IPFIX files, parses packets for it");
    app.footer(exit_code_help(tributary_exit_codes()));
    app.set_version_flag("--version", TRIBUTARY_VERSION);
    app.require_subcommand(1);
    add_flows(app, arguments.flows);
    add_preparse(app, arguments.preparse);
    add_plan(app, arguments.plan);
    add_control_commands(app, arguments.control);
}

}  // namespace tributary
