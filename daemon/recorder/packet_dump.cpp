// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/packet_dump.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>

namespace tributary {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds kPause{5};

double seconds_of(Timestamp time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
}

/// The earliest time in a ring; its clock, if it is empty.
Timestamp oldest_in(const PacketRing& ring) {
    const std::optional<PacketRing::BlockLook> oldest = ring.oldest();
    return oldest ? oldest->earliest : ring.clock();
}

}  // namespace

Timestamp latest_clock(std::span<const DumpQueue> queues) noexcept {
    Timestamp latest = kFirstTimestamp;
    for (const DumpQueue& queue : queues) {
        latest = std::max(latest, queue.ring->clock());
    }
    return latest;
}

class PacketDump::Cursor {
public:
    Cursor(DumpQueue queue, const DumpRequest& request)
        : queue_(std::move(queue)),
          request_(request),
          reader_(*queue_.ring, request.since),
          account_{.queue = queue_.name, .oldest = oldest_in(*queue_.ring)} {
        reader_.look_for(request.flows);
        if (!request.until) {
            stop_here();
        }
    }

    [[nodiscard]] const DumpQueue& queue() const noexcept { return queue_; }
    /// The packet that is due; nullptr: none was found yet.
    [[nodiscard]] const RecordedPacket* packet() const noexcept { return packet_; }
    /// Looks for the packet that is due, in what is read at one time.
    void look() {
        if (packet_ != nullptr) {
            return;
        }
        if (!has_more()) {
            note_clock();
            packets_ = reader_.read();
            begin_ = 0;
            is_at_end_ = packets_.empty();
        }
        while (packet_ == nullptr && has_more()) {
            find_in_group();
        }
    }
    /// Whether all that the ring had was looked at, and no packet is due.
    [[nodiscard]] bool is_at_end() const noexcept { return packet_ == nullptr && is_at_end_; }
    /// Whether it has passed, before it was at the end, all packets up to this time; or may be
    /// taken to have, since its clock stands still.
    [[nodiscard]] bool has_passed(Timestamp time) const noexcept {
        return clock_ >= time || still_for_ >= kPatience;
    }
    /// That the dump has waited for packets.
    void note_pause(std::chrono::milliseconds time) noexcept { still_for_ += time; }
    /// Nothing that comes from now on is wanted.
    void stop_here() noexcept {
        if (!is_stopped_) {
            is_stopped_ = true;
            reader_.stop_at(queue_.ring->published());
        }
    }
    /// Counts the packet that is due as written, and is done with it.
    void count() noexcept {
        ++account_.matched;
        account_.octets += packet_->octets.size();
        packet_ = nullptr;
    }
    [[nodiscard]] bool has_ended() const noexcept { return is_at_end() && reader_.has_ended(); }
    [[nodiscard]] DumpAccount account() const {
        DumpAccount account = account_;
        account.read = reader_.packets();
        account.overwritten = reader_.overwritten();
        return account;
    }

private:
    /// Whether something of what was read is still to be looked at.
    [[nodiscard]] bool has_more() const noexcept {
        return places_ != 0 || begin_ != packets_.size();
    }
    /// Takes the next packet of the present group, or the next group.
    void find_in_group() {
        if (places_ != 0) {
            packet_ = &group_[static_cast<std::size_t>(std::countr_zero(places_))];
            places_ &= places_ - 1;
            return;
        }
        group_ = packets_.subspan(begin_, std::min(kBurstPackets, packets_.size() - begin_));
        begin_ += group_.size();
        places_ = matching();
    }
    /// Reads the queue's clock, before its ring is read. Once it is behind the span, so is what
    /// comes from then on.
    void note_clock() noexcept {
        const Timestamp clock = queue_.ring->clock();
        still_for_ = clock == clock_ ? still_for_ : std::chrono::milliseconds(0);
        clock_ = clock;
        if (request_.until && clock > *request_.until) {
            stop_here();
        }
    }
    /// The packets of the group that are wanted.
    [[nodiscard]] PacketMask matching() const noexcept {
        std::array<PacketView, kBurstPackets> views;
        PacketMask wanted = 0;
        for (std::size_t place = 0; place < group_.size(); ++place) {
            views[place] = group_[place].view();
            const Timestamp time = views[place].seen_at;
            const bool is_in_span =
                time >= request_.since && (!request_.until || time <= *request_.until);
            wanted |= PacketMask{is_in_span} << place;
        }
        if (request_.filter != nullptr && wanted != 0) {
            wanted &= request_.filter->select(std::span(views).first(group_.size()));
        }
        if (request_.selector != nullptr && wanted != 0) {
            wanted &= request_.selector->select(group_);
        }
        return wanted;
    }

    DumpQueue queue_;
    const DumpRequest& request_;
    RingReader reader_;
    DumpAccount account_;
    std::span<const RecordedPacket> packets_;  ///< that were read
    std::size_t begin_ = 0;                    ///< of them, behind the group
    std::span<const RecordedPacket> group_;    ///< at most kBurstPackets, which were judged
    PacketMask places_ = 0;                    ///< in the group, of packets that are still to come
    const RecordedPacket* packet_ = nullptr;
    bool is_at_end_ = false;
    bool is_stopped_ = false;                 ///< the reader knows where it ends
    Timestamp clock_ = kFirstTimestamp;       ///< the queue's, before its ring was read
    std::chrono::milliseconds still_for_{0};  ///< since it changed, as far as the dump has waited
};

PacketDump::PacketDump(std::vector<DumpQueue> queues, DumpRequest request,
                       DumpSurroundings surroundings)
    : request_(std::move(request)), surroundings_(std::move(surroundings)) {
    cursors_.reserve(queues.size());
    for (DumpQueue& queue : queues) {
        cursors_.push_back(std::make_unique<Cursor>(std::move(queue), request_));
    }
}

PacketDump::~PacketDump() = default;

bool PacketDump::run() {
    begin_file();
    if (!flush()) {  // a client that waits for the first packet learns that the dump runs
        return false;
    }
    for (Step made = step(); made != Step::ended; made = step()) {
        const bool waits = made == Step::waits;
        const bool is_due = waits || blocks_.octets().size() >= kFlushedAtATime;
        if (is_due && !flush()) {
            return false;
        }
        if ((is_due || made == Step::reads) && !surroundings_.goes_on()) {
            break;
        }
        if (waits) {
            pause();
        }
    }
    end_file();
    return flush();
}

void PacketDump::pause() {
    surroundings_.pause(kPause);
    for (const auto& cursor : cursors_) {
        cursor->note_pause(kPause);
    }
}

void PacketDump::begin_file() {
    Json comment{{"filter", request_.filter_text}, {"since", seconds_of(request_.since)}};
    comment["until"] = request_.until ? Json(seconds_of(*request_.until)) : Json(nullptr);
    for (const auto& [name, text] : request_.remarks) {
        comment[name] = text;
    }
    blocks_.add_section("tributary", comment.dump());
    for (const auto& cursor : cursors_) {
        static_cast<void>(interface_of(*cursor));
    }
}

/// Writes one packet, if it is known which comes next.
PacketDump::Step PacketDump::step() {
    Cursor* first = nullptr;
    bool has_more = false;
    for (const auto& cursor : cursors_) {
        cursor->look();
        has_more = has_more || (cursor->packet() == nullptr && !cursor->is_at_end());
        const bool is_earlier = cursor->packet() != nullptr &&
                                (first == nullptr || cursor->packet()->metadata.seen_at <
                                                         first->packet()->metadata.seen_at);
        first = is_earlier ? cursor.get() : first;
    }
    if (has_more) {
        return Step::reads;
    }
    if (first != nullptr && can_go_first(*first)) {
        add(*first);
        return Step::written;
    }
    if (std::ranges::all_of(cursors_, [](const auto& cursor) { return cursor->has_ended(); })) {
        return Step::ended;
    }
    return wait_or_stop();
}

/// Rings were read to their end whose queues may bring an earlier packet, or have not reached the
/// end of the span. A clock that stands still, or runs behind those of the other queues, may never
/// get there: such a queue ends when the host's clock is behind the span, or the queues have ended.
PacketDump::Step PacketDump::wait_or_stop() {
    const bool is_over = request_.until && (surroundings_.clock() > *request_.until + kPatience ||
                                            surroundings_.have_queues_ended());
    if (!is_over) {
        return Step::waits;
    }
    for (const auto& cursor : cursors_) {
        if (cursor->packet() == nullptr) {
            cursor->stop_here();
        }
    }
    return Step::reads;
}

/// Whether no other queue can bring an earlier packet.
bool PacketDump::can_go_first(const Cursor& first) const {
    const Timestamp time = first.packet()->metadata.seen_at;
    return std::ranges::all_of(cursors_, [time](const auto& cursor) {
        return cursor->packet() != nullptr || cursor->has_ended() || cursor->has_passed(time);
    });
}

std::uint32_t PacketDump::interface_of(const Cursor& cursor) {
    const LinkType link =
        cursor.packet() == nullptr ? LinkType::ethernet : cursor.packet()->metadata.link_type;
    const auto key = std::pair(cursor.queue().interface, link);
    const auto known = interfaces_.find(key);
    if (known != interfaces_.end()) {
        return known->second;
    }
    return interfaces_.emplace(key, blocks_.add_interface(link, cursor.queue().interface))
        .first->second;
}

void PacketDump::add(Cursor& cursor) {
    const RecordedPacket& packet = *cursor.packet();
    const std::uint32_t interface = interface_of(cursor);
    const bool has_hash = packet.metadata.flow_hash != 0;
    blocks_.add_packet(
        interface, packet.view(),
        {.queue = cursor.queue().number,
         .rss_hash = has_hash ? std::optional(packet.metadata.rss_hash) : std::nullopt});
    cursor.count();
}

void PacketDump::end_file() {
    const Timestamp now = surroundings_.clock();
    for (const auto& [key, number] : interfaces_) {
        add_account(key.first, number, now);
    }
}

/// Adds the statistics of an interface.
void PacketDump::add_account(const std::string& interface, std::uint32_t number, Timestamp now) {
    std::uint64_t read = 0;
    std::uint64_t overwritten = 0;
    Json queues = Json::array();
    for (const auto& cursor : cursors_) {
        if (cursor->queue().interface != interface) {
            continue;
        }
        const DumpAccount account = cursor->account();
        read += account.read;
        overwritten += account.overwritten;
        queues.push_back({{"queue", account.queue},
                          {"read", account.read},
                          {"matched", account.matched},
                          {"octets", account.octets},
                          {"overwritten", account.overwritten},
                          {"oldest", seconds_of(account.oldest)}});
    }
    const Json comment{{"queues", std::move(queues)}};
    blocks_.add_statistics(number, now, read + overwritten, overwritten, comment.dump());
}

bool PacketDump::flush() {
    const bool is_taken = blocks_.octets().empty() || surroundings_.write(blocks_.octets());
    blocks_.clear();
    return is_taken;
}

std::vector<DumpAccount> PacketDump::accounts() const {
    std::vector<DumpAccount> accounts;
    accounts.reserve(cursors_.size());
    for (const auto& cursor : cursors_) {
        accounts.push_back(cursor->account());
    }
    return accounts;
}

}  // namespace tributary
