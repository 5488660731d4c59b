// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/frame_sink.hpp"

namespace tributary {

std::string_view name_of(FrameOutcome outcome) noexcept {
    switch (outcome) {
        case FrameOutcome::sent:
            return "sent";
        case FrameOutcome::no_buffer:
            return "no_buffer";
        case FrameOutcome::tx_full:
            return "tx_full";
        case FrameOutcome::write_failed:
            return "write_failed";
        case FrameOutcome::count:
            break;
    }
    return "unknown";
}

}  // namespace tributary
