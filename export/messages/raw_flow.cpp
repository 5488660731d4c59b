// SPDX-License-Identifier: Apache-2.0
#include "export/messages/raw_flow.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "export/export_error.hpp"
#include "export/messages/address_octets.hpp"
#include "export/messages/protobuf_writer.hpp"

namespace tributary {
namespace {

using Wire = ProtobufWireType;

constexpr ProtobufTag kTimeReceived{1, Wire::varint};
constexpr ProtobufTag kPayload{2, Wire::length};
constexpr ProtobufTag kSourceAddress{3, Wire::length};
constexpr ProtobufTag kDecoder{5, Wire::varint};
constexpr std::uint64_t kNetflow = 1;  // DECODER_NETFLOW, which is that of IPFIX too
constexpr std::size_t kIpv6 = 16;

/// @source  RFC 4291 §2.5.5.2: IPv4-mapped IPv6 addresses
std::array<std::byte, kIpv6> as_ipv6(std::span<const std::byte> address) {
    std::array<std::byte, kIpv6> octets{};
    std::ranges::copy(address, octets.end() - static_cast<std::ptrdiff_t>(address.size()));
    if (address.size() < kIpv6) {
        constexpr std::size_t kPrefixAt = 10;
        octets.at(kPrefixAt) = octets.at(kPrefixAt + 1) = std::byte{0xFF};
    }
    return octets;
}

}  // namespace

RawFlow::RawFlow(const std::string& probe_address) {
    const std::vector<std::byte> address = address_octets(probe_address);
    if (address.empty()) {
        throw ExportError(
            "RawFlow needs export.probe.address: Akvorado knows exporters by their addresses");
    }
    constants_.resize(kMostAround);
    ProtobufWriter to(constants_.data());
    to.put_octets(kSourceAddress, as_ipv6(address));
    to.put_varint(kDecoder, kNetflow);
    constants_.resize(to.size());
}

std::size_t RawFlow::write(MessageView ipfix, Timestamp received,
                           std::span<std::byte> out) const noexcept {
    const auto seconds = received.time_since_epoch() / std::chrono::seconds{1};
    ProtobufWriter to(out.data());
    to.put_varint_unless_zero(kTimeReceived, static_cast<std::uint64_t>(seconds));
    to.put_octets(kPayload, ipfix);
    to.put_raw(constants_);
    return to.size();
}

}  // namespace tributary
