// SPDX-License-Identifier: Apache-2.0
#include "export/messages/flow_message_encoder.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "export/characters.hpp"
#include "export/export_error.hpp"
#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/ipfix_template.hpp"
#include "export/messages/address_octets.hpp"
#include "export/messages/flow_message_fields.hpp"
#include "export/messages/protobuf_reader.hpp"

namespace tributary {
namespace {

namespace to_field = flow_message;

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kSectionOctets = 3;
/// Labels that goflow2 takes of a stack.
constexpr std::size_t kLabels = 3;
constexpr std::size_t kSections = 10;
constexpr unsigned kLabelShift = 4;  ///< below it: traffic class and bottom-of-stack bit

/// Octets of the longest varint field whose value has so many octets.
constexpr std::size_t most_of_number(std::size_t octets) {
    constexpr std::size_t kBits = 8;
    constexpr std::size_t kVarintBits = 7;
    return ProtobufTag::kRoom + (octets * kBits + kVarintBits - 1) / kVarintBits;
}
constexpr std::size_t kMostOfLabels = ProtobufTag::kRoom + 1 + kLabels * 3;
constexpr std::size_t kMostOfSections = ProtobufTag::kRoom + 1 + kSections * 4;
/// Of the fields that differ from record to record and are no element's.
constexpr std::size_t kMostOfOrigin =
    2 * most_of_number(sizeof(std::uint32_t)) + 2 * most_of_number(sizeof(std::uint64_t));

template <class Value>
Value get(const std::byte* from) noexcept {
    Value value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t octets = first_character(text).octets;
        if (octets == 0) {
            return false;
        }
        text.remove_prefix(octets);
    }
    return true;
}

/// The place of a label stack's section, from 0 at the top.
std::size_t section_of(std::string_view element) {
    constexpr std::string_view kBelow = "mplsLabelStackSection";
    if (!element.starts_with(kBelow)) {
        return 0;
    }
    std::size_t number = 1;
    std::from_chars(element.data() + kBelow.size(), element.data() + element.size(), number);
    return number - 1;
}

}  // namespace

FlowMessageEncoder::FlowMessageEncoder(const StreamIdentity& identity, const ExportOptions& options,
                                       const MeteringProcess& metering,
                                       std::span<const RecordLayout> layouts)
    : stream_(identity.stream) {
    take_identity(identity);
    take_sampling(metering);
    for (std::size_t index = 0; index < layouts.size(); ++index) {
        ElementChoice choice = element_choice(options, metering.elements_of(index));
        choice.ntop = false;  // these two say again what is there
        choice.cert = false;
        add_layout(layouts[index], choice);
    }
    most_octets_ += constants_.size() + kMostOfOrigin + ProtobufWriter::kSlack;
    std::ranges::sort(not_carried_);
    const auto doubles = std::ranges::unique(not_carried_);
    not_carried_.erase(doubles.begin(), doubles.end());
}

void FlowMessageEncoder::take_identity(const StreamIdentity& identity) {
    constexpr std::uint64_t kIpfix = 4;
    constexpr std::size_t kMostOfOthers = 64;
    const std::vector<std::byte> address = address_octets(identity.probe_address);
    const std::string& name = identity.probe_name;
    if (name.size() > kLongestName || !is_utf8(name)) {
        throw ExportError("FlowMessage: the probe's name must be UTF-8 of at most " +
                          std::to_string(kLongestName) + " octets");
    }
    constants_.resize(kLongestName + kMostOfOthers);
    ProtobufWriter to(constants_.data());
    to.put_varint(to_field::kType, kIpfix);
    if (!address.empty()) {
        to.put_octets(to_field::kSamplerAddress, address);
    }
    to.put_varint_unless_zero(to_field::kObservationDomain, identity.observation_domain);
    if (!name.empty()) {
        to.put_octets(to_field::kProbeName, std::as_bytes(std::span(name)));
    }
    to.put_fixed64(to_field::kStream, identity.stream);
    constants_.resize(to.size());
}

void FlowMessageEncoder::take_sampling(const MeteringProcess& metering) {
    for (const ObservedInterface& interface : metering.interfaces) {
        sampling_.push_back({interface.index, interface.sampling.one_in});
    }
    const auto differ = [](const Sampling& a, const Sampling& b) { return a.one_in != b.one_in; };
    if (std::ranges::adjacent_find(sampling_, differ) == sampling_.end()) {
        one_in_ = sampling_.empty() ? 1 : sampling_.front().one_in;
        sampling_.clear();
    }
    std::ranges::sort(sampling_, {}, &Sampling::interface);
}

void FlowMessageEncoder::add_layout(const RecordLayout& layout, const ElementChoice& choice) {
    if (layout.reverse_at != 0) {
        throw ExportError("FlowMessage: a message is of a uniflow, and the records are of biflows");
    }
    Layout& made = layouts_.emplace_back(Layout{.shapes = RecordShapes(layout), .plans = {}});
    for (std::size_t shape = 0; shape < made.shapes.count(); ++shape) {
        const std::vector<TemplateField> fields =
            fields_of(made.shapes.at(shape), layout, TimestampUnit::nanoseconds, choice);
        made.plans.push_back(plan_of(fields));
        std::size_t octets = 0;
        for (const Step& step : made.plans.back()) {
            octets += most_octets_of(step);
        }
        most_octets_ = std::max(most_octets_, octets);
    }
}

FlowMessageEncoder::Plan FlowMessageEncoder::plan_of(std::span<const TemplateField> fields) {
    Plan plan;
    for (const TemplateField& field : fields) {
        const FlowMessageField* const known = find_flow_message_field(field.element);
        if (known == nullptr) {
            not_carried_.emplace_back(field.element);
        } else if (known->form == FlowMessageForm::mpls) {
            add_section(plan, field);
        } else {
            plan.push_back({.action = action_of(field),
                            .has_presence = known->has_presence,
                            .tag = known->tag,
                            .from = field.from});
        }
    }
    return plan;
}

FlowMessageEncoder::Action FlowMessageEncoder::action_of(const TemplateField& field) noexcept {
    switch (find_flow_message_field(field.element)->form) {
        case FlowMessageForm::ether_type:
            return Action::ether_type;
        case FlowMessageForm::vlan:
            return Action::vlan;
        case FlowMessageForm::icmp:
            return Action::icmp;
        case FlowMessageForm::fragment_flags:
            return Action::fragment_flags;
        case FlowMessageForm::mpls:
            return Action::mpls;
        case FlowMessageForm::number:
        case FlowMessageForm::address:
        case FlowMessageForm::time:
            break;
    }
    switch (field.encoding) {
        case Encoding::octets1:
            return Action::unsigned1;
        case Encoding::unsigned2:
            return Action::unsigned2;
        case Encoding::unsigned4:
        case Encoding::selector:
            return Action::unsigned4;
        case Encoding::octets4:
            return Action::address4;
        case Encoding::octets6:
            return Action::mac;
        case Encoding::octets16:
            return Action::address16;
        case Encoding::vxlan_segment:
            return Action::vxlan_segment;
        default:
            return Action::unsigned8;
    }
}

/// The sections of a label stack follow one another, in the template as in the record.
void FlowMessageEncoder::add_section(Plan& plan, const TemplateField& field) {
    const std::size_t section = section_of(field.element);
    if (plan.empty() || plan.back().action != Action::mpls) {
        plan.push_back({.action = Action::mpls,
                        .has_presence = true,
                        .from = static_cast<std::uint16_t>(field.from - section * kSectionOctets)});
    }
    plan.back().sections = static_cast<std::uint16_t>(plan.back().sections | 1U << section);
}

std::size_t FlowMessageEncoder::most_octets_of(const Step& step) noexcept {
    constexpr std::size_t kLength = 1;
    switch (step.action) {
        case Action::unsigned1:
        case Action::fragment_flags:
            return most_of_number(1);
        case Action::unsigned2:
        case Action::ether_type:
            return most_of_number(2);
        case Action::unsigned4:
            return most_of_number(4);
        case Action::unsigned8:
        case Action::mac:
        case Action::vxlan_segment:
            return most_of_number(8);
        case Action::address4:
            return ProtobufTag::kRoom + kLength + 4;
        case Action::address16:
            return ProtobufTag::kRoom + kLength + 16;
        case Action::vlan:
        case Action::icmp:
            return 2 * most_of_number(2);
        case Action::mpls:
            break;
    }
    return kMostOfLabels + kMostOfSections;
}

std::size_t FlowMessageEncoder::encode(std::size_t layout, const std::byte* record,
                                       std::uint64_t sequence, std::span<std::byte> out) noexcept {
    const Layout& chosen = layouts_[layout];
    const Timestamp end = reinterpret_cast<const FlowRecordCore*>(record)->end;
    const auto received = std::max(time_, end).time_since_epoch().count();
    ProtobufWriter to(out.data());
    to.put_raw(constants_);
    to.put_varint_unless_zero(to_field::kSamplingRate, sampling_of(record));
    to.put_varint_unless_zero(to_field::kSequenceNumber, static_cast<std::uint32_t>(sequence));
    to.put_varint_unless_zero(to_field::kTimeReceived, static_cast<std::uint64_t>(received));
    to.put_varint(to_field::kStreamSequence, sequence);
    for (const Step& step : chosen.plans[chosen.shapes.index_of(record)]) {
        take(step, record + step.from, to);
    }
    return to.size();
}

std::optional<RecordNumber> FlowMessageEncoder::number_of(MessageView encoded) const noexcept {
    std::optional<std::uint64_t> stream;
    std::optional<std::uint64_t> sequence;
    ProtobufReader fields(encoded);
    ProtobufField field;
    while (!(stream && sequence) && fields.next(field)) {
        if (field.is(to_field::kStreamField, ProtobufWireType::fixed64)) {
            stream = field.number;
        } else if (field.is(to_field::kStreamSequenceField, ProtobufWireType::varint)) {
            sequence = field.number;
        }
    }
    if (!stream || !sequence) {
        return std::nullopt;
    }
    return RecordNumber{.stream = *stream, .sequence = *sequence};
}

std::uint32_t FlowMessageEncoder::sampling_of(const std::byte* record) const noexcept {
    if (sampling_.empty()) {
        return one_in_;
    }
    const std::uint32_t interface =
        reinterpret_cast<const FlowRecordCore*>(record)->key.ingress_interface.value;
    const auto found = std::ranges::lower_bound(sampling_, interface, {}, &Sampling::interface);
    return found != sampling_.end() && found->interface == interface ? found->one_in : 0;
}

void FlowMessageEncoder::take(const Step& step, const std::byte* from,
                              ProtobufWriter& to) noexcept {
    constexpr std::uint64_t kIpv4Type = 0x0800;
    constexpr std::uint64_t kIpv6Type = 0x86DD;
    constexpr std::uint64_t kVxlan = 0x01;  // IANA's layer2SegmentId: the highest octet
    constexpr unsigned kVxlanShift = 56;
    constexpr unsigned kFlagShift = 5;
    constexpr unsigned kCodeBits = 8;
    const auto put = [&](std::uint64_t value) {
        if (value != 0 || step.has_presence) {
            to.put_varint(step.tag, value);
        }
    };
    switch (step.action) {
        case Action::unsigned1:
            return put(get<std::uint8_t>(from));
        case Action::unsigned2:
            return put(get<std::uint16_t>(from));
        case Action::unsigned4:
            return put(get<std::uint32_t>(from));
        case Action::unsigned8:
            return put(get<std::uint64_t>(from));
        case Action::mac:
            return put(read_unsigned({from, 6}));
        case Action::address4:
            return to.put_octets(step.tag, {from, 4});
        case Action::address16:
            return to.put_octets(step.tag, {from, 16});
        case Action::ether_type:
            return to.put_varint(to_field::kEtherType,
                                 get<std::uint8_t>(from) == 4 ? kIpv4Type : kIpv6Type);
        case Action::vlan:
            to.put_varint_unless_zero(to_field::kVlanId, get<std::uint16_t>(from));
            return to.put_varint_unless_zero(to_field::kSourceVlan, get<std::uint16_t>(from));
        case Action::icmp:
            to.put_varint_unless_zero(to_field::kIcmpType, get<std::uint16_t>(from) >> kCodeBits);
            return to.put_varint_unless_zero(to_field::kIcmpCode,
                                             static_cast<std::uint8_t>(get<std::uint16_t>(from)));
        case Action::fragment_flags:
            return to.put_varint_unless_zero(to_field::kIpFlags,
                                             get<std::uint8_t>(from) >> kFlagShift);
        case Action::vxlan_segment:
            return put(kVxlan << kVxlanShift | get<std::uint32_t>(from));
        case Action::mpls:
            return put_labels(step.sections, from, to);
    }
}

/// goflow2's labels are those of the first three sections, with zeros below the bottom of the
/// stack. Ours end at the last section that is not 0.
void FlowMessageEncoder::put_labels(std::uint16_t sections, const std::byte* from,
                                    ProtobufWriter& to) noexcept {
    std::array<std::byte, kMostOfSections> label_octets;
    std::array<std::byte, kMostOfSections> section_octets;
    ProtobufWriter labels(label_octets.data());
    ProtobufWriter stack(section_octets.data());
    const unsigned in_labels = sections & ((1U << kLabels) - 1);
    std::size_t whole_stack = 0;
    for (std::size_t place = 0; sections >> place != 0; ++place) {
        const std::uint64_t section =
            (sections >> place & 1U) != 0
                ? read_unsigned({from + place * kSectionOctets, kSectionOctets})
                : 0;
        if (in_labels >> place != 0) {
            labels.put_raw_varint(section >> kLabelShift);
        }
        stack.put_raw_varint(section);
        whole_stack = section != 0 ? stack.size() : whole_stack;
    }
    if (in_labels != 0) {
        to.put_octets(to_field::kMplsLabel, std::span(label_octets).first(labels.size()));
    }
    if (whole_stack != 0) {
        to.put_octets(to_field::kMplsSections, std::span(section_octets).first(whole_stack));
    }
}

}  // namespace tributary
