// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture_files.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <utility>

#include "daemon/capture_reader.hpp"

namespace tributary {

CaptureFiles::CaptureFiles(std::vector<std::string> paths, std::uint16_t workers)
    : workers_(workers) {
    files_.reserve(paths.size());
    for (std::string& path : paths) {
        files_.emplace_back().path = std::move(path);
    }
}

std::shared_ptr<const CaptureMemory> CaptureFiles::take(std::size_t index) noexcept {
    const std::scoped_lock lock{mutex_};
    File& file = files_[index];
    if (!file.opened && !reading_.cancelled.load()) {
        open(file);
    }
    auto memory = file.memory;
    if (++file.taken == workers_) {
        file.memory.reset();  // each worker holds it now; the last to drop it unmaps
    }
    return memory;
}

void CaptureFiles::mark_cut(std::size_t index) noexcept {
    const std::scoped_lock lock{mutex_};
    cut_count_.fetch_add(files_[index].cut ? 0 : 1, std::memory_order_relaxed);
    files_[index].cut = true;
}

std::vector<std::string> CaptureFiles::cut_files() const {
    const std::scoped_lock lock{mutex_};
    std::vector<std::string> paths;
    for (const File& file : files_) {
        if (file.cut) {
            paths.push_back(file.path);
        }
    }
    return paths;
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
        auto memory = std::make_shared<const CaptureMemory>(file.path, reading_);
        const CaptureReader reader{memory->bytes()};
        if (reader.error() == CaptureError::none) {
            file.memory = std::move(memory);
        } else {
            file.reason = describe(reader.error());
        }
    } catch (const std::system_error& error) {
        file.reason = error.code().message();
    } catch (const std::exception&) {
        file.reason = "no memory";  // short enough for a string to hold without allocating
    }
}

}  // namespace tributary
