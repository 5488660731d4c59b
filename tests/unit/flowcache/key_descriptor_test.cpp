// SPDX-License-Identifier: Apache-2.0
#include "flowcache/record/key_descriptor.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "flowcache/flow_cache.hpp"
#include "tests/support/biflow_harness.hpp"
#include "tests/support/cache_harness.hpp"
#include "tests/support/packet_builder.hpp"

using namespace tributary;
using namespace tributary::test;
using namespace std::chrono_literals;

namespace {

// The reference: each field of a packet is masked by itself, an address octet by octet. Bit by bit
// it took almost half of the time of this program under AddressSanitizer.

using Octets = std::vector<std::uint8_t>;

/// The first `count` bits of an address; the others are 0.
Octets prefix_of(const IpAddress& address, std::size_t octets, std::size_t count) {
    Octets prefix(octets);
    for (std::size_t octet = 0; octet < octets; ++octet) {
        const std::size_t before = 8 * octet;
        const std::size_t kept = std::clamp(count, before, before + 8) - before;
        const unsigned mask = 0xFFU << (8 - kept);
        prefix[octet] = static_cast<std::uint8_t>(std::to_integer<unsigned>(address[octet]) & mask);
    }
    return prefix;
}

/// One end of a conversation: address and port.
using End = std::pair<Octets, std::uint16_t>;

/// What packets of one flow have in common, in one direction.
struct ReferenceKey {
    std::uint8_t ip_version{};
    std::uint8_t protocol{};
    std::uint16_t vlan{};
    std::uint32_t interface {};
    std::uint32_t tunnel{};  ///< its id
    End source;
    End destination;

    [[nodiscard]] ReferenceKey swapped() const {
        ReferenceKey other = *this;
        std::swap(other.source, other.destination);
        return other;
    }
    friend auto operator<=>(const ReferenceKey&, const ReferenceKey&) = default;
};

End end_of(const IpAddress& address, std::uint16_t port, std::uint8_t ip_version,
           const AddressPrefix& prefix, bool has_port) {
    return {
        ip_version == 4 ? prefix_of(address, 4, prefix.ipv4) : prefix_of(address, 16, prefix.ipv6),
        has_port ? port : std::uint16_t{0}};
}

ReferenceKey masked(const PacketFields& fields, std::uint32_t interface, const KeyDescriptor& key) {
    return {.ip_version = fields.ip_version,
            .protocol = key.protocol ? fields.protocol : std::uint8_t{0},
            .vlan = key.vlan ? fields.outer_vlan.value : std::uint16_t{0},
            .interface = key.ingress_interface ? interface : 0,
            .tunnel = key.extension == KeyExtension::tunnel ? fields.tunnel.id : 0,
            .source = end_of(fields.source, fields.source_port.value, fields.ip_version, key.source,
                             key.source_port),
            .destination = end_of(fields.destination, fields.destination_port.value,
                                  fields.ip_version, key.destination, key.destination_port)};
}

/// The key of a record, which has no octets that the descriptor does not have.
ReferenceKey key_of(const FlowKey& key, std::uint32_t tunnel) {
    const KeyDescriptor all;
    return {.ip_version = key.ip_version,
            .protocol = key.protocol,
            .vlan = key.vlan.value,
            .interface = key.ingress_interface.value,
            .tunnel = tunnel,
            .source = end_of(key.source, key.source_port.value, key.ip_version, all.source, true),
            .destination = end_of(key.destination, key.destination_port.value, key.ip_version,
                                  all.destination, true)};
}

struct Counts {
    std::uint64_t packets{};
    std::uint64_t octets{};
    friend bool operator==(const Counts&, const Counts&) = default;
};
using Flows = std::map<ReferenceKey, Counts>;

void add(Flows& flows, const ReferenceKey& key, const Counts& counts) {
    if (counts.packets != 0) {
        Counts& sum = flows[key];
        sum.packets += counts.packets;
        sum.octets += counts.octets;
    }
}

/// Whether two directions of such packets are one biflow: not where type and code of ICMP are in
/// the key as a port, of a flow that has ICMP alone.
bool is_paired(const ReferenceKey& flow, const KeyDescriptor& key) {
    const bool is_icmp = flow.protocol == 1 || flow.protocol == 58;
    return !(is_icmp && key.destination_port);
}

struct Packet {
    PacketFields fields;
    std::uint32_t interface;
};

constexpr std::array<std::byte, 8> kOuter{std::byte{10}, {}, {}, std::byte{1},
                                          std::byte{10}, {}, {}, std::byte{1}};

/// Packets of few hosts, nets, ports and so on, so that masks of any length let some of them meet.
class RandomPackets {
public:
    explicit RandomPackets(std::uint32_t seed) : random_(seed) {}

    Packet next() {
        constexpr std::array<std::uint8_t, 5> kProtocols{6, 17, 1, 58, 47};
        PacketFields fields{.protocol = kProtocols.at(below(kProtocols.size())),
                            .ip_version = static_cast<std::uint8_t>(below(2) == 0 ? 4 : 6),
                            .ip_bytes = 40 + below(1400)};
        address(fields.source, fields.ip_version);
        address(fields.destination, fields.ip_version);
        const bool is_icmp = fields.protocol == 1 || fields.protocol == 58;
        fields.source_port = {static_cast<std::uint16_t>(is_icmp ? 0 : 1000 + below(3))};
        fields.destination_port = {
            static_cast<std::uint16_t>(is_icmp ? 0x800 * below(2) : 1000 + below(3))};
        fields.outer_vlan = VlanId{static_cast<std::uint16_t>(below(2) * 7)};
        fields.tunnel = {.addresses = kOuter.data(),
                         .id = 1 + below(2),
                         .kind = TunnelKind::vxlan,
                         .ip_version = 4};
        return {fields, 1 + below(2)};
    }
    std::uint32_t below(std::size_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

private:
    /// It differs from others in any of its first, middle and last octets, or not. The octets that
    /// IPv4 does not use are anything.
    void address(IpAddress& address, std::uint8_t ip_version) {
        address = ip_address(ip_version == 4 ? "10.1.2.3" : "2001:db8:1:2:3:4:5:6");
        for (const std::size_t octet :
             {std::size_t{0}, std::size_t{2}, std::size_t{3}, std::size_t{7}, std::size_t{15}}) {
            address.at(octet) ^= static_cast<std::byte>(below(8) == 0 ? 1 + below(2) : 0);
        }
    }

    std::mt19937 random_;
};

struct NamedKey {
    std::string name;
    KeyDescriptor key;
};

KeyDescriptor prefixes(std::uint8_t ipv4, std::uint8_t ipv6) {
    KeyDescriptor key;
    key.source = key.destination = {.ipv4 = ipv4, .ipv6 = ipv6};
    return key;
}
KeyDescriptor without_ports(KeyDescriptor key) {
    key.source_port = key.destination_port = false;
    return key;
}

std::vector<NamedKey> named_keys() {
    std::vector<NamedKey> keys{{"default", {}},
                               {"/24 and /56", prefixes(24, 56)},
                               {"/31 and /127", prefixes(31, 127)},
                               {"/17 and /20", prefixes(17, 20)},
                               {"no addresses", prefixes(0, 0)},
                               {"no ports", without_ports({})},
                               {"/24, /56, no ports", without_ports(prefixes(24, 56))}};
    const auto change = [&keys](const std::string& name, KeyDescriptor key, auto how) {
        how(key);
        keys.push_back({name, key});
    };
    using K = KeyDescriptor;
    change("no protocol", {}, [](K& key) { key.protocol = false; });
    change("no VLAN", {}, [](K& key) { key.vlan = false; });
    change("no interface", {}, [](K& key) { key.ingress_interface = false; });
    change("tunnel", {}, [](K& key) { key.extension = KeyExtension::tunnel; });
    change("/24, /56, tunnel", prefixes(24, 56),
           [](K& key) { key.extension = KeyExtension::tunnel; });
    // [sourceAddress/24/56, destinationAddress/24/56, ingressInterface]
    change("nets and interface", without_ports(prefixes(24, 56)),
           [](K& key) { key.protocol = key.vlan = false; });
    change("IP version alone", without_ports(prefixes(0, 0)),
           [](K& key) { key.protocol = key.vlan = key.ingress_interface = false; });
    return keys;
}
/// Those in which the ends are masked differently.
std::vector<NamedKey> one_sided_keys() {
    std::vector<NamedKey> keys(3);
    keys[0].name = "source alone";
    keys[0].key.destination = {.ipv4 = 0, .ipv6 = 0};
    keys[0].key.destination_port = false;
    keys[1].name = "destination port alone";
    keys[1].key.source_port = false;
    keys[2].name = "source /24, /56 and destination /16, /32";
    keys[2].key.source = {.ipv4 = 24, .ipv6 = 56};
    keys[2].key.destination = {.ipv4 = 16, .ipv6 = 32};
    return keys;
}

constexpr std::size_t kBytes = 280;
using KeyHarness = CacheHarness<kBytes>;

RecordLayout layout_of(FlowDirection direction) {
    return RecordLayout::of(effective_groups({}, FlowCacheOptions{.tunnel = TunnelMode::inner}),
                            direction);
}

/// What the cache makes of packets that no timeout and no lack of room parts.
std::vector<KeyHarness::Cache::Record> records_of(const std::vector<Packet>& packets,
                                                  const KeyDescriptor& key,
                                                  FlowDirection direction) {
    const FlowCacheOptions options{
        .key = key, .max_flows = 1U << 16U, .direction = direction, .tunnel = TunnelMode::inner};
    KeyHarness harness(options, layout_of(direction));
    std::mt19937 random(1);
    std::vector<PacketView> views(kBurstPackets);
    const Timestamp now = at_ms(1'700'000'000'000);
    for (std::size_t next = 0; next < packets.size();) {
        const std::size_t count =
            std::min<std::size_t>(1 + random() % kBurstPackets, packets.size() - next);
        harness.burst.clear();
        for (std::size_t i = 0; i < count; ++i, ++next) {
            views[i] = {.ingress_interface = InterfaceIndex{packets[next].interface},
                        .seen_at = now,
                        .clock = now};
            harness.burst.add(views[i], packets[next].fields);
        }
        harness.cache.account(harness.burst.finish(), harness.sink);
    }
    CHECK(harness.cache.end_all(now, harness.sink));
    CHECK(harness.counters.packets.read() == packets.size());
    CHECK(
        harness.counters.ended[static_cast<std::size_t>(FlowEndReason::lack_of_resources)].read() ==
        0);
    return harness.sink.records;
}

std::uint32_t tunnel_of_record(KeyHarness::Cache::Record& record, const KeyDescriptor& key,
                               const RecordLayout& layout) {
    return key.extension == KeyExtension::tunnel
               ? record.group<TunnelGroup>(layout.at<TunnelGroup>()).id
               : 0;
}

std::vector<Packet> random_packets(std::uint32_t seed, std::size_t count) {
    RandomPackets random(seed);
    std::vector<Packet> packets;
    packets.reserve(count);
    while (packets.size() < count) {
        packets.push_back(random.next());
    }
    return packets;
}

Flows reference_flows(const std::vector<Packet>& packets, const KeyDescriptor& key) {
    Flows flows;
    for (const Packet& packet : packets) {
        add(flows, masked(packet.fields, packet.interface, key), {1, packet.fields.ip_bytes});
    }
    return flows;
}

constexpr std::size_t kDescribedPackets = 20'000;

/// A packet between two hosts of nets that a /24 keeps apart, and one within such a net.
PacketFields between(const std::string& source, const std::string& destination) {
    PacketFields fields = biflow::request();
    fields.source = ip_address(source);
    fields.destination = ip_address(destination);
    fields.ip_version = source.find(':') == std::string::npos ? 4 : 6;
    return fields;
}

std::vector<FlowRecord<144>> biflows_of(const KeyDescriptor& key,
                                        const std::vector<PacketFields>& packets) {
    FlowCacheOptions options = biflow::kOptions;
    options.key = key;
    biflow::BiflowHarness harness(options, biflow::kLayout);
    for (const PacketFields& fields : packets) {
        harness.packet(fields, at_ms(1000));
    }
    return biflow::end_all(harness, at_ms(1000));
}

}  // namespace

TEST_CASE("KeyDescriptor: uniflows have the packets whose masked fields are equal",
          "[flowcache][unit]") {
    const std::vector<Packet> packets = random_packets(1, kDescribedPackets);
    std::vector<NamedKey> keys = named_keys();
    std::ranges::copy(one_sided_keys(), std::back_inserter(keys));
    for (const auto& [name, key] : keys) {
        INFO(name);
        const RecordLayout layout = layout_of(FlowDirection::uniflow);
        std::vector<KeyHarness::Cache::Record> records =
            records_of(packets, key, FlowDirection::uniflow);
        Flows flows;
        for (auto& record : records) {
            add(flows, key_of(record.core.key, tunnel_of_record(record, key, layout)),
                {record.core.packets, record.core.octets});
        }
        CHECK(flows.size() == records.size());  // each has a record of its own
        CHECK(flows == reference_flows(packets, key));
    }
}

TEST_CASE("KeyDescriptor: biflows have both directions under one masked key", "[flowcache][unit]") {
    const std::vector<Packet> packets = random_packets(2, kDescribedPackets);
    const RecordLayout layout = layout_of(FlowDirection::biflow);
    for (const auto& [name, key] : named_keys()) {
        INFO(name);
        std::vector<KeyHarness::Cache::Record> records =
            records_of(packets, key, FlowDirection::biflow);
        const Flows expected = reference_flows(packets, key);
        std::size_t pairs = 0;
        for (const auto& [flow, counts] : expected) {
            pairs +=
                is_paired(flow, key) && flow.swapped() < flow && expected.contains(flow.swapped())
                    ? 1
                    : 0;
        }
        Flows flows;
        for (auto& record : records) {
            const auto& reverse = record.group<ReverseGroup>(layout.reverse_at);
            const ReferenceKey forward =
                key_of(record.core.key, tunnel_of_record(record, key, layout));
            add(flows, forward, {record.core.packets, record.core.octets});
            add(flows, forward.swapped(), {reverse.packets, reverse.octets});
        }
        CHECK(flows == expected);
        CHECK(records.size() == expected.size() - pairs);
    }
}

TEST_CASE("KeyDescriptor: the source of a biflow is its first sender's net", "[flowcache][unit]") {
    const std::vector<Packet> packets = random_packets(3, 5000);
    const KeyDescriptor key = without_ports(prefixes(24, 56));
    std::map<ReferenceKey, ReferenceKey> first;  // by the smaller direction
    for (const Packet& packet : packets) {
        const ReferenceKey flow = masked(packet.fields, packet.interface, key);
        first.try_emplace(std::min(flow, flow.swapped()), flow);
    }
    const std::vector<KeyHarness::Cache::Record> records =
        records_of(packets, key, FlowDirection::biflow);
    REQUIRE(records.size() == first.size());
    for (const auto& record : records) {
        const ReferenceKey flow = key_of(record.core.key, 0);
        CHECK(first.at(std::min(flow, flow.swapped())) == flow);
    }
}

TEST_CASE("KeyDescriptor: with ends that are masked differently each direction is a flow",
          "[flowcache][unit]") {
    const std::vector<Packet> packets = random_packets(4, 20'000);
    const RecordLayout layout = layout_of(FlowDirection::biflow);
    for (const auto& [name, key] : one_sided_keys()) {
        INFO(name);
        CHECK_FALSE(is_symmetric(key));
        std::vector<KeyHarness::Cache::Record> records =
            records_of(packets, key, FlowDirection::biflow);
        Flows flows;
        for (auto& record : records) {
            CHECK(record.group<ReverseGroup>(layout.reverse_at).packets == 0);
            add(flows, key_of(record.core.key, 0), {record.core.packets, record.core.octets});
        }
        CHECK(records.size() == flows.size());
        CHECK(flows == reference_flows(packets, key));
    }
}

TEST_CASE("KeyDescriptor: two directions between two nets are one biflow", "[flowcache][unit]") {
    const KeyDescriptor key = without_ports(prefixes(24, 56));
    const auto [there, back] =
        GENERATE(std::pair{between("10.0.1.9", "10.0.2.1"), between("10.0.2.200", "10.0.1.3")},
                 std::pair{between("10.0.2.1", "10.0.1.9"), between("10.0.1.3", "10.0.2.200")},
                 std::pair{between("2001:db8:0:100::1", "2001:db8:0:200::2"),
                           between("2001:db8:0:2ff::2", "2001:db8:0:1ff::1")},
                 std::pair{between("2001:db8:0:200::1", "2001:db8:0:100::2"),
                           between("2001:db8:0:1ff::2", "2001:db8:0:2ff::1")});
    std::vector<FlowRecord<144>> records = biflows_of(key, {there, back, there});
    REQUIRE(records.size() == 1);
    CHECK(records[0].core.packets == 2);
    CHECK(biflow::reverse_of(records[0]).packets == 1);
    CHECK(records[0].core.key.source_port == L4Port{0});
    CHECK(records[0].core.key.source ==
          ip_address(
              there.ip_version == 4
                  ? (there.source[2] == std::byte{1} ? "10.0.1.0" : "10.0.2.0")
                  : (there.source[6] == std::byte{1} ? "2001:db8:0:100::" : "2001:db8:0:200::")));
}

TEST_CASE("KeyDescriptor: packets within a net are one direction, whoever began",
          "[flowcache][unit]") {
    const KeyDescriptor key = without_ports(prefixes(24, 56));
    const auto flags = GENERATE(std::uint16_t{tcp_flag::kAck}, std::uint16_t{tcp_flag::kSyn},
                                std::uint16_t{tcp_flag::kSyn | tcp_flag::kAck});
    PacketFields there = between("10.0.1.9", "10.0.1.3");
    PacketFields back = between("10.0.1.3", "10.0.1.9");
    const bool is_back_first = GENERATE(false, true);
    (is_back_first ? back : there).tcp_control_bits = flags;
    std::vector<FlowRecord<144>> records =
        is_back_first ? biflows_of(key, {back, there, back}) : biflows_of(key, {there, back, back});
    REQUIRE(records.size() == 1);
    CHECK(records[0].core.packets == 3);
    CHECK(biflow::reverse_of(records[0]).packets == 0);
    CHECK(records[0].core.key.source == ip_address("10.0.1.0"));
    CHECK(records[0].core.key.destination == ip_address("10.0.1.0"));
}

TEST_CASE("KeyDescriptor: ICMP is paired where its type and code are not in the key",
          "[flowcache][unit]") {
    const std::string net = GENERATE("192.0.2.", "2001:db8::");
    PacketFields request = between(net + "1", net + "2");
    request.protocol = request.ip_version == 4 ? ip_protocol::kIcmp : ip_protocol::kIcmpV6;
    request.source_port = {0};
    request.destination_port = {0x0800};
    PacketFields reply = biflow::answer_to(request, 0);
    reply.source_port = {0};
    reply.destination_port = {0};
    CHECK(biflows_of({}, {request, reply}).size() == 2);
    std::vector<FlowRecord<144>> records = biflows_of(without_ports({}), {request, reply});
    REQUIRE(records.size() == 1);
    CHECK(records[0].core.packets == 1);
    CHECK(biflow::reverse_of(records[0]).packets == 1);
    CHECK(records[0].core.key.source == request.source);
    CHECK(records[0].core.key.destination_port == L4Port{0});
}

TEST_CASE("KeyDescriptor: flows of several protocols have no analysis of TCP",
          "[flowcache][unit]") {
    const auto direction = GENERATE(FlowDirection::uniflow, FlowDirection::biflow);
    FlowCacheOptions options{.max_flows = 8, .direction = direction, .tcp_analysis = true};
    options.key.protocol = false;
    options.key.source_port = options.key.destination_port = false;
    const RecordLayout layout = RecordLayout::of(effective_groups({}, options), direction);
    KeyHarness harness(options, layout);
    std::mt19937 random(36);
    for (int i = 0; i < 2000;
         ++i) {  // more flows than there is room for, so that entries are reused
        PacketFields fields = flow_packet(random() % 32);
        fields.protocol = random() % 2 == 0 ? ip_protocol::kTcp : ip_protocol::kUdp;
        fields.has_tcp_segment = fields.protocol == ip_protocol::kTcp;
        fields.tcp = {.sequence = static_cast<std::uint32_t>(random() % 5000),
                      .payload_bytes = 1000};
        harness.packet(fields, at_ms(i));
    }
    CHECK(harness.cache.end_all(at_ms(5000), harness.sink));
    CHECK(harness.sink.records.size() > 8);
    for (auto& record : harness.sink.records) {
        const auto& tcp = record.group<TcpAnalysisGroup>(layout.at<TcpAnalysisGroup>());
        REQUIRE(tcp.segments == 0);
        REQUIRE(tcp.retransmitted_octets == 0);
    }
    CHECK(harness.counters.tcp_segments_unread.read() == 0);
}
