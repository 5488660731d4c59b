// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/record_shape.hpp"

namespace tributary {
namespace {

// The weights of what every record has.
constexpr std::size_t kIcmp = 2;
constexpr std::size_t kVlan = 4;

}  // namespace

RecordShapes::RecordShapes(const RecordLayout& layout) noexcept : reverse_at_(layout.reverse_at) {
    std::size_t weight = kPlainShapes;
    std::size_t back_weight = 1;
    layout.groups().for_each([&](FieldGroupId id) {
        const FieldGroup& group = field_group(id);
        if (group.variants <= 1) {
            return;
        }
        const bool has_own_back = reverse_at_ != 0 && group.variant_of_both == nullptr;
        digits_[digit_count_] = {.group = &group,
                                 .id = id,
                                 .at = layout.places[id],
                                 .back_at = layout.reverse_places[id],
                                 .weight = weight,
                                 .back_weight = has_own_back ? back_weight : 0};
        ++digit_count_;
        weight *= group.variants;
        back_weight *= has_own_back ? group.variants : 1;
    });
    reverse_weight_ = weight;
    count_ = reverse_at_ != 0 ? weight * (1 + back_weight) : weight;
}

std::size_t RecordShapes::index_of(const std::byte* record) const noexcept {
    const FlowKey& key = reinterpret_cast<const FlowRecordCore*>(record)->key;
    const bool ipv6 = key.ip_version != 4;
    const bool icmp = key.protocol == (ipv6 ? ip_protocol::kIcmpV6 : ip_protocol::kIcmp);
    std::size_t index = (ipv6 ? 1 : 0) + (icmp ? kIcmp : 0) + (key.vlan.value != 0 ? kVlan : 0);
    const bool has_reverse =
        reverse_at_ != 0 &&
        reinterpret_cast<const ReverseGroup*>(record + reverse_at_)->packets != 0;
    std::size_t reverse = has_reverse ? 1 : 0;
    for (const Digit& digit : digits()) {
        std::uint8_t variant = digit.group->variant_of(record + digit.at, key.protocol);
        if (has_reverse) {
            const std::uint8_t back = digit.group->variant_of(record + digit.back_at, key.protocol);
            variant =
                digit.back_weight != 0 ? variant : digit.group->variant_of_both(variant, back);
            reverse += digit.back_weight * back;
        }
        index += digit.weight * variant;
    }
    return index + reverse * reverse_weight_;
}

RecordShape RecordShapes::at(std::size_t index) const noexcept {
    RecordShape shape{.ipv6 = index % 2 != 0,
                      .icmp = index / kIcmp % 2 != 0,
                      .vlan = index / kVlan % 2 != 0,
                      .has_reverse = index >= reverse_weight_};
    for (const Digit& digit : digits()) {
        const std::size_t base = digit.group->variants;
        shape.variants.at(digit.id) = static_cast<std::uint8_t>(index / digit.weight % base);
        if (shape.has_reverse && digit.back_weight != 0) {
            shape.reverse_variants.at(digit.id) =
                static_cast<std::uint8_t>((index / reverse_weight_ - 1) / digit.back_weight % base);
        }
    }
    return shape;
}

}  // namespace tributary
