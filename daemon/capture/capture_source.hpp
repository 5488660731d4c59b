// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "daemon/capture/capture_files.hpp"
#include "daemon/capture/capture_walk.hpp"
#include "flowcache/input/packet_times.hpp"
#include "flowcache/input/worker_share.hpp"
#include "flowcache/record/counter.hpp"
#include "parsers/packet.hpp"
#include "parsers/parse_options.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Counters of one CaptureSource. The sums over all workers count every frame once.
struct CaptureCounters {
    Counter bad_timestamp;      ///< frames of this worker with a time outside the exportable range
    Counter unknown_interface;  ///< frames in no burst: ignored as "unknown_capture_interface"
    Counter unknown_interface_octets;  ///< of these, on the wire
};

/// The frames of one worker of an offline run, from one stream of capture files. Models
/// PacketSource.
///
/// Every worker walks the whole stream with a source of its own and yields only its own frames: the
/// addresses of a frame's keyed header hash to its worker; worker 0 also gets the frames in no
/// flow. A reader thread that hands frames over through rings was the alternative. This way the
/// workers share nothing, no frame is copied or retained, each worker computes the clock of the
/// whole stream from the frames themselves, and the same captures always spread the same way. The
/// price is that each worker walks all frames and, with several workers, parses them. Frames that
/// hold several packets go to every worker, whose input path takes its own packets.
///
/// The clock is the highest time of any frame so far, as in PacketTimes.
///
/// @thread  one
class CaptureSource {
public:
    /// @param files     shared with the other workers; outlives the source
    /// @param counters  written by this source alone; outlives the source
    /// @param worker    below files.workers()
    /// @param parse     finds the keyed header, by which frames are assigned to workers
    CaptureSource(CaptureFiles& files, CaptureCounters& counters, std::uint16_t worker,
                  InterfaceIndex ingress_interface, const ParseOptions& parse) noexcept
        : files_(&files),
          counters_(&counters),
          share_{.worker = worker, .workers = files.workers()},
          ingress_interface_(ingress_interface),
          parse_(parse) {}

    /// A source that yields every frame to every worker, for frames that hold many packets. A
    /// frame's own time is not a packet's, and is not counted if it is bad.
    CaptureSource(CaptureFiles& files, CaptureCounters& counters, std::uint16_t worker) noexcept
        : files_(&files),
          counters_(&counters),
          share_{.worker = worker, .workers = files.workers()} {}

    /// The worker's next frames. The burst may be empty although the stream goes on; then its clock
    /// has advanced.
    ///
    /// @cost  walks at most kScanItems frames; opens the next file after the end of one, and reads
    ///        on in an unmapped file
    [[nodiscard]] Burst receive() noexcept;
    void release() noexcept {}

    /// Whether no frame is left: the stream is at its end, or a file could not be read.
    [[nodiscard]] bool exhausted() const noexcept {
        return file_ended_ && (failed_ || next_file_ == files_->count());
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
    [[nodiscard]] inline bool try_next(PacketView& packet) noexcept;
    [[nodiscard]] inline bool accept(const CaptureFrame& frame, PacketView& packet) noexcept;
    [[nodiscard]] inline bool owns(const PacketView& packet) const noexcept;

    CaptureFiles* files_;
    CaptureCounters* counters_;
    WorkerShare share_;
    InterfaceIndex ingress_interface_{};
    std::optional<ParseOptions> parse_;  ///< nullopt: every frame is yielded
    std::size_t next_file_ = 0;
    bool pauses_ = true;      ///< the walk cannot go on before the next burst
    bool file_ended_ = true;  ///< also before the first file; then it pauses, too
    bool failed_ = false;
    bool overlap_is_known_ = true;  ///< the file's first frame was checked
    CaptureWalk walk_;              ///< keeps the octets of the last burst
    PacketTimes times_;
    std::array<PacketView, kBurstPackets> packets_;
};

}  // namespace tributary
