// SPDX-License-Identifier: Apache-2.0
#include "export/messages/json_encoder.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "export/hexadecimal.hpp"
#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/enterprise_elements.hpp"
#include "export/messages/sent_elements.hpp"

namespace tributary {
namespace {

constexpr std::string_view kHead = R"({"@type":"ipfix.entry")";
constexpr std::string_view kStreamMember = R"(,"tributary:streamId":")";
constexpr std::string_view kSequenceMember = R"(","tributary:sequenceNumber":)";
constexpr int kDecimal = 10;
constexpr int kHexadecimal = 16;
constexpr std::size_t kStreamDigits = 16;

/// A text as JSON.
std::string quoted(std::string_view text) {
    std::string room(2 + kMostJsonTextOctets * text.size(), '\0');
    const char* const end = put_json_text(room.data(), text);
    room.resize(static_cast<std::size_t>(end - room.data()));
    return room;
}

std::string stream_text(std::uint64_t stream) {
    constexpr std::size_t kDigits = 16;
    std::string text(kDigits, '0');
    put_hexadecimal(stream, std::as_writable_bytes(std::span(text)));
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
    text += kStreamMember;
    text += stream_text(identity.stream);
    text += kSequenceMember;
    return text;
}

/// Reads a number that is the whole text.
std::optional<std::uint64_t> whole_number(std::string_view text, int base) noexcept {
    std::uint64_t number{};
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, number, base);
    return read.ec == std::errc{} && read.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace

JsonEncoder::JsonEncoder(const ExportOptions& options, const MeteringProcess& metering,
                         const StreamIdentity& identity)
    : stream_(identity.stream), identity_(identity_members(identity)) {
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
    for (RecordTemplate& made : make_templates(
             layout, options.timestamps, element_choice(options, metering.elements_of(index)))) {
        Shape shape{.made = std::move(made), .members = {}};
        std::size_t most = 0;
        for (const TemplateField& field : shape.made.fields) {
            const SentElement& sent = elements.of(field);
            Member member{.name = *names_.insert(",\"" + json_name(sent) + "\":").first,
                          .octets = octets_of(field.encoding),
                          .form = json_form(sent, field.encoding)};
            const bool is_text = has_length(field.encoding);
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

/// Both are the last members.
std::optional<RecordNumber> JsonEncoder::number_of(MessageView encoded) const noexcept {
    const std::string_view line(reinterpret_cast<const char*>(encoded.data()), encoded.size());
    const std::size_t at = line.rfind(kSequenceMember);
    if (at == std::string_view::npos || at < kStreamDigits || !line.ends_with('}')) {
        return std::nullopt;
    }
    const std::string_view before = line.substr(0, at - kStreamDigits);
    const std::string_view behind = line.substr(at + kSequenceMember.size());
    const auto stream = whole_number(line.substr(before.size(), kStreamDigits), kHexadecimal);
    const auto sequence = whole_number(behind.substr(0, behind.size() - 1), kDecimal);
    if (!stream || !sequence || !before.ends_with(kStreamMember)) {
        return std::nullopt;
    }
    return RecordNumber{.stream = *stream, .sequence = *sequence};
}

}  // namespace tributary
