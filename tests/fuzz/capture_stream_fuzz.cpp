// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/capture/capture_walk.hpp"

using tributary::CaptureEnding;
using tributary::CaptureFrame;
using tributary::CaptureItem;
using tributary::CaptureReading;
using tributary::CaptureStreamSizes;
using tributary::CaptureWalk;
using tributary::OpenCapture;

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

/// What a walk yields, down to the last octet.
struct Yield {
    std::vector<std::byte> octets;
    std::vector<std::size_t> frames;
    CaptureEnding ending = CaptureEnding::whole;
    CaptureItem last = CaptureItem::end;
    bool is_no_capture =
        false;  ///< the walk has ended there, and may not have seen how the file ends
    friend bool operator==(const Yield&, const Yield&) = default;
};

Yield walk(const std::string& path, const CaptureStreamSizes& sizes) {
    constexpr std::size_t kMostItems =
        100'000;  // a small input unpacks to a thousand times as much
    CaptureReading reading;
    CaptureWalk walk(std::make_shared<OpenCapture>(path, reading, 1, sizes));
    Yield yield;
    CaptureFrame frame;
    for (std::size_t item = 0; item < kMostItems; ++item) {
        yield.last = walk.next(frame);
        if (yield.last == CaptureItem::pause) {
            walk.read_on();
        } else if (yield.last == CaptureItem::frame) {
            yield.frames.push_back(frame.captured.size());
            yield.octets.insert(yield.octets.end(), frame.captured.begin(), frame.captured.end());
        } else if (yield.last == CaptureItem::end || yield.last == CaptureItem::cut) {
            yield.ending = walk.ending();
            yield.is_no_capture = !walk.damage().empty();
            const bool has_fault = yield.is_no_capture || yield.ending != CaptureEnding::whole;
            require(has_fault != walk.fault().empty());
            require(yield.last == CaptureItem::cut ||
                    (yield.ending != CaptureEnding::damaged && !yield.is_no_capture));
            return yield;
        }
    }
    return {};
}

bool is_prefix(const Yield& one, const Yield& other) {
    return one.octets.size() <= other.octets.size() && one.frames.size() <= other.frames.size() &&
           std::ranges::equal(one.octets, std::span(other.octets).first(one.octets.size())) &&
           std::ranges::equal(one.frames, std::span(other.frames).first(one.frames.size()));
}

/// Where what is compressed is damaged, what the library yields until it sees that depends on the
/// room that it has; but that it sees it does not. A walk that goes on for too long yields nothing.
bool agree(const Yield& one, const Yield& other) {
    const auto is_bad = [](const Yield& each) {
        return each.is_no_capture || each.ending == CaptureEnding::damaged;
    };
    const bool is_too_long = one == Yield{} || other == Yield{};
    const bool is_same_damage = one.is_no_capture && other.is_no_capture;
    if (is_too_long || one == other) {
        return true;
    }
    return is_bad(one) && is_bad(other) &&
           (is_same_damage ? one.octets == other.octets && one.frames == other.frames
                           : is_prefix(one, other) || is_prefix(other, one));
}

}  // namespace

/// Whatever the file holds, and however it is cut into pieces: the frames are the same.
// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer\'s
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const int file = ::memfd_create("capture", MFD_CLOEXEC);
    require(file >= 0 && ::write(file, data, size) == static_cast<ssize_t>(size));
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    try {
        constexpr std::size_t kLongest = std::size_t{1} << 20U;
        const Yield whole = walk(path, {.piece = kLongest, .longest_item = kLongest});
        const Yield small = walk(path, {.piece = 32, .longest_item = kLongest});
        require(agree(whole, small));
    } catch (const std::exception&) {
        require(size == 0);
    }
    ::close(file);
    return 0;
}
