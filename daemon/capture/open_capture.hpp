// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/capture/capture_mapping.hpp"
#include "daemon/capture/capture_stream.hpp"

namespace tributary {

/// One capture file of a run, for all its workers: mapped, or a stream of pieces if it is
/// compressed or cannot be mapped.
///
/// @thread  any
class OpenCapture {
public:
    /// @param reading  outlives the capture
    /// @errors         std::system_error: the file cannot be opened or read; std::bad_alloc
    /// @cost           waits for the first bytes of a pipe
    OpenCapture(const std::string& path, CaptureReading& reading, std::uint16_t workers,
                const CaptureStreamSizes& sizes = {});

    /// As CaptureStream::piece(). A mapped file is one piece.
    [[nodiscard]] CapturePiece piece(std::size_t number, std::size_t unused) noexcept {
        return mapping_ ? CapturePiece{.bytes = mapping_->bytes(), .is_last = true}
                        : stream_->piece(number, unused);
    }
    /// As CaptureStream::ending().
    [[nodiscard]] CaptureEnding ending() const noexcept {
        return mapping_ ? CaptureEnding::whole : stream_->ending();
    }
    /// As CaptureStream::fault().
    [[nodiscard]] std::string fault() const noexcept {
        return mapping_ ? std::string() : stream_->fault();
    }
    /// As CaptureStream::compression().
    [[nodiscard]] std::string_view compression() const noexcept {
        return mapping_ ? std::string_view() : stream_->compression();
    }

private:
    std::optional<CaptureMapping> mapping_;
    std::unique_ptr<CaptureStream> stream_;  ///< without a mapping
};

}  // namespace tributary
