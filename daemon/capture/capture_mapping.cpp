// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_mapping.hpp"

#include <sys/mman.h>

#include <utility>

namespace tributary {

std::optional<CaptureMapping> CaptureMapping::try_map(int descriptor,
                                                      std::uint64_t octets) noexcept {
    void* const mapping = ::mmap(nullptr, octets, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapping == MAP_FAILED) {
        return std::nullopt;
    }
    ::madvise(mapping, octets, MADV_SEQUENTIAL);  // advice only: failure costs speed
    return CaptureMapping(std::span(static_cast<const std::byte*>(mapping), octets));
}

CaptureMapping::CaptureMapping(CaptureMapping&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

CaptureMapping::~CaptureMapping() {
    if (!bytes_.empty()) {
        // This object mapped the pages, read-only.
        ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());  // NOLINT
    }
}

}  // namespace tributary
