// SPDX-License-Identifier: Apache-2.0
#include "daemon/program/not_native.hpp"

namespace tributary {

const char* reason_of(NotNative why) noexcept {
    switch (why) {
        case NotNative::no_executable_memory:
            return "this process may not make memory executable, as under MemoryDenyWriteExecute= "
                   "of the unit";
        case NotNative::no_compiler:
            return "DPDK compiles nothing for this CPU";
        case NotNative::foreign_instruction:
            return "it has an instruction that is not compiled";
        case NotNative::loop:
            return "it has a loop";
        case NotNative::offset_beyond_frames:
            return "it reads beyond octet 65535";
        case NotNative::too_long:
            return "it is too long";
        case NotNative::too_many_paths:
            return "it has too many paths for DPDK's verifier";
        case NotNative::refused:
            return "DPDK's verifier refuses it";
        case NotNative::wrong_jumps:
            return "DPDK's compiler gives it wrong jumps";
        case NotNative::differs:
            return "the self-check found another verdict than libpcap's";
    }
    return "";
}

}  // namespace tributary
