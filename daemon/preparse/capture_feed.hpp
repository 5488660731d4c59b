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

/// Passes the frames of captures, with their times in the captures, to a stream.
///
/// @thread  one
class CaptureFeed {
public:
    /// @param files   with this one worker; outlives the feed, like the stream
    CaptureFeed(CaptureFiles& files, PreparseStream& stream,
                InterfaceIndex ingress_interface) noexcept
        : files_(files), stream_(stream), ingress_interface_(ingress_interface) {}

    /// Reads until all files are done, one cannot be read, or `stop` is set; then flushes the
    /// stream.
    void run(const std::atomic<bool>& stop) noexcept;

    /// Frames of interfaces that their captures do not describe: they reach no stream. @thread  any
    [[nodiscard]] const Counter& unknown_interface() const noexcept { return unknown_interface_; }
    /// Frames with a time outside the exportable range: the receiver replaces it. @thread  any
    [[nodiscard]] const Counter& bad_timestamps() const noexcept { return bad_timestamps_; }

private:
    /// @return  `end` or `cut` at the file's end; otherwise it goes on
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
    std::array<Timestamp, kBurstPackets> received_times_;  ///< their times as received
    std::size_t count_ = 0;
};

}  // namespace tributary
