// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/open_capture.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

#include "daemon/capture/decompressor.hpp"

namespace tributary {
namespace {

/// Whether a regular file is not compressed. An unreadable file fails elsewhere, with its reason.
bool is_plain(const CaptureDescriptor& file) {
    std::array<std::byte, Decompressor::kMagicOctets> begin{};
    const ssize_t got = ::pread(file.get(), begin.data(), begin.size(), 0);
    return got >= 0 &&
           decompressor_of(std::span(begin).first(static_cast<std::size_t>(got))) == nullptr;
}

}  // namespace

OpenCapture::OpenCapture(const std::string& path, CaptureReading& reading, std::uint16_t workers,
                         const CaptureStreamSizes& sizes) {
    auto file = std::make_unique<CaptureDescriptor>(path, reading);
    // A mapping has whole pages, from the file's first octet on.
    if (file->size() > 0 && file->begin() == 0 && is_plain(*file)) {
        if (auto mapped = CaptureMapping::try_map(file->get(), file->size())) {
            mapping_.emplace(std::move(*mapped));
        }
    }
    if (!mapping_) {
        reading.is_pipe.store(file->size() == 0);
        stream_ = std::make_unique<CaptureStream>(std::move(file), reading, workers, sizes);
    }
}

}  // namespace tributary
