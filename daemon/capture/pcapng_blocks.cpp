// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/pcapng_blocks.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "daemon/capture/pcapng_format.hpp"

namespace tributary {
namespace {

constexpr std::size_t kAlignment = 4;

enum class Option : std::uint16_t {
    end = 0,
    comment = 1,
    section_application = 4,
    interface_name = 2,
    interface_time_resolution = 9,
    packet_hash = 3,
    packet_queue = 6,
    statistics_received = 4,
    statistics_system_dropped = 7,
};

constexpr std::uint8_t kToeplitz = 5;
constexpr std::uint8_t kNanoseconds = 9;

}  // namespace

/// A block while it is made. Its destructor closes it.
class PcapngBlocks::Block {
public:
    Block(std::vector<std::byte>& octets, PcapngBlock type)
        : octets_(octets), begin_(octets.size()) {
        add(type);
        add(std::uint32_t{0});  // the length, which close() knows
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block() = default;

    template <class Number>
        requires std::is_trivially_copyable_v<Number>
    void add(Number number) {
        add(std::as_bytes(std::span(&number, 1)));
    }
    void add(std::span<const std::byte> octets) {
        octets_.insert(octets_.end(), octets.begin(), octets.end());
    }
    void pad() { octets_.resize((octets_.size() + kAlignment - 1) / kAlignment * kAlignment); }
    void add_option(Option option, std::span<const std::byte> value) {
        value = value.first(std::min(value.size(), kLongestText));
        add(option);
        add(static_cast<std::uint16_t>(value.size()));
        add(value);
        pad();
    }
    void add_option(Option option, std::string_view text) {
        if (!text.empty()) {
            add_option(option, std::as_bytes(std::span(text)));
        }
    }
    template <class Number>
        requires std::is_integral_v<Number>
    void add_option(Option option, Number number) {
        add_option(option, std::as_bytes(std::span(&number, 1)));
    }
    /// Time in units of the interface, upper half first.
    void add_time(Timestamp time) {
        constexpr unsigned kHalf = 32;
        const auto ticks = static_cast<std::uint64_t>(
            std::max<Timestamp::rep>(time.time_since_epoch().count(), 0));
        add(static_cast<std::uint32_t>(ticks >> kHalf));
        add(static_cast<std::uint32_t>(ticks));
    }
    void close() {
        add(Option::end);
        add(std::uint16_t{0});
        const auto length =
            static_cast<std::uint32_t>(octets_.size() - begin_ + sizeof(std::uint32_t));
        add(length);
        std::memcpy(octets_.data() + begin_ + sizeof(PcapngBlock), &length, sizeof length);
    }

private:
    std::vector<std::byte>& octets_;
    std::size_t begin_;
};

void PcapngBlocks::add_section(std::string_view application, std::string_view comment) {
    constexpr std::uint32_t kByteOrderMagic = 0x1A2B'3C4D;
    constexpr std::uint16_t kMajor = 1;
    constexpr std::uint16_t kMinor = 0;
    constexpr std::int64_t kUnknownLength = -1;
    Block block(octets_, PcapngBlock::section_header);
    block.add(kByteOrderMagic);
    block.add(kMajor);
    block.add(kMinor);
    block.add(kUnknownLength);
    block.add_option(Option::section_application, application);
    block.add_option(Option::comment, comment);
    block.close();
}

std::uint32_t PcapngBlocks::add_interface(LinkType link_type, std::string_view name) {
    constexpr std::uint16_t kReserved = 0;
    constexpr std::uint32_t kNoSnapLength = 0;
    Block block(octets_, PcapngBlock::interface_description);
    block.add(static_cast<std::uint16_t>(link_type));
    block.add(kReserved);
    block.add(kNoSnapLength);
    block.add_option(Option::interface_name, name);
    block.add_option(Option::interface_time_resolution, kNanoseconds);
    block.close();
    return interfaces_++;
}

void PcapngBlocks::add_packet(std::uint32_t interface, const PacketView& packet,
                              const PcapngPacketNotes& notes) {
    Block block(octets_, PcapngBlock::enhanced_packet);
    block.add(interface);
    block.add_time(packet.seen_at);
    block.add(static_cast<std::uint32_t>(packet.captured.size()));
    block.add(packet.wire_bytes);
    block.add(packet.captured);
    block.pad();
    if (notes.rss_hash) {
        std::array<std::byte, 1 + sizeof(std::uint32_t)> hash{std::byte{kToeplitz}};
        std::memcpy(hash.data() + 1, &*notes.rss_hash, sizeof(std::uint32_t));
        block.add_option(Option::packet_hash, hash);
    }
    block.add_option(Option::packet_queue, notes.queue);
    block.close();
}

void PcapngBlocks::add_statistics(std::uint32_t interface, Timestamp at, std::uint64_t received,
                                  std::uint64_t lost, std::string_view comment) {
    Block block(octets_, PcapngBlock::interface_statistics);
    block.add(interface);
    block.add_time(at);
    block.add_option(Option::comment, comment);
    block.add_option(Option::statistics_received, received);
    block.add_option(Option::statistics_system_dropped, lost);
    block.close();
}

}  // namespace tributary
