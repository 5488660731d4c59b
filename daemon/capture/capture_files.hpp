// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture/open_capture.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// A capture file that can't be opened or read, or is none.
struct CaptureFailure {
    std::string path;
    std::string
        reason;  ///< for a log line: "No such file or directory", "not a pcap or pcapng file"
    std::size_t unread = 0;  ///< files behind it
    friend bool operator==(const CaptureFailure&, const CaptureFailure&) = default;
};

/// A capture file that ends inside a frame, or whose compressed data are damaged.
struct CutCapture {
    std::string path;
    std::string
        fault;  ///< "gzip: the file is cut off, in front of octet 100 of the file"; or empty
    friend bool operator==(const CutCapture&, const CutCapture&) = default;
};

/// A capture file whose first frame is older than a frame of the files before it.
struct CaptureOverlap {
    std::string path;
    Timestamp::duration by{};  ///< from the first frame to the newest one before it
    friend bool operator==(const CaptureOverlap&, const CaptureOverlap&) = default;
};

/// The capture files of one run, in order, shared by its workers.
///
/// Each file is opened once, when the first worker comes to it, and let go when the last one has
/// left it. So all workers see the same bytes, also of a file that still grows and of a pipe, which
/// can be read only once. They meet here once per file, and in OpenCapture once per piece of one
/// that is not mapped; the frames themselves need no lock.
///
/// @thread  any
class CaptureFiles {
public:
    /// @param paths    walked in this order as one stream
    /// @param workers  CaptureSources that will each take() every file once; at least 1
    CaptureFiles(std::vector<std::string> paths, std::uint16_t workers,
                 const CaptureStreamSizes& sizes = {});

    [[nodiscard]] std::size_t count() const noexcept { return files_.size(); }
    [[nodiscard]] std::uint16_t workers() const noexcept { return workers_; }

    /// Opens the first file, if no worker has.
    ///
    /// @return  whether it can be read, and is a capture
    /// @cost    waits for the first bytes of a pipe
    [[nodiscard]] bool open_first() noexcept;

    /// The file at `index`, for one worker.
    ///
    /// @return  nothing if the file can't be read, is no capture or was not opened before
    ///          cancel(): the stream ends before it
    /// @cost    opens the file if no worker has; waits for the first bytes of a pipe
    [[nodiscard]] std::shared_ptr<OpenCapture> take(std::size_t index) noexcept;

    /// Opens no further file, and reads no more of a pipe: what has come of it is its capture.
    ///
    /// @return  whether the last file that was opened is a pipe: what it has brought cannot be read
    ///          again, and is to be worked off
    [[nodiscard]] bool cancel() noexcept {
        reading_.cancelled.store(true);
        const bool is_pipe = reading_.is_pipe.load();
        if (!is_pipe) {
            abandon();
        }
        return is_pipe;
    }

    /// Opens and reads no more, and no worker waits for another one: they are to stop.
    void abandon() noexcept {
        reading_.cancelled.store(true);
        reading_.abandoned.store(true);
    }

    /// Notes that the file at `index` ends inside a frame, or that what was compressed is damaged.
    ///
    /// @param fault  of the walk that found it; empty: the capture itself is cut
    void mark_cut(std::size_t index, std::string fault) noexcept;
    /// Notes that the file at `index` could not be read to its end.
    void mark_unreadable(std::size_t index, std::string reason) noexcept;

    /// Number of the files found cut so far. Waits for no file that is being
    /// opened.
    [[nodiscard]] std::size_t cut_count() const noexcept {
        return cut_count_.load(std::memory_order_relaxed);
    }
    /// These files.
    [[nodiscard]] std::vector<CutCapture> cut_files() const;

    /// Notes that the file at `index` begins before those in front of it end.
    void mark_overlap(std::size_t index, Timestamp::duration by) noexcept;
    /// These files, in their order.
    [[nodiscard]] std::vector<CaptureOverlap> overlaps() const;

    /// The file that ended the stream early; nothing while all is well.
    [[nodiscard]] std::optional<CaptureFailure> failure() const;

private:
    struct File {
        std::string path;
        std::shared_ptr<OpenCapture> capture;  ///< from its opening until the last take()
        std::string reason;                    ///< why there is none, or not all of it
        std::uint16_t taken = 0;
        bool opened = false;
        bool cut = false;
        std::string fault;              ///< why it is cut; empty: the capture itself is
        Timestamp::duration overlap{};  ///< 0: none is known
    };
    void open(File& file) noexcept;

    const std::uint16_t workers_;
    const CaptureStreamSizes sizes_;
    CaptureReading reading_;
    std::atomic<std::size_t> cut_count_{0};
    mutable std::mutex mutex_;
    std::vector<File> files_;  ///< guarded by mutex_, but for its size, which stays
};

}  // namespace tributary
