// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace tributary {

/// The argument of the command `trigger`, a JSON object in one line.
struct TriggerArguments {
    std::string name;              ///< of the trigger
    std::string filter{};          ///< pcap expression; empty: all packets
    std::optional<double> last{};  ///< seconds back from now; nothing: `before` of the trigger

    [[nodiscard]] std::string to_json() const;
    /// @errors  std::runtime_error: no such object, in one line
    [[nodiscard]] static TriggerArguments of(const std::string& json);
};

}  // namespace tributary
