// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pcap/pcap.h>

#include <memory>

#include "parsers/packet.hpp"

namespace tributary::test {

struct PcapCloser {
    void operator()(pcap_t* pcap) const noexcept { pcap_close(pcap); }
};
using Pcap = std::unique_ptr<pcap_t, PcapCloser>;

/// A filter expression as libpcap's interpreter runs it for the frames of one link type: what
/// tcpdump does.
class LibpcapProgram {
public:
    /// Is not compiled when libpcap knows no meaning of the expression for the link type;
    /// pcap_geterr() says why, and no packet passes.
    LibpcapProgram(pcap_t* pcap, const char* expression)
        : is_compiled_(pcap_compile(pcap, &program_, expression, 1, PCAP_NETMASK_UNKNOWN) == 0) {
        if (!is_compiled_) {
            program_ = {.bf_len = 1, .bf_insns = &nothing_};
        }
    }
    LibpcapProgram(const LibpcapProgram&) = delete;
    LibpcapProgram& operator=(const LibpcapProgram&) = delete;
    ~LibpcapProgram() {
        if (is_compiled_) {
            pcap_freecode(&program_);
        }
    }

    [[nodiscard]] bool is_compiled() const noexcept { return is_compiled_; }

    [[nodiscard]] bool passes(const PacketView& packet) const noexcept {
        return bpf_filter(program_.bf_insns,
                          reinterpret_cast<const u_char*>(packet.captured.data()),
                          packet.wire_bytes, static_cast<u_int>(packet.captured.size())) != 0;
    }

private:
    bpf_insn nothing_{.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
    bpf_program program_{};
    bool is_compiled_;
};

}  // namespace tributary::test
