// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "daemon/capture/capture_files.hpp"
#include "daemon/capture/capture_walk.hpp"
#include "flowcache/input/copied_packets.hpp"
#include "flowcache/input/frame_burst.hpp"
#include "flowcache/input/packet_times.hpp"
#include "flowcache/record/counter.hpp"
#include "parsers/packet.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Counters of one worker. The sums over all workers count every frame once.
struct CaptureCounters {
    Counter bad_timestamp;      ///< frames of this worker with a time outside the exportable range
    Counter unknown_interface;  ///< frames in no burst: ignored as "unknown_capture_interface"
    Counter unknown_interface_octets;  ///< of these, on the wire
};

/// The frames of one stream of capture files. Models PacketSource.
///
/// If frames are packets, there is one source: of the single worker, or of a ParsedCapture for
/// several. If frames hold many packets, each worker has a source of its own, which walks the whole
/// stream and yields every frame; the worker's input path takes its own packets from them.
///
/// The clock is the highest time of any frame so far, as in PacketTimes.
///
/// @thread  one at a time
class CaptureSource {
public:
    /// A source of packets.
    ///
    /// @param files         for one worker; outlives the source
    /// @param counters      written by this source alone; outlives the source
    /// @param kept_buffers  for copies of frames that stages keep, at a time
    /// @errors              std::bad_alloc
    CaptureSource(CaptureFiles& files, CaptureCounters& counters, InterfaceIndex ingress_interface,
                  std::uint32_t kept_buffers = 0)
        : files_(&files),
          counters_(&counters),
          reports_files_(true),
          are_packets_(true),
          ingress_interface_(ingress_interface),
          copies_(kept_buffers) {}

    /// A source of frames that hold many packets. A frame's own time is not a packet's, and is not
    /// counted if it is bad.
    ///
    /// @param files   shared with the other workers; outlives the source
    /// @param worker  below files.workers(); worker 0 reports damage and overlap of files
    /// @errors        std::bad_alloc
    CaptureSource(CaptureFiles& files, CaptureCounters& counters, std::uint16_t worker)
        : files_(&files),
          counters_(&counters),
          reports_files_(worker == 0),
          are_packets_(false),
          copies_(0) {}

    /// The next frames. The burst may be empty although the stream goes on; then its clock may have
    /// advanced.
    ///
    /// @cost  walks at most kScanItems frames; opens the next file after the end of one, and reads
    ///        on in an unmapped file
    [[nodiscard]] FrameBurst receive() noexcept;
    void release(const FrameBurst& /*burst*/) noexcept {}

    /// Whether no frame is left: the stream is at its end, or a file could not be read.
    [[nodiscard]] bool exhausted() const noexcept {
        return file_ended_ && (failed_ || next_file_ == files_->count());
    }

    /// @thread  any, its counts
    [[nodiscard]] const KeptBuffers& kept() const noexcept { return copies_.kept(); }
    /// Packets of the last burst whose time was bad. Without packets: none.
    [[nodiscard]] PacketMask bad_times() const noexcept { return bad_times_; }
    /// Whether the next receive() reads on, in this file or the next one, and may wait for input.
    [[nodiscard]] bool pauses() const noexcept { return pauses_; }
    /// Whether the next receive() opens a file.
    [[nodiscard]] bool is_between_files() const noexcept { return file_ended_; }
    /// The capture that holds the octets of the last burst. They are valid as long as it lives; in
    /// a stream, as long as CaptureStream::piece() keeps them.
    [[nodiscard]] const std::shared_ptr<OpenCapture>& capture() const noexcept {
        return walk_.capture();
    }

    static constexpr std::size_t kScanItems = 16 * kBurstPackets;

private:
    void go_on() noexcept;
    void open_next_file() noexcept;
    void note_overlap() noexcept;
    void note(CaptureItem item, const CaptureFrame& frame) noexcept;
    void note_end(CaptureItem item) noexcept;
    // Inline, because they run for every frame: as calls they would cost 1.5 ns of a frame's 12 ns
    // here.
    [[nodiscard]] inline bool try_next(std::size_t place) noexcept;
    inline void accept(const CaptureFrame& frame, std::size_t place) noexcept;

    CaptureFiles* files_;
    CaptureCounters* counters_;
    bool reports_files_;
    bool are_packets_;
    InterfaceIndex ingress_interface_{};
    std::size_t next_file_ = 0;
    bool pauses_ = true;      ///< the walk cannot go on before the next burst
    bool file_ended_ = true;  ///< also before the first file; then it pauses, too
    bool failed_ = false;
    bool overlap_is_known_ = true;  ///< the file's first frame was checked
    CaptureWalk walk_;              ///< keeps the octets of the last burst
    PacketTimes times_;
    PacketMask bad_times_ = 0;
    CopiedPackets copies_;
    std::array<PacketView, kBurstPackets> packets_;
};

}  // namespace tributary
