// SPDX-License-Identifier: Apache-2.0
#include "export/messages/json_encoder.hpp"

#include <algorithm>
#include <utility>

#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/enterprise_elements.hpp"
#include "export/messages/sent_elements.hpp"

namespace tributary {
namespace {

constexpr std::string_view kHead = R"({"@type":"ipfix.entry")";

/// A text as JSON.
std::string quoted(std::string_view text) {
    std::string room(2 + kMostJsonTextOctets * text.size(), '\0');
    const char* const end = put_json_text(room.data(), text);
    room.resize(static_cast<std::size_t>(end - room.data()));
    return room;
}

std::string stream_text(std::uint64_t stream) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    constexpr unsigned kBits = 64;
    std::string text;
    for (unsigned shift = kBits; shift > 0;) {
        shift -= 4;
        text += kDigits[stream >> shift & 0xFU];
    }
    return text;
}

std::string identity_members(const StreamIdentity& identity) {
    std::string text;
    if (!identity.probe_address.empty()) {
        const bool is_ipv6 = identity.probe_address.find(':') != std::string::npos;
        text += is_ipv6 ? R"(,"iana:exporterIPv6Address":)" : R"(,"iana:exporterIPv4Address":)";
        text += quoted(identity.probe_address);
    }
    text += R"(,"iana:observationDomainId":)" + std::to_string(identity.observation_domain);
    text += R"(,"tributary:probeName":)" + quoted(identity.probe_name);
    text += R"(,"tributary:streamId":")" + stream_text(identity.stream);
    return text + R"(","tributary:sequenceNumber":)";
}

}  // namespace

JsonEncoder::JsonEncoder(const ExportOptions& options, const MeteringProcess& metering,
                         const StreamIdentity& identity)
    : identity_(identity_members(identity)) {
    const std::vector<RecordLayout> layouts = metering.layouts();
    for (std::size_t index = 0; index < layouts.size(); ++index) {
        add_layout(options, metering, index, layouts[index]);
    }
    most_octets_ += kHead.size() + identity_.size() + kMostNumberOctets + 1;
}

void JsonEncoder::add_layout(const ExportOptions& options, const MeteringProcess& metering,
                             std::size_t index, const RecordLayout& layout) {
    const SentElements elements;
    Layout& added = layouts_.emplace_back(Layout{.shapes = RecordShapes(layout), .by_shape = {}});
    for (RecordTemplate& made : make_templates(layout, options.timestamps,
                                               element_choice(options, metering.key_of(index)))) {
        Shape shape{.made = std::move(made), .members = {}};
        std::size_t most = 0;
        for (const TemplateField& field : shape.made.fields) {
            const SentElement& sent = elements.of(field);
            const IpfixType type = type_of(field.encoding);
            Member member{.name = *names_.insert(",\"" + json_name(sent) + "\":").first,
                          .octets = octets_of(field.encoding),
                          .form = sent.element->owner == ElementOwner::iana
                                      ? json_form(type, sent.element->name)
                                      : json_form(type)};
            const bool is_text = field.encoding == Encoding::text;
            most += member.name.size() +
                    most_json_octets(member.form, is_text ? field.text_octets : member.octets);
            shape.members.push_back(member);
        }
        most_octets_ = std::max(most_octets_, most);
        octets_.resize(std::max(octets_.size(), shape.made.record_octets + shape.made.text_octets));
        added.by_shape.push_back(std::move(shape));
    }
}

std::size_t JsonEncoder::encode(std::size_t layout, const std::byte* record, std::uint64_t sequence,
                                std::span<std::byte> out) noexcept {
    const Layout& chosen = layouts_[layout];
    const Shape& shape = chosen.by_shape[chosen.shapes.index_of(record)];
    shape.made.write(record, octets_.data());
    std::span<const std::byte> rest(octets_);
    char* const begin = reinterpret_cast<char*>(out.data());
    char* at = put_octets(begin, kHead);
    for (const Member& member : shape.members) {
        at = put_octets(at, member.name);
        at = put_json_value(at, member.form, take_value(rest, member.octets));
    }
    at = put_octets(at, identity_);
    at = put_number(at, sequence);
    *at++ = '}';
    return static_cast<std::size_t>(at - begin);
}

}  // namespace tributary
