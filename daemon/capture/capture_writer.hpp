// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/frame_sink.hpp"
#include "export/file_descriptor.hpp"

namespace tributary {

/// A pcap file of Ethernet frames with times in nanoseconds. The first error is final: the file is
/// cut back to its last whole frame, and no more is written.
///
/// @source  draft-ietf-opsawg-pcap §4-5
class CaptureWriter {
public:
    /// Octets before each frame.
    static constexpr std::size_t kRecordHeader = 16;

    /// @errors  StartupError(74): the file cannot be created or written
    /// @thread  main
    explicit CaptureWriter(const std::string& path);

    /// Writes one frame.
    ///
    /// @param record  kRecordHeader octets to be overwritten, then the frame
    /// @param time    of the frame; within the range of a Timestamp
    /// @return        false: the frame could not be written
    /// @thread        any
    [[nodiscard]] bool write(std::span<std::byte> record, Timestamp time) noexcept;

    /// Why no more is written, in one line; empty: no failure. Never waits for a write.
    /// @thread  any
    [[nodiscard]] std::string failure() const;

private:
    [[nodiscard]] bool write_all(std::span<const std::byte> bytes) noexcept;

    std::string path_;
    std::mutex mutex_;  ///< held while a frame is written, as long as a FIFO's reader takes
    FileDescriptor file_;
    off_t whole_octets_ = 0;
    std::atomic<int> error_{0};
};

/// Writes one stream into a capture. The queue waits for the file, which is slower than most
/// queues: for tests and inspection only.
class CaptureSink final : public FrameSink {
public:
    /// @param writer        outlives the sink
    /// @param frame_octets  of the longest frame, without FCS
    CaptureSink(CaptureWriter& writer, std::size_t frame_octets)
        : writer_(writer), record_(CaptureWriter::kRecordHeader + frame_octets) {}

    [[nodiscard]] std::span<std::byte> begin() noexcept override {
        return std::span(record_).subspan(CaptureWriter::kRecordHeader);
    }
    [[nodiscard]] FrameOutcome send(std::size_t octets, Timestamp now) noexcept override {
        const auto record = std::span(record_).first(CaptureWriter::kRecordHeader + octets);
        return writer_.write(record, now) ? FrameOutcome::sent : FrameOutcome::write_failed;
    }
    [[nodiscard]] const MacAddresses& addresses() const noexcept override { return addresses_; }

private:
    CaptureWriter& writer_;
    std::vector<std::byte> record_;
    MacAddresses addresses_{};
};

}  // namespace tributary
