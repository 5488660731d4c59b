// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "export/message.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Writes Akvorado's `RawFlow`: an IPFIX message as its inlet would have received it by UDP, which
/// its outlet decodes. The outlet has several workers, and each decodes any message, so that a
/// message has to have its templates in it (TemplatesAhead).
/// @source  Akvorado 2: common/pb/rawflow.proto, inlet/flow/input/udp
class RawFlow {
public:
    /// Octets that a frame has more than its message, at the most.
    static constexpr std::size_t kMostAround = 48;

    /// @param probe_address  under which Akvorado knows the exporter
    /// @errors  ExportError: it is empty, or no IP address
    explicit RawFlow(const std::string& probe_address);

    /// @param ipfix     a whole message
    /// @param received  time_received, which has seconds; 1970 or later
    /// @param out       at least ipfix.size() + kMostAround
    /// @return  octets of the frame
    [[nodiscard]] std::size_t write(MessageView ipfix, Timestamp received,
                                    std::span<std::byte> out) const noexcept;

private:
    std::vector<std::byte> constants_;  ///< whole fields: source_address, decoder
};

}  // namespace tributary
