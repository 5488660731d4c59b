// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_report.hpp"

#include <chrono>
#include <optional>
#include <string>

#include "daemon/base/spdlog.hpp"

namespace tributary {
namespace {

/// Frames captured from several queues are a little out of order, also across the files of a split
/// capture.
constexpr std::chrono::seconds kDisorder{1};

void report_overlap(const CaptureOverlap& overlap, std::string_view fate) {
    if (overlap.by < kDisorder) {
        return;
    }
    spdlog::warn(
        "{}: begins {:.3f} s before the captures in front of it end, and time never goes back: its "
        "packets are {}, but may come late for their flows; give the earliest capture first, and "
        "merge those of the same time (mergecap)",
        overlap.path, std::chrono::duration<double>(overlap.by).count(), fate);
}

}  // namespace

bool report_captures(const CaptureFiles& files, std::string_view fate) {
    for (const CaptureOverlap& overlap : files.overlaps()) {
        report_overlap(overlap, fate);
    }
    for (const CutCapture& cut : files.cut_files()) {
        spdlog::warn(
            "{}: {}; what came before is {}", cut.path,
            cut.fault.empty() ? "the capture is cut off, or damaged, inside a frame" : cut.fault,
            fate);
    }
    const std::optional<CaptureFailure> failure = files.failure();
    if (failure) {
        spdlog::error("{}: {}", failure->path, failure->reason);
        if (failure->unread > 0) {
            spdlog::error("captures given behind it are not read: {}", failure->unread);
        }
    }
    return !failure;
}

}  // namespace tributary
