// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "daemon/capture/capture_files.hpp"
#include "daemon/capture/capture_walk.hpp"
#include "daemon/preparse/preparse_stream.hpp"
#include "flowcache/input/packet_times.hpp"

namespace tributary {

/// Hands the frames of captures to a stream, which tells their times as the captures have them.
///
/// @thread  one
class CaptureFeed {
public:
    /// @param files   of one worker, this one; outlives the feed, like the stream
    CaptureFeed(CaptureFiles& files, PreparseStream& stream,
                InterfaceIndex ingress_interface) noexcept
        : files_(files), stream_(stream), ingress_interface_(ingress_interface) {}

    /// Reads until all files are done, one can't be read, or `stop` is set; then the stream is
    /// flushed.
    void run(const std::atomic<bool>& stop) noexcept;

    /// Frames of interfaces that their captures don't describe: they reach no stream. @thread any
    [[nodiscard]] const Counter& unknown_interface() const noexcept { return unknown_interface_; }
    /// Frames whose time an export could not say: the receiver replaces it. @thread any
    [[nodiscard]] const Counter& bad_timestamps() const noexcept { return bad_timestamps_; }

private:
    /// @return  `end` or `cut` at the file's end; anything else: it goes on
    [[nodiscard]] CaptureItem read_some(CaptureWalk& walk) noexcept;
    [[nodiscard]] bool note_end(const CaptureWalk& walk, CaptureItem item,
                                std::size_t file) noexcept;
    void take(const CaptureFrame& frame) noexcept;
    void hand_over() noexcept;

    CaptureFiles& files_;
    PreparseStream& stream_;
    InterfaceIndex ingress_interface_;
    PacketTimes times_;
    Counter unknown_interface_;
    Counter bad_timestamps_;
    std::array<PacketView, kBurstPackets> packets_;
    std::array<Timestamp, kBurstPackets> told_;  ///< their times as they came
    std::size_t count_ = 0;
};

}  // namespace tributary
