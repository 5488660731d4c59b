// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/capture/pcapng_blocks.hpp"
#include "daemon/recorder/packet_ring.hpp"
#include "daemon/recorder/ring_reader.hpp"
#include "flowcache/input/packet_selector.hpp"

namespace tributary {

/// A queue whose packets are dumped.
struct DumpQueue {
    const PacketRing* ring{};
    std::string name{};        ///< such as "uplink/0"
    std::string interface {};  ///< the name of its input's interface
    std::uint32_t number{};    ///< of the queue, among those of its input
};

/// The latest time that a queue has seen: the clock of packets' times.
/// @thread  any
[[nodiscard]] Timestamp latest_clock(std::span<const DumpQueue> queues) noexcept;

/// Chooses among the packets of rings by more than their octets.
class RecordedSelector {
public:
    RecordedSelector() = default;
    RecordedSelector(const RecordedSelector&) = delete;
    RecordedSelector& operator=(const RecordedSelector&) = delete;
    virtual ~RecordedSelector() = default;

    /// @param packets  of one queue, at most kBurstPackets, in the order in which they came
    /// @return         a bit for each: whether it is wanted
    /// @thread         that of the dump
    [[nodiscard]] virtual PacketMask select(std::span<const RecordedPacket> packets) noexcept = 0;
};

/// Which packets are dumped.
struct DumpRequest {
    Timestamp since{};  ///< of their times
    /// Follows the rings up to this time; nothing: what is in them now.
    std::optional<Timestamp> until{};
    PacketSelector* filter = nullptr;      ///< that they must pass; nullptr: all do
    std::string filter_text{};             ///< for the comment
    RecordedSelector* selector = nullptr;  ///< that chooses among them; nullptr: all are wanted
    /// More that the file's comment tells, by name.
    std::vector<std::pair<std::string, std::string>> remarks{};
    /// Hashes of the flows that the filter asks for; empty: it may be any.
    std::vector<std::uint32_t> flows{};
};

/// What a dump made of one queue's packets:
///
///     in its span = read + overwritten,  read = matched + others
struct DumpAccount {
    std::string queue{};
    std::uint64_t read{};         ///< looked at
    std::uint64_t matched{};      ///< written
    std::uint64_t octets{};       ///< of those, as they were kept
    std::uint64_t overwritten{};  ///< in the ring, before the dump came to them
    Timestamp oldest{};           ///< the earliest time in the ring when the dump began
};

/// The environment of a dump.
struct DumpSurroundings {
    /// Sends octets of the file to the client, in their order.
    ///
    /// @return  false: the client has closed its connection, or took nothing for too long
    std::function<bool(std::span<const std::byte>)> write;
    std::function<Timestamp()> clock;  ///< the host's, as the queues count time
    /// Waits for more packets.
    std::function<void(std::chrono::milliseconds)> pause;
    /// @return  false: the client or the probe wants the dump to end now; the file is finished with
    ///          the packets written so far
    std::function<bool()> goes_on;
    /// Whether the queues have ended, so that nothing comes into the rings any more.
    std::function<bool()> have_queues_ended = [] { return false; };
};

/// Writes packets of several rings as one pcapng file, in the order of their times, while the rings
/// go on. Packets of one queue stay in the order in which they came.
///
/// Each packet has its queue and hash, and each interface, at the end, the accounts of its queues
/// as a comment in JSON.
///
/// A packet is written when no other queue can bring an earlier one: its clock had passed the
/// packet's time before its ring was read to the end, or has stood still for kPatience.
///
/// @thread  one, for its whole life
class PacketDump {
public:
    static constexpr std::chrono::milliseconds kPatience{200};
    /// Octets of a file after which they are handed over.
    static constexpr std::size_t kFlushedAtATime = std::size_t{256} << 10U;

    /// @param queues  their rings outlive the dump
    /// @errors        std::bad_alloc
    PacketDump(std::vector<DumpQueue> queues, DumpRequest request, DumpSurroundings surroundings);
    PacketDump(const PacketDump&) = delete;
    PacketDump& operator=(const PacketDump&) = delete;
    ~PacketDump();

    /// Writes the file.
    ///
    /// @return  false: DumpSurroundings::write has failed, and the file lacks its end
    /// @errors  std::bad_alloc
    [[nodiscard]] bool run();
    [[nodiscard]] std::vector<DumpAccount> accounts() const;

private:
    /// The matching packets of one ring, one after the other.
    class Cursor;

    /// What step() has done; `reads`: there is more in a ring, without a packet so far.
    enum class Step : std::uint8_t { written, reads, waits, ended };

    void begin_file();
    [[nodiscard]] Step step();
    [[nodiscard]] Step wait_or_stop();
    [[nodiscard]] bool can_go_first(const Cursor& first) const;
    void pause();
    void add(Cursor& cursor);
    void end_file();
    void add_account(const std::string& interface, std::uint32_t number, Timestamp now);
    [[nodiscard]] bool flush();
    [[nodiscard]] std::uint32_t interface_of(const Cursor& cursor);

    DumpRequest request_;
    DumpSurroundings surroundings_;
    std::vector<std::unique_ptr<Cursor>> cursors_;
    PcapngBlocks blocks_;
    std::map<std::pair<std::string, LinkType>, std::uint32_t> interfaces_;
};

}  // namespace tributary
