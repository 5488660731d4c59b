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
            reader_.stop_at(queue_.ring->published());
        }
    }

    [[nodiscard]] const DumpQueue& queue() const noexcept { return queue_; }
    /// The packet that is due; nullptr: there is none yet.
    [[nodiscard]] const RecordedPacket* packet() const noexcept { return packet_; }
    /// Finds the next one.
    void advance() {
        packet_ = nullptr;
        while (packet_ == nullptr && find_in_group()) {
        }
    }
    /// Counts the packet that is due as written.
    void count() noexcept {
        ++account_.matched;
        account_.octets += packet_->octets.size();
    }
    [[nodiscard]] bool has_ended() const noexcept {
        return packet_ == nullptr && places_ == 0 && begin_ == packets_.size() &&
               reader_.has_ended();
    }
    [[nodiscard]] DumpAccount account() const {
        DumpAccount account = account_;
        account.read = reader_.packets();
        account.overwritten = reader_.overwritten();
        return account;
    }

private:
    /// Takes the next packet of the present group, or the next group. @return  false: nothing is
    /// left to read now
    bool find_in_group() {
        if (places_ != 0) {
            packet_ = &group_[static_cast<std::size_t>(std::countr_zero(places_))];
            places_ &= places_ - 1;
            return true;
        }
        if (begin_ == packets_.size()) {
            packets_ = reader_.read();
            begin_ = 0;
        }
        group_ = packets_.subspan(begin_, std::min(kBurstPackets, packets_.size() - begin_));
        begin_ += group_.size();
        places_ = matching();
        return !group_.empty();
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
    for (Step made = Step::written; made != Step::ended; made = step()) {
        const bool waits = made == Step::waits;
        waited_ = waits ? waited_ + kPause : std::chrono::milliseconds(0);
        const bool is_due = waits || blocks_.octets().size() >= kFlushedAtATime;
        if (is_due && !flush()) {
            return false;
        }
        if (is_due && !surroundings_.goes_on()) {
            break;
        }
        if (waits) {
            surroundings_.pause(kPause);
        }
    }
    end_file();
    return flush();
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
    bool all_have_ended = true;
    for (const auto& cursor : cursors_) {
        if (cursor->packet() == nullptr) {
            cursor->advance();
        }
        all_have_ended = all_have_ended && cursor->has_ended();
        const bool is_earlier = cursor->packet() != nullptr &&
                                (first == nullptr || cursor->packet()->metadata.seen_at <
                                                         first->packet()->metadata.seen_at);
        first = is_earlier ? cursor.get() : first;
    }
    if (first == nullptr) {
        return all_have_ended || is_over() ? Step::ended : Step::waits;
    }
    if (!can_go_first(*first)) {
        return Step::waits;
    }
    add(*first);
    return Step::written;
}

/// Whether no other queue can bring an earlier packet.
bool PacketDump::can_go_first(const Cursor& first) const {
    const Timestamp time = first.packet()->metadata.seen_at;
    return waited_ >= kPatience || std::ranges::all_of(cursors_, [&](const auto& cursor) {
               return cursor->packet() != nullptr || cursor->has_ended() ||
                      cursor->queue().ring->clock() >= time;
           });
}

/// Whether the span has passed on the clocks of all queues, or would have, had they not been
/// silent.
bool PacketDump::is_over() const {
    return request_.until && (surroundings_.clock() > *request_.until + kPatience ||
                              std::ranges::all_of(cursors_, [this](const auto& cursor) {
                                  return cursor->queue().ring->clock() > *request_.until;
                              }));
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
    cursor.advance();
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
