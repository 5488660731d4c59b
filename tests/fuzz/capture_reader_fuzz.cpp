// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "daemon/capture/capture_reader.hpp"

using tributary::CaptureFrame;
using tributary::CaptureItem;
using tributary::CaptureReader;

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

/// Any bytes: frames lie inside them in their order, every step but the last goes forward, and the
/// end stays.
void walk(std::span<const std::byte> bytes) {
    CaptureReader reader{bytes};
    const std::byte* place = bytes.data();
    CaptureFrame frame;
    CaptureItem item = reader.next(frame);
    std::size_t items = 0;
    for (; item != CaptureItem::end && item != CaptureItem::cut; item = reader.next(frame)) {
        require(++items <= bytes.size());
        if (item != CaptureItem::frame) {
            continue;
        }
        require(frame.captured.data() >= place);
        place = frame.captured.data() + frame.captured.size();
        require(place <= bytes.data() + bytes.size());
        require(frame.wire_bytes >= frame.captured.size());
    }
    require(reader.error() == tributary::CaptureError::none || items == 0);
    require(reader.next(frame) == item);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer\'s
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    walk(std::as_bytes(std::span(data, size)));
    return 0;
}
