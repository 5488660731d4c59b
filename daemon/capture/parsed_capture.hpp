// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "daemon/capture/capture_files.hpp"
#include "daemon/capture/capture_source.hpp"
#include "daemon/capture/capture_stream.hpp"
#include "flowcache/input/copied_packets.hpp"
#include "flowcache/input/frame_burst.hpp"
#include "flowcache/input/parsed_frame_reader.hpp"
#include "flowcache/input/worker_share.hpp"
#include "parsers/packet.hpp"
#include "parsers/parse_options.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// The frames of one stream of capture files, for several workers. Each frame is read and parsed
/// once. Its addresses select its worker; frames in no flow are worker 0's. So the same captures
/// are always distributed the same way.
///
///     files --CaptureSource, parse--> batch n+2 | batch n+1 | batch n | ...
///                                     ^ the worker that reads   ^ slowest worker
///
/// There is no reader thread. A worker that begins the newest batch first reads one more, if no
/// other worker reads and there is room; a worker without a batch reads or waits. At most kBatches
/// are in memory: a batch is freed when the last worker has passed it. A worker that still has a
/// batch does not read what may take any time, which is a pipe or another file. So packets that a
/// pipe has delivered are metered before more are awaited.
///
/// A batch has octets of one CapturePiece only, and the next batch at most those of the next piece.
/// So the octets of kBatches batches lie in the last kBatches pieces, which CaptureStream keeps.
///
/// @thread  any; a worker's calls are its own
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): members lie by their threads
class ParsedCapture {
public:
    static constexpr std::size_t kBatches = CaptureStream::kPieces;

    /// Frames of one worker in a batch at most.
    static constexpr std::size_t kFramesOfWorker = 8 * kBurstPackets;

    /// Frames of one worker, at most, between the slowest worker and one that waits for a batch or
    /// reads one: those of kBatches, and of one more that is read ahead.
    static constexpr std::size_t kMostFramesBetween = (kBatches + 1) * kFramesOfWorker;

    struct alignas(64) Frame {  // no cache line has parts of two workers' frames
        ParsedFrame parsed;
        bool has_bad_time = false;  ///< its time was replaced
        std::uint64_t number = 0;   ///< of the frame, if frames are numbered
    };
    /// A worker's frames in the order in which they were captured. They lie one behind the other,
    /// so that the processor fetches them in time from the caches of the core that parsed them.
    struct WorkerFrames {
        std::vector<Frame> room = std::vector<Frame>(kFramesOfWorker);
        std::size_t count = 0;
    };
    struct Batch {
        std::vector<WorkerFrames> workers;
        Timestamp now;                        ///< the clock after all frames
        std::uint64_t unknown_interface = 0;  ///< for the counters of worker 0
        std::uint64_t unknown_interface_octets = 0;
        std::uint64_t next_number = 0;  ///< of the first frame behind it, if frames are numbered
        bool is_last = false;           ///< no further batch comes

    private:
        friend class ParsedCapture;
        std::shared_ptr<OpenCapture> capture_;  ///< which the octets lie in
        std::uint16_t holders_ = 0;             ///< workers that have not passed it
    };

    /// @param files    of one worker; outlives the capture
    /// @param workers  at least 1
    /// @param is_numbered  bursts have the numbers of their frames (FrameBurst::numbers), from 0 in
    ///                     the order of the capture
    /// @errors         std::bad_alloc
    /// @cost           kBatches * kFramesOfWorker * sizeof(Frame) octets for each worker, 0.8 MB
    ParsedCapture(CaptureFiles& files, std::uint16_t workers, InterfaceIndex ingress_interface,
                  const ParseOptions& options, bool is_numbered = false);

    /// The batch with this number, for a worker that has passed those before it.
    ///
    /// @return  nullptr: there is none, or the files are abandoned and the worker would have to
    /// wait
    /// @cost    one mutex; reads and parses a batch, or waits for the worker that does, or for
    ///          slower ones
    [[nodiscard]] const Batch* take(std::size_t number) noexcept;
    /// The worker has passed the batch with this number, and no longer uses it.
    void leave(std::size_t number) noexcept;

    [[nodiscard]] bool is_numbered() const noexcept { return is_numbered_; }
    /// The frames of a worker, which the worker may change, in the batch with this number.
    [[nodiscard]] std::span<Frame> frames(std::size_t number, std::uint16_t worker) noexcept {
        WorkerFrames& frames = batches_[number % kBatches].workers[worker];
        return std::span(frames.room).first(frames.count);
    }

private:
    [[nodiscard]] bool may_read() const noexcept;
    [[nodiscard]] bool wait(std::unique_lock<std::mutex>& lock) noexcept;
    void read_next(std::unique_lock<std::mutex>& lock) noexcept;
    void fill(Batch& batch) noexcept;
    void parse(const FrameBurst& burst) noexcept;
    [[nodiscard]] std::size_t distribute(Batch& batch, std::size_t count) noexcept;
    void announce_change() noexcept;

    CaptureFiles& files_;
    const std::uint16_t workers_;
    const ParseOptions options_;
    const bool is_numbered_;

    // Of the worker that reads.
    CaptureCounters counters_;
    CaptureSource source_;
    std::array<Frame, kBurstPackets> burst_;  ///< parsed, before it is distributed
    std::uint64_t next_number_ = 0;           ///< of a frame

    std::mutex mutex_;
    std::condition_variable change_;  ///< a batch was read or has been passed by all
    // Guarded by the mutex, but for the batch that is read, and what workers hold.
    std::array<Batch, kBatches> batches_;
    std::atomic<std::uint32_t> changes_{0};  ///< so many were announced
    std::size_t made_ = 0;                   ///< batches
    bool is_reading_ = false;
    bool may_read_ahead_ = false;  ///< the next batch needs no wait for input
    bool has_ended_ = false;
};

/// One worker's frames of a ParsedCapture.
///
/// @thread  one
class ParsedCaptureShare {
public:
    /// @param capture   outlives the share
    /// @param counters  written by this share alone; outlives the share
    /// @param worker    below the capture's workers
    /// @param kept_buffers  for copies of frames that stages keep, at a time
    /// @errors          std::bad_alloc
    ParsedCaptureShare(ParsedCapture& capture, CaptureCounters& counters, std::uint16_t worker,
                       std::uint32_t kept_buffers = 0)
        : capture_(capture), counters_(counters), worker_(worker), copies_(kept_buffers) {}

    /// The worker's next frames, of one batch. The burst may be empty although the stream goes on;
    /// then its clock has advanced.
    ///
    /// @cost  as ParsedCapture::take(), once for each batch
    [[nodiscard]] ParsedFrames receive() noexcept;
    void release() noexcept;
    /// Whether no further frame will come: the stream is at its end, a file could not be read, or
    /// the files are abandoned.
    [[nodiscard]] bool exhausted() const noexcept { return has_ended_; }
    /// @thread  any, its counts
    [[nodiscard]] const KeptBuffers& kept() const noexcept { return copies_.kept(); }

private:
    [[nodiscard]] bool begin_batch() noexcept;

    ParsedCapture& capture_;
    CaptureCounters& counters_;
    std::uint16_t worker_;
    std::size_t number_ = 0;  ///< of the batch
    const ParsedCapture::Batch* batch_ = nullptr;
    std::span<ParsedCapture::Frame> frames_;  ///< of this worker in the batch, those not received
    Timestamp now_ = kFirstTimestamp;
    bool has_ended_ = false;
    CopiedPackets copies_;
    std::array<ParsedFrame*, kBurstPackets> burst_;
    std::array<std::uint64_t, kBurstPackets> numbers_;  ///< of these, if frames are numbered
    std::uint64_t next_number_ = 0;                     ///< as in ParsedFrames
};

}  // namespace tributary
