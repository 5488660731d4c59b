// SPDX-License-Identifier: Apache-2.0
// Four queues of net_pcap repeat a capture each for ever. Their stages, which come and go, keep
// packets; two threads compare them with the captures, and give them back when a random number of
// others has come.
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/machine/pinned_thread.hpp"
#include "daemon/pipeline/pipeline.hpp"
#include "daemon/port/dpdk_queue.hpp"
#include "daemon/port/eal.hpp"
#include "daemon/port/packet_pool.hpp"
#include "flowcache/input/frame_reader.hpp"
#include "tests/support/packet_builder.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/wait_until.hpp"
#include "tests/unit/daemon/port/packet_buffers.hpp"

namespace tributary {
namespace {

using namespace tributary::test;

constexpr std::size_t kQueues = 4;
/// Frames of a capture: a prime, so that every tenth is another one each time.
constexpr std::size_t kFrames = 251;
/// Packets that the stages of a queue may keep at a time.
constexpr std::uint32_t kMost = 2048;
/// Of these, those that each thread which gives them back holds for long, and those that a hoarding
/// stage does.
constexpr std::size_t kHeld = 512;
constexpr std::size_t kHoard = 128;
/// A stage keeps one in so many.
constexpr std::uint64_t kOneIn = 10;

/// A frame of a capture. Its last octets tell which.
struct SentFrame {
    Frame frame;
    std::uint32_t ip_octets = 0;  ///< 0: no IP packet, so that it is ignored
};

/// The number of a frame in its capture.
std::size_t number_of(const PacketView& packet) noexcept {
    const std::span<const std::byte> last = packet.captured.last(2);
    return std::to_integer<std::size_t>(last[0]) << 8U | std::to_integer<std::size_t>(last[1]);
}

SentFrame make_frame(std::size_t queue, std::size_t number) {
    const std::size_t octets = 4 + (number * 37 + queue * 11) % 1400;
    const auto port = static_cast<std::uint16_t>(1000 + number % 50);
    SentFrame sent;
    std::size_t headers = 14;  // of layers that do not belong to the IP packet
    PacketBuilder builder = ethernet();
    switch (number % 4) {
        case 0:
            builder.ipv4().udp(port, 53);
            break;
        case 1:
            builder.ipv6().udp(port, 53);
            break;
        case 2:
            builder.vlan(5).ipv4().tcp(port, 443);
            headers += 4;
            break;
        default:
            builder.ethertype(0x88b5);
            break;  // for experiments (IEEE 802)
    }
    sent.frame = builder.payload(octets).build();
    std::vector<std::byte>& all = sent.frame.captured;
    sent.ip_octets = number % 4 == 3 ? 0 : static_cast<std::uint32_t>(all.size() - headers);
    for (std::size_t place = all.size() - octets; place < all.size(); ++place) {
        all[place] = static_cast<std::byte>(place * 7 + number * 131 + queue * 29);
    }
    all[all.size() - 3] = static_cast<std::byte>(queue);
    all[all.size() - 2] = static_cast<std::byte>(number >> 8U);
    all[all.size() - 1] = static_cast<std::byte>(number);
    return sent;
}

using Capture = std::array<SentFrame, kFrames>;

/// The captures of all queues.
std::vector<Capture> make_captures() {
    std::vector<Capture> captures(kQueues);
    for (std::size_t queue = 0; queue < kQueues; ++queue) {
        for (std::size_t number = 0; number < kFrames; ++number) {
            captures[queue][number] = make_frame(queue, number);
        }
    }
    return captures;
}

void write(const Capture& capture, const std::string& path) {
    std::ofstream file(path, std::ios::binary);
    const auto put = [&file](std::initializer_list<std::uint32_t> words) {
        for (const std::uint32_t word : words) {
            file.write(reinterpret_cast<const char*>(&word), sizeof word);
        }
    };
    put({0xA1B2'C3D4, 0x0004'0002, 0, 0, 2048, 1});
    for (const SentFrame& sent : capture) {
        const auto octets = static_cast<std::uint32_t>(sent.frame.captured.size());
        put({1'600'000'000, 0, octets, octets});
        file.write(reinterpret_cast<const char*>(sent.frame.captured.data()), octets);
    }
}

/// What the first packets of a queue are accounted as.
struct Account {
    std::uint64_t metered{};
    std::uint64_t octets{};
    std::uint64_t ignored{};
};

Account account_of(const Capture& capture, std::uint64_t packets) {
    Account account;
    for (std::size_t number = 0; number < kFrames; ++number) {
        const std::uint64_t times = packets / kFrames + (number < packets % kFrames ? 1 : 0);
        const std::uint32_t octets = capture[number].ip_octets;
        account.metered += octets > 0 ? times : 0;
        account.octets += times * octets;
        account.ignored += octets > 0 ? 0 : times;
    }
    return account;
}

struct HeldPacket {
    KeptPacket packet;
    std::size_t number{};  ///< of its frame, when it was kept
};

bool is_as_sent(const Capture& capture, const HeldPacket& held) {
    const Frame& frame = capture[held.number].frame;
    const PacketView& view = held.packet.view();
    return std::ranges::equal(view.captured, frame.captured) &&
           view.wire_bytes == frame.wire_bytes && view.ingress_interface == InterfaceIndex{1} &&
           held.packet.segments() == 1;
}

/// The way of one queue's kept packets to another thread. It has places for all that can be kept
/// and checks nothing: that a place is free again, and that its reader is done with it, follows
/// from the room that KeptBuffers had for the packet.
class HandOver {
public:
    /// @thread  the input thread
    void push(KeptPacket packet, std::size_t number) noexcept {
        places_[next_ % kMost] = {.packet = std::move(packet), .number = number};
        ++next_;
        pushed_.store(next_, std::memory_order_release);
    }
    /// @return  false: there is none
    /// @thread  the one that gives back
    bool pop(HeldPacket& packet) noexcept {
        if (popped_ == pushed_.load(std::memory_order_acquire)) {
            return false;
        }
        packet = std::move(places_[popped_ % kMost]);
        ++popped_;
        return true;
    }

private:
    std::vector<HeldPacket> places_ = std::vector<HeldPacket>(kMost);
    std::uint64_t next_ = 0;
    /// Release, for the acquire in pop(): the packet is in its place.
    std::atomic<std::uint64_t> pushed_{0};
    std::uint64_t popped_ = 0;
};

/// A thread that compares and gives back the packets of all queues, each after a random number of
/// others.
class Returner {
public:
    Returner(const std::vector<Capture>& captures, bool uses_dpdk, std::uint32_t seed)
        : captures_(captures),
          random_(seed),
          thread_(std::make_unique<PinnedThread>(
              ThreadPlace{.name = "returner", .cpu = {}, .uses_dpdk = uses_dpdk},
              [this] { run(); })) {}
    ~Returner() { finish(); }
    Returner(const Returner&) = delete;
    Returner& operator=(const Returner&) = delete;

    [[nodiscard]] HandOver& from(std::size_t queue) noexcept { return from_[queue]; }
    /// From the return on it takes and gives back nothing, until it is set free.
    void freeze() noexcept {
        is_frozen_ = true;
        while (!is_resting_) {
            std::this_thread::yield();
        }
    }
    void set_free() noexcept { is_frozen_ = false; }
    /// Gives back all that was handed over, and ends.
    void finish() noexcept {
        is_frozen_ = false;
        is_over_ = true;
        thread_.reset();
    }
    [[nodiscard]] std::uint64_t given_back() const noexcept { return given_back_; }
    [[nodiscard]] std::uint64_t wrong() const noexcept { return wrong_; }

private:
    void run() {
        bool was_over = false;
        for (bool found = true; found || !was_over;) {
            was_over = is_over_;
            is_resting_ = is_frozen_.load();
            found = !is_resting_ && take_some();
            if (!found) {
                std::this_thread::yield();
            }
        }
        for (std::size_t queue = 0; queue < kQueues; ++queue) {
            std::ranges::shuffle(held_[queue], random_);
            for (HeldPacket& packet : held_[queue]) {
                give_back(queue, packet);
            }
        }
    }
    bool take_some() {
        bool found = false;
        for (std::size_t queue = 0; queue < kQueues; ++queue) {
            found |= take_some(queue);
        }
        return found;
    }
    bool take_some(std::size_t queue) {
        constexpr int kAtATime = 64;
        HeldPacket packet;
        int taken = 0;
        for (; taken < kAtATime && from_[queue].pop(packet); ++taken) {
            hold(queue, std::move(packet));
        }
        return taken > 0;
    }
    void hold(std::size_t queue, HeldPacket packet) {
        std::vector<HeldPacket>& held = held_[queue];
        if (held.size() < kHeld) {
            held.push_back(std::move(packet));
            return;
        }
        HeldPacket& former = held[random_() % kHeld];
        give_back(queue, former);
        former = std::move(packet);
    }
    void give_back(std::size_t queue, HeldPacket& packet) {
        wrong_ += is_as_sent(captures_[queue], packet) ? 0 : 1;
        packet.packet = {};
        ++given_back_;
    }

    const std::vector<Capture>& captures_;
    std::mt19937 random_;
    std::array<HandOver, kQueues> from_;
    std::array<std::vector<HeldPacket>, kQueues> held_;
    std::atomic<bool> is_frozen_{false};
    std::atomic<bool> is_resting_{false};
    std::atomic<bool> is_over_{false};
    std::atomic<std::uint64_t> given_back_{0};
    std::atomic<std::uint64_t> wrong_{0};
    std::unique_ptr<PinnedThread> thread_;
};

using Returners = std::array<std::unique_ptr<Returner>, 2>;

/// What the stages of one queue count.
struct Tally {
    Counter seen;     ///< frames, by stages that keep one in ten
    Counter wanted;   ///< to be kept, by all stages
    Counter kept;     ///< of these
    Counter refused;  ///< of these
    Counter refused_with_room;
    Counter out_of_order;     ///< frames that are not the next ones of the capture
    Counter wrongly_marked;   ///< bursts with wrong masks
    std::uint64_t hoarded{};  ///< given back by the main thread, as are those below
    std::uint64_t wrong_hoard{};
};

/// What stages of one queue work with.
struct QueueUse {
    std::size_t queue;
    const KeptBuffers& kept;
    const Capture& capture;
    Returners& returners;
    Tally& tally;
};

/// Wants one frame in so many.
class Keeper : public BurstStage {
public:
    Keeper(StageNeeds needs, const QueueUse& use, std::uint64_t one_in)
        : BurstStage(std::move(needs)), use_(use), one_in_(one_in) {}

    void on_burst(FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept final {
        judge(burst, packets);
        for (std::size_t index = 0; index < burst.frames.size(); ++index) {
            if (seen_ % one_in_ == 0) {
                want(burst, index);
            }
            ++seen_;
        }
    }

protected:
    virtual void want(FrameBurst& burst, std::size_t index) noexcept = 0;

    /// Keeps a frame. Where it waits for room, as no real stage may, none is refused.
    [[nodiscard]] HeldPacket keep(FrameBurst& burst, std::size_t index, bool waits) noexcept {
        while (waits && use_.kept.held() >= kMost) {
            std::this_thread::yield();
        }
        use_.tally.wanted.add();
        HeldPacket held{.packet = burst.keep(index), .number = number_of(burst.frames[index])};
        (held.packet ? use_.tally.kept : use_.tally.refused).add();
        use_.tally.refused_with_room.add(waits && !held.packet ? 1 : 0);
        use_.tally.wrongly_marked.add(held.packet && (burst.kept & mask_of(index)) == 0 ? 1 : 0);
        return held;
    }

    QueueUse use_;

private:
    /// Whether the frames are the next ones of the capture, and each has one mark.
    void judge(const FrameBurst& burst, std::span<const KeyedPacket> packets) noexcept {
        for (const PacketView& frame : burst.frames) {
            const std::size_t number = number_of(frame);
            use_.tally.out_of_order.add(number == next_.value_or(number) ? 0 : 1);
            next_ = (number + 1) % kFrames;
        }
        PacketMask metered = 0;
        for (const KeyedPacket& packet : packets) {
            metered |= mask_of(burst.index_of(*packet.packet));
        }
        const bool is_marked = burst.metered == metered && (burst.metered & burst.ignored) == 0 &&
                               (burst.metered | burst.ignored) == mask_of_all(burst.frames);
        use_.tally.wrongly_marked.add(is_marked ? 0 : 1);
    }

    std::uint64_t one_in_;
    std::uint64_t seen_ = 0;
    std::optional<std::size_t> next_{};
};

/// Hands packets over to a returner.
class Recorder final : public Keeper {
public:
    Recorder(const QueueUse& use, std::uint64_t one_in, bool waits, std::size_t returner)
        : Keeper({.name = "recorder",
                  .order = StageOrder::recorder,
                  .octets = true,
                  .kept = kMost / 2},
                 use, one_in),
          waits_(waits),
          to_(use.returners[returner]->from(use.queue)) {}

private:
    void want(FrameBurst& burst, std::size_t index) noexcept override {
        if (HeldPacket held = keep(burst, index, waits_); held.packet) {
            to_.push(std::move(held.packet), held.number);
        }
    }

    bool waits_;
    HandOver& to_;
};

/// Keeps packets itself, until the main thread destroys it.
class Hoarder final : public Keeper {
public:
    explicit Hoarder(const QueueUse& use)
        : Keeper({.name = "hoarder", .order = StageOrder::triggers, .octets = true, .kept = kHoard},
                 use, kOneIn) {
        hoard_.reserve(kHoard);
    }
    Hoarder(const Hoarder&) = delete;
    Hoarder& operator=(const Hoarder&) = delete;
    ~Hoarder() override {
        for (const HeldPacket& held : hoard_) {
            use_.tally.wrong_hoard += is_as_sent(use_.capture, held) ? 0 : 1;
        }
        use_.tally.hoarded += hoard_.size();
    }

private:
    void want(FrameBurst& burst, std::size_t index) noexcept override {
        if (hoard_.size() < kHoard) {
            hoard_.push_back(keep(burst, index, true));
        }
    }

    std::vector<HeldPacket> hoard_;
};

/// Counts the frames that other stages of its list keep one in ten of.
class Watcher final : public BurstStage {
public:
    explicit Watcher(Tally& tally)
        : BurstStage({.name = "watcher", .order = StageOrder::outlets}), tally_(tally) {}

    void on_burst(FrameBurst& burst, std::span<const KeyedPacket> /*packets*/) noexcept override {
        tally_.seen.add(burst.frames.size());
    }

private:
    Tally& tally_;
};

/// The stages that a reload chooses.
enum class Choice : std::uint8_t {
    none,
    tenth,  ///< one stage keeps every tenth packet
    twice,  ///< two stages keep every tenth packet, and hand it to two threads
    hoard,  ///< a stage keeps packets until a reload ends it, others every tenth
    all,    ///< a stage wants every packet, and is refused many
};

StageList stages_of(Choice choice, const QueueUse& use) {
    const std::size_t mine = use.queue % 2;
    std::vector<std::unique_ptr<BurstStage>> stages;
    if (choice == Choice::tenth || choice == Choice::twice || choice == Choice::hoard) {
        stages.push_back(std::make_unique<Recorder>(use, kOneIn, true, mine));
        stages.push_back(std::make_unique<Watcher>(use.tally));
    }
    if (choice == Choice::twice) {
        stages.push_back(std::make_unique<Recorder>(use, kOneIn, true, 1 - mine));
    }
    if (choice == Choice::hoard) {
        stages.push_back(std::make_unique<Hoarder>(use));
    }
    if (choice == Choice::all) {
        stages.push_back(std::make_unique<Recorder>(use, 1, false, mine));
    }
    return StageList(std::move(stages));
}

/// A port of four queues, their sources and readers, and the pipeline that meters them.
class Probe {
public:
    explicit Probe(const std::vector<Capture>& captures)
        : captures_(captures),
          input_(write_input()),
          device_(eal_device(input_, 0)),
          size_(plan_pools(std::array{input_}, std::array{NumaNode{}})[0]),
          eal_({.devices = {device_},
                .main_cpus = read_topology().allowed(),
                .may_use_huge_pages = false,
                .memory_bytes = 2 * size_.memory()}),
          pool_(size_),
          port_(std::make_unique<EthPort>(eal_.port_of(device_), input_, device_, pool_)) {
        for (std::size_t index = 0; index < kReturners; ++index) {
            returners_[index] =
                std::make_unique<Returner>(captures, index == 0, static_cast<std::uint32_t>(index));
        }
        port_->start();
        std::vector<std::unique_ptr<QueueWorker>> workers;
        PipelinePlaces places{.inputs = {}, .export_thread = {.name = "export", .cpu = {}}};
        for (std::uint16_t queue = 0; queue < kQueues; ++queue) {
            sources_.push_back(std::make_unique<DpdkQueue>(*port_, queue, InterfaceIndex{1}));
            readers_.push_back(
                std::make_unique<FrameReader<DpdkQueue>>(*sources_.back(), FrameParserParts{}));
            workers.push_back(make_queue_worker(*readers_.back(),
                                                {.flows = {.max_flows = 1024},
                                                 .layout = {},
                                                 .numa_node = {},
                                                 .pages = PageUse::offline,
                                                 .name = "four/" + std::to_string(queue)},
                                                FlowHasher(1)));
            places.inputs.push_back({.name = "in", .cpu = {}, .uses_dpdk = true});
        }
        ExportOptions options;
        options.collectors.resize(1);
        options.collectors[0].transport = TransportKind::file;
        options.collectors[0].path = "/dev/null";
        pipeline_ =
            std::make_unique<Pipeline>(Pipeline::Parts{.queues = std::move(workers),
                                                       .export_options = options,
                                                       .metering = {},
                                                       .wall_clock = [] { return kFirstTimestamp; },
                                                       .on_collector_event = {}});
        pipeline_->start(places, [] {});
    }

    /// Changes the stages of a queue. A thread that a busy machine leaves aside for seconds gets
    /// the change again.
    [[nodiscard]] bool choose(std::size_t queue, Choice choice) {
        const QueueUse use{.queue = queue,
                           .kept = sources_[queue]->kept(),
                           .capture = captures_[queue],
                           .returners = returners_,
                           .tally = tallies_[queue]};
        return wait_until([&] { return pipeline_->set_stages(queue, stages_of(choice, use)); });
    }
    [[nodiscard]] bool choose_for_all(Choice choice) {
        bool is_done = true;
        for (std::size_t queue = 0; queue < kQueues; ++queue) {
            is_done &= choose(queue, choice);
        }
        return is_done;
    }
    void freeze() {
        for (const auto& returner : returners_) {
            returner->freeze();
        }
    }
    void set_free() {
        for (const auto& returner : returners_) {
            returner->set_free();
        }
    }
    /// Stops metering while stages keep packets, and has all given back.
    void stop() {
        pipeline_->stop();
        for (const auto& returner : returners_) {
            returner->finish();
        }
    }
    /// Closes the port, whose captures are in its buffers.
    void close() {
        pipeline_.reset();
        readers_.clear();
        sources_.clear();
        port_.reset();
    }

    [[nodiscard]] Ledger ledger() const {
        Ledger ledger;
        ledger.queues.resize(kQueues);
        pipeline_->read(ledger);
        return ledger;
    }
    [[nodiscard]] bool is_each_queue(const std::function<bool(const QueueLedger&)>& so) const {
        return std::ranges::all_of(ledger().queues, so);
    }
    [[nodiscard]] const std::array<Tally, kQueues>& tallies() const noexcept { return tallies_; }
    [[nodiscard]] const Returners& returners() const noexcept { return returners_; }
    [[nodiscard]] const PacketPool& pool() const noexcept { return pool_; }
    [[nodiscard]] const EthPort& port() const noexcept { return *port_; }

private:
    static constexpr std::size_t kReturners = std::tuple_size_v<Returners>;

    InputOptions write_input() {
        InputOptions input;
        input.name = "four";
        input.device = "net_pcap0,infinite_rx=1";
        for (std::size_t queue = 0; queue < kQueues; ++queue) {
            const std::string path = directory_ / std::to_string(queue);
            write(captures_[queue], path);
            input.device += ",rx_pcap=" + path;
        }
        input.queues = kQueues;
        input.rx_descriptors =
            256;  // more than the frames of a capture, which take as many buffers
        input.kept_buffers = kMost;
        return input;
    }

    const std::vector<Capture>& captures_;
    TemporaryDirectory directory_;
    InputOptions input_;
    EalDevice device_;
    PoolSize size_;
    Eal eal_;
    PacketPool pool_;
    std::unique_ptr<EthPort> port_;
    std::array<Tally, kQueues> tallies_;
    Returners returners_;
    std::vector<std::unique_ptr<DpdkQueue>> sources_;
    std::vector<std::unique_ptr<PacketReader>> readers_;
    std::unique_ptr<Pipeline> pipeline_;
};

/// Changes stages until those that keep one packet in ten have seen so many.
void reload(Probe& probe, std::uint64_t packets, unsigned reloads) {
    constexpr std::chrono::minutes kPatience{8};
    constexpr std::array kChoices{Choice::tenth, Choice::twice, Choice::hoard, Choice::tenth,
                                  Choice::none,  Choice::twice, Choice::all};
    std::mt19937 random(36);
    const auto have_seen = [&] {
        return std::ranges::all_of(probe.tallies(), [&](const Tally& tally) {
            return tally.seen.read() >= packets / kQueues;
        });
    };
    const auto end = std::chrono::steady_clock::now() + kPatience;
    bool is_confirmed = true;
    for (unsigned done = 0; is_confirmed && (done < reloads || !have_seen()); ++done) {
        is_confirmed = probe.choose(random() % kQueues, kChoices[random() % kChoices.size()]) &&
                       std::chrono::steady_clock::now() < end;
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 1000));
    }
    CHECK(is_confirmed);
    CHECK(have_seen());
}

/// Packets that nobody gives back are refused, and the queues go on to receive.
void fill_up(Probe& probe) {
    CHECK(probe.choose_for_all(Choice::all));
    probe.freeze();
    CHECK(wait_until([&] {
        return probe.is_each_queue(
            [](const QueueLedger& queue) { return queue.kept_held == kMost; });
    }));
    const Ledger before = probe.ledger();
    constexpr std::uint64_t kMore = 10'000;
    CHECK(wait_until([&] {
        const Ledger ledger = probe.ledger();
        bool go_on = true;
        for (std::size_t queue = 0; queue < kQueues; ++queue) {
            go_on &= ledger.queues[queue].received > before.queues[queue].received + kMore;
        }
        return go_on;
    }));
    const Ledger after = probe.ledger();
    for (std::size_t queue = 0; queue < kQueues; ++queue) {
        CHECK(after.queues[queue].kept == before.queues[queue].kept);
        CHECK(after.queues[queue].kept_held == kMost);
        CHECK(after.queues[queue].keep_refused > before.queues[queue].keep_refused);
    }
    probe.set_free();
}

void check_queue(const QueueLedger& ledger, const Tally& tally, const Capture& capture) {
    CHECK(ledger.kept == tally.kept.read());
    CHECK(ledger.keep_refused == tally.refused.read());
    CHECK(ledger.kept + ledger.keep_refused == tally.wanted.read());
    CHECK(ledger.kept_held == 0);
    CHECK(tally.refused_with_room.read() == 0);
    CHECK(tally.out_of_order.read() == 0);
    CHECK(tally.wrongly_marked.read() == 0);
    CHECK(tally.wrong_hoard == 0);
    CHECK(tally.hoarded > 0);
    const Account wanted = account_of(capture, ledger.received);
    CHECK(ledger.metered.packets == wanted.metered);
    CHECK(ledger.metered.octets == wanted.octets);
    CHECK(ledger.ignored.at("other_ethertype") == wanted.ignored);
    CHECK(ledger.ignored_sum() == wanted.ignored);
}

/// @param packets  of all queues, that stages see which keep one in ten
void keep_packets(std::uint64_t packets, unsigned reloads) {
    const std::vector<Capture> captures = make_captures();
    Probe probe(captures);
    reload(probe, packets, reloads);
    fill_up(probe);
    CHECK(probe.choose_for_all(Choice::tenth));
    probe.stop();

    const Ledger ledger = probe.ledger();
    CHECK(imbalance(ledger).empty());
    CHECK(probe.port().counters().received == ledger.total().received);
    std::uint64_t kept = 0;
    std::uint64_t hoarded = 0;
    std::uint64_t seen = 0;
    for (std::size_t queue = 0; queue < kQueues; ++queue) {
        INFO("queue " << queue);
        const Tally& tally = probe.tallies()[queue];
        check_queue(ledger.queues[queue], tally, captures[queue]);
        kept += tally.kept.read();
        hoarded += tally.hoarded;
        seen += tally.seen.read();
    }
    CHECK(kept > packets / kOneIn);
    CHECK(seen >= packets);
    std::uint64_t given_back = 0;
    for (const auto& returner : probe.returners()) {
        CHECK(returner->wrong() == 0);
        given_back += returner->given_back();
    }
    CHECK(given_back + hoarded == kept);
    WARN(ledger.total().received << " packets, " << seen
                                 << " of them before stages that keep one in ten; " << kept
                                 << " kept, " << ledger.total().keep_refused << " refused");

    CHECK(probe.pool().in_use() == kQueues * kFrames);
    probe.close();
    CHECK(probe.pool().in_use() == 0);
    CHECK(has_each_buffer_once(*probe.pool().get()));
}

TEST_CASE(
    "Pipeline: packets that stages keep come back whole from other threads while stages come and "
    "go",
    "[daemon][system][threads]") {
    keep_packets(200'000, 150);
}

TEST_CASE("Pipeline: of ten million packets every tenth is kept and comes back whole",
          "[.][long]") {
    keep_packets(10'000'000, 2'000);
}

}  // namespace
}  // namespace tributary
