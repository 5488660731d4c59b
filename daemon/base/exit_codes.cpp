// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/exit_codes.hpp"

#include <array>
#include <cstddef>

namespace tributary {
namespace {

constexpr std::array<ExitCode, 10> kTributaryd{{
    {"0", "all went well; of a probe: it was told to end"},
    {"64", "usage"},
    {"66", "a capture cannot be read; what came before it was written"},
    {"69", "a device is missing, or the devices of all inputs were removed"},
    {"70", "a defect, such as a ledger whose sums do not add up"},
    {"71", "the system lacks something, such as memory or huge pages"},
    {"74", "output cannot be written, or with --read and -n a record came to no collector"},
    {"77", "a permission is missing"},
    {"78", "configuration"},
    {"128 + N", "signal N interrupted --read; what it had read was written"},
}};

constexpr std::array<ExitCode, 12> kTributary{{
    {"0", "all went well"},
    {"64", "usage"},
    {"65", "a file is not IPFIX, contradicts itself, or has more templates than are kept"},
    {"66", "a file or a capture cannot be read"},
    {"69", "a device is missing, there is no tributaryd to ask, or it refused"},
    {"70", "a defect"},
    {"71", "the system lacks something, such as memory or huge pages"},
    {"74", "output cannot be written"},
    {"76", "a tributaryd answers what this program does not know"},
    {"77", "a permission is missing"},
    {"78", "configuration"},
    {"128 + N", "signal N interrupted preparse --read; what it had read was sent or written"},
}};

}  // namespace

std::span<const ExitCode> tributaryd_exit_codes() noexcept { return kTributaryd; }

std::span<const ExitCode> tributary_exit_codes() noexcept { return kTributary; }

std::string exit_code_help(std::span<const ExitCode> codes) {
    constexpr std::size_t kColumn = 9;
    std::string text = "Exit codes:";
    for (const auto& [code, meaning] : codes) {
        text += "\n  ";
        text += code;
        text += std::string(kColumn - code.size(), ' ');
        text += meaning;
    }
    return text;
}

}  // namespace tributary
