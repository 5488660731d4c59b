// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture_reader.hpp"

namespace tributary {

std::string_view describe(CaptureError error) noexcept {
    switch (error) {
        case CaptureError::none:
            return "no error";
        case CaptureError::too_short:
            return "too short for a capture file";
        case CaptureError::compressed:
            return "compressed by gzip; unpack it first";
        case CaptureError::unknown_format:
            break;
    }
    return "not a pcap or pcapng file";
}

CaptureReader::CaptureReader(std::span<const std::byte> bytes) noexcept
    : pcap_(PcapReader::try_open(bytes)), pcapng_(PcapngReader::try_open(bytes)) {
    if (pcap_ || pcapng_) {
        return;
    }
    if (bytes.size() >= 2 && bytes[0] == std::byte{0x1F} && bytes[1] == std::byte{0x8B}) {
        error_ = CaptureError::compressed;  // RFC 1952 §2.3.1
    } else if (bytes.size() < PcapReader::kFileHeader) {
        error_ = CaptureError::too_short;
    } else {
        error_ = CaptureError::unknown_format;
    }
}

}  // namespace tributary
