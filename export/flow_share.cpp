// SPDX-License-Identifier: Apache-2.0
#include "export/flow_share.hpp"

#include <array>
#include <cstring>
#include <span>
#include <tuple>

#include "flowcache/record/flow_direction.hpp"

namespace tributary {
namespace {

bool has_address(const AddressPrefix& prefix) noexcept {
    return prefix.ipv4 != 0 || prefix.ipv6 != 0;
}

/// Whether the canonical direction of a key is the other one.
bool is_swapped(const FlowKey& key) noexcept {
    return std::tie(key.destination, key.destination_port) < std::tie(key.source, key.source_port);
}

}  // namespace

FlowShare::FlowShare(const RecordLayout& layout, const TableElements& table) noexcept {
    const KeyDescriptor& key = table.key;
    is_declared_ = table.is_declared;
    if (key.extension == KeyExtension::declared) {
        is_declared_ = true;
        extractor_ = key.extractor;
        extension_at_ = layout.places[key.extension_group];
    }
    has_ends_ = has_address(key.source) || has_address(key.destination) || key.source_port ||
                key.destination_port || (extractor_ != nullptr && extractor_->has_sides());
}

std::uint32_t FlowShare::of_core(const std::byte* record) const noexcept {
    FlowKey key = reinterpret_cast<const FlowRecordCore*>(record)->key;
    key.ingress_interface = {};
    key = swapped(key, is_swapped(key));
    return static_cast<std::uint32_t>(hasher_(key) >> 32U);
}

/// Where the ends of its FlowKey are equal, the octets of the extension say which direction is the
/// canonical one, as they do in a cache.
std::uint32_t FlowShare::of_declared(const std::byte* record) const noexcept {
    FlowKey key = reinterpret_cast<const FlowRecordCore*>(record)->key;
    if (has_ends_) {
        key.ingress_interface = {};
    }
    const bool is_other = is_swapped(key);
    const FlowHash of_key = hasher_(swapped(key, is_other));
    if (extractor_ == nullptr) {
        return static_cast<std::uint32_t>(of_key >> 32U);
    }
    using Octets = std::array<std::byte, KeyExtractor::kMostOctets>;
    const std::size_t count = extractor_->octets();
    Octets octets{};
    std::memcpy(octets.data(), record + extension_at_, count);
    if (extractor_->has_sides()) {
        Octets other = octets;
        extractor_->swap_sides(other.data());
        const bool is_smaller = std::memcmp(other.data(), octets.data(), count) < 0;
        if (is_other || (has_equal_ends(key) && is_smaller)) {
            octets = other;
        }
    }
    const std::span<const std::byte> extension = std::span(octets).first(count);
    return static_cast<std::uint32_t>(hasher_(of_key, extension) >> 32U);
}

std::vector<FlowShare> flow_shares(const MeteringProcess& metering) {
    const std::vector<RecordLayout> layouts = metering.layouts();
    std::vector<FlowShare> shares;
    shares.reserve(layouts.size());
    for (std::size_t table = 0; table < layouts.size(); ++table) {
        shares.emplace_back(layouts[table], metering.elements_of(table));
    }
    return shares;
}

}  // namespace tributary
