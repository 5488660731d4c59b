// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_reader.hpp"

#include "daemon/capture/decompressor.hpp"

namespace tributary {

std::string_view describe(CaptureError error) noexcept {
    switch (error) {
        case CaptureError::none:
            return "no error";
        case CaptureError::too_short:
            return "too short for a capture file";
        case CaptureError::compressed:
            return "compressed twice, or not by gzip, xz or zstd; unpack it first";
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
    if (seems_compressed(bytes)) {
        error_ = CaptureError::compressed;
    } else if (bytes.size() < PcapReader::kFileHeader) {
        error_ = CaptureError::too_short;
    } else {
        error_ = CaptureError::unknown_format;
    }
}

}  // namespace tributary
