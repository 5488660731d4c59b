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

/// A file that cannot be opened or read, or is no capture.
struct CaptureFailure {
    std::string path;
    std::string
        reason;  ///< for a log line: "No such file or directory", "not a pcap or pcapng file"
    std::size_t unread = 0;  ///< later files
    friend bool operator==(const CaptureFailure&, const CaptureFailure&) = default;
};

/// A capture file that ends inside a frame, or with damaged compressed data.
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
/// Each file is opened once, by the first worker that comes to it, and closed by the last one that
/// leaves it. So all workers see the same bytes, also of a growing file and of a pipe, which can be
/// read only once. They lock once per file here, and once per piece of an unmapped file in
/// OpenCapture; the frames themselves need no lock.
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
    /// @return  nullptr: the file cannot be read, is no capture or was not opened before cancel().
    ///          The stream ends before it
    /// @cost    opens the file if no worker has; waits for the first bytes of a pipe
    [[nodiscard]] std::shared_ptr<OpenCapture> take(std::size_t index) noexcept;

    /// Opens no further file, and reads no more of a pipe: its capture ends there.
    ///
    /// @return  whether the last opened file is a pipe: its octets cannot be read again, and must
    ///          still be processed
    [[nodiscard]] bool cancel() noexcept {
        reading_.cancelled.store(true);
        const bool is_pipe = reading_.is_pipe.load();
        if (!is_pipe) {
            abandon();
        }
        return is_pipe;
    }

    /// Whether the last file that was opened is a pipe: its next bytes may take any time.
    [[nodiscard]] bool is_in_pipe() const noexcept { return reading_.is_pipe.load(); }
    /// Whether all workers are to stop.
    [[nodiscard]] bool is_abandoned() const noexcept { return reading_.abandoned.load(); }

    /// Opens and reads no more. No worker waits for another: all stop.
    void abandon() noexcept {
        reading_.cancelled.store(true);
        reading_.abandoned.store(true);
    }

    /// Notes that the file at `index` ends inside a frame, or that its compressed data are damaged.
    ///
    /// @param fault  from the walk; empty: the capture itself is cut
    void mark_cut(std::size_t index, std::string fault) noexcept;
    /// Notes that the file at `index` could not be read to its end.
    void mark_unreadable(std::size_t index, std::string reason) noexcept;

    /// Number of files found cut so far. Does not wait for the opening of a file.
    [[nodiscard]] std::size_t cut_count() const noexcept {
        return cut_count_.load(std::memory_order_relaxed);
    }
    /// The files of mark_cut().
    [[nodiscard]] std::vector<CutCapture> cut_files() const;

    /// Notes that the file at `index` begins before the end of the files in front of it.
    void mark_overlap(std::size_t index, Timestamp::duration by) noexcept;
    /// The files of mark_overlap(), in their order.
    [[nodiscard]] std::vector<CaptureOverlap> overlaps() const;

    /// The file that ended the stream early; nullopt: none.
    [[nodiscard]] std::optional<CaptureFailure> failure() const;

private:
    struct File {
        std::string path;
        std::shared_ptr<OpenCapture> capture;  ///< from open to the last take()
        std::string reason;                    ///< why there is no capture, or only a part
        std::uint16_t taken = 0;
        bool opened = false;
        bool cut = false;
        std::string fault;              ///< why it is cut; empty: the capture itself is cut
        Timestamp::duration overlap{};  ///< 0: none
    };
    void open(File& file) noexcept;

    const std::uint16_t workers_;
    const CaptureStreamSizes sizes_;
    CaptureReading reading_;
    std::atomic<std::size_t> cut_count_{0};
    mutable std::mutex mutex_;
    std::vector<File> files_;  ///< guarded by mutex_, except its constant size
};

}  // namespace tributary
