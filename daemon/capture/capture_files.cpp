// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/capture_files.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "daemon/capture/capture_reader.hpp"

namespace tributary {
namespace {

/// Why a file is no capture.
std::string why_none(const OpenCapture& capture, CaptureError error) {
    std::string fault = capture.fault();
    if (!fault.empty()) {
        return fault;
    }
    const std::string text(describe(error));
    return capture.compression().empty()
               ? text
               : "unpacked by " + std::string(capture.compression()) + ": " + text;
}

}  // namespace

CaptureFiles::CaptureFiles(std::vector<std::string> paths, std::uint16_t workers,
                           const CaptureStreamSizes& sizes)
    : workers_(workers), sizes_(sizes) {
    files_.reserve(paths.size());
    for (std::string& path : paths) {
        files_.emplace_back().path = std::move(path);
    }
}

bool CaptureFiles::open_first() noexcept {
    const std::scoped_lock lock{mutex_};
    File& first = files_.front();
    if (!first.opened && !reading_.cancelled.load()) {
        open(first);
    }
    return first.capture != nullptr;
}

std::shared_ptr<OpenCapture> CaptureFiles::take(std::size_t index) noexcept {
    const std::scoped_lock lock{mutex_};
    File& file = files_[index];
    if (!file.opened && !reading_.cancelled.load()) {
        open(file);
    }
    auto capture = file.capture;
    if (++file.taken == workers_) {
        file.capture.reset();  // each worker holds it now; the last one closes it
    }
    return capture;
}

void CaptureFiles::mark_cut(std::size_t index, std::string fault) noexcept {
    const std::scoped_lock lock{mutex_};
    cut_count_.fetch_add(files_[index].cut ? 0 : 1, std::memory_order_relaxed);
    files_[index].cut = true;
    files_[index].fault = std::move(fault);
}

void CaptureFiles::mark_unreadable(std::size_t index, std::string reason) noexcept {
    const std::scoped_lock lock{mutex_};
    files_[index].reason = std::move(reason);
}

std::vector<CutCapture> CaptureFiles::cut_files() const {
    const std::scoped_lock lock{mutex_};
    std::vector<CutCapture> cut;
    for (const File& file : files_) {
        if (file.cut) {
            cut.push_back({file.path, file.fault});
        }
    }
    return cut;
}

void CaptureFiles::mark_overlap(std::size_t index, Timestamp::duration by) noexcept {
    const std::scoped_lock lock{mutex_};
    files_[index].overlap = by;
}

std::vector<CaptureOverlap> CaptureFiles::overlaps() const {
    const std::scoped_lock lock{mutex_};
    std::vector<CaptureOverlap> overlaps;
    for (const File& file : files_) {
        if (file.overlap > Timestamp::duration{0}) {
            overlaps.push_back({file.path, file.overlap});
        }
    }
    return overlaps;
}

std::optional<CaptureFailure> CaptureFiles::failure() const {
    const std::scoped_lock lock{mutex_};
    const auto failed =
        std::ranges::find_if(files_, [](const File& file) { return !file.reason.empty(); });
    if (failed == files_.end()) {
        return std::nullopt;
    }
    const auto unread = static_cast<std::size_t>(files_.end() - failed) - 1;
    return CaptureFailure{failed->path, failed->reason, unread};
}

void CaptureFiles::open(File& file) noexcept {
    file.opened = true;
    reading_.is_pipe.store(false);
    try {
        auto capture = std::make_shared<OpenCapture>(file.path, reading_, workers_, sizes_);
        const CaptureReader reader{capture->piece(0, 0).bytes};
        if (reader.error() == CaptureError::none) {
            file.capture = std::move(capture);
        } else {
            file.reason = why_none(*capture, reader.error());
        }
    } catch (const std::system_error& error) {
        file.reason = reason_of(error);
    } catch (const std::exception&) {
        file.reason = "no memory";  // short enough for a string to hold without allocating
    }
}

}  // namespace tributary
