// SPDX-License-Identifier: Apache-2.0
#include "export/messages/json_encoder.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
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

/// Texts that are written again and again are copied by blocks of so many octets: std::memcpy()
/// of a length that the compiler does not know takes longer.
constexpr std::size_t kBlock = 16;

/// A text whose last block is filled up.
std::string in_blocks(std::string text) {
    text.resize((text.size() + kBlock - 1) / kBlock * kBlock);
    return text;
}

/// @param text  made by in_blocks()
/// @param out   room for whole blocks: the octets behind the text, up to the end of its last block,
///              are written, too
/// @return      behind the text
char* put_blocks(char* out, const char* text, std::size_t octets) noexcept {
    for (std::size_t at = 0; at < octets; at += kBlock) {
        std::memcpy(out + at, text + at, kBlock);
    }
    return out + octets;
}
// Behind the last text that is copied so, the room has a number and a brace.
static_assert(kMostNumberOctets + 1 >= kBlock);

/// Reads a number that is the whole text.
std::optional<std::uint64_t> whole_number(std::string_view text, int base) noexcept {
    std::uint64_t number{};
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, number, base);
    return read.ec == std::errc{} && read.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace

/// What prepare_tables() has made.
struct JsonEncoder::NextTables final : Tables {
    using Tables::Tables;
    Layouts layouts;
    TakenTables staying;
    std::vector<std::byte> octets;
};

JsonEncoder::JsonEncoder(const ExportOptions& options, const MeteringProcess& metering,
                         const StreamIdentity& identity)
    : options_(options),
      stream_(identity.stream),
      identity_(identity_members(identity)),
      identity_octets_(identity_.size()) {
    identity_ = in_blocks(std::move(identity_));
    take_tables(prepare_tables(metering, {}));
}

std::unique_ptr<JsonEncoder::Layout> JsonEncoder::make_layout(const MeteringProcess& metering,
                                                              std::size_t table) const {
    const RecordLayout layout = metering.layouts()[table];
    const SentElements elements(layout.groups());
    auto added = std::make_unique<Layout>(Layout{.shapes = RecordShapes(layout)});
    for (RecordTemplate& made : make_templates(
             layout, options_.timestamps, element_choice(options_, metering.elements_of(table)))) {
        Shape shape{.made = std::move(made), .members = {}};
        std::size_t most = 0;
        for (const TemplateField& field : shape.made.fields) {
            const SentElement& sent = elements.of(field);
            const std::string name = ",\"" + json_name(sent) + "\":";
            const std::string& kept = *added->names.insert(in_blocks(name)).first;
            const Member member{.name = std::string_view(kept).substr(0, name.size()),
                                .octets = octets_of(field.encoding),
                                .form = json_form(sent, field.encoding)};
            const bool is_text = has_length(field.encoding);
            most += member.name.size() +
                    most_json_octets(member.form, is_text ? field.text_octets : member.octets);
            shape.members.push_back(member);
        }
        added->most_octets = std::max(added->most_octets, most);
        added->record_octets =
            std::max(added->record_octets, shape.made.record_octets + shape.made.text_octets);
        added->by_shape.push_back(std::move(shape));
    }
    return added;
}

std::size_t JsonEncoder::most_octets_of(const Layouts& layouts) const noexcept {
    std::size_t most = 0;
    for (const std::unique_ptr<Layout>& layout : layouts) {
        most = std::max(most, layout == nullptr ? 0 : layout->most_octets);
    }
    return most + kHead.size() + identity_octets_ + kMostNumberOctets + 1;
}

std::unique_ptr<RecordEncoder::Tables> JsonEncoder::prepare_tables(const MeteringProcess& metering,
                                                                   const TakenTables& staying) {
    Layouts layouts(1 + metering.further.size());
    std::size_t record_octets = octets_.size();
    for (std::size_t table = 0; table < layouts.size(); ++table) {
        if (metering.has(table) && !staying.has(table)) {
            layouts[table] = make_layout(metering, table);
            record_octets = std::max(record_octets, layouts[table]->record_octets);
        }
    }
    auto prepared = std::make_unique<NextTables>(std::max(most_octets_, most_octets_of(layouts)));
    prepared->layouts = std::move(layouts);
    prepared->staying = staying;
    prepared->octets.resize(record_octets);
    return prepared;
}

void JsonEncoder::take_tables(std::unique_ptr<Tables> prepared) noexcept {
    auto& next = static_cast<NextTables&>(*prepared);
    for (std::size_t table = 0; table < layouts_.size(); ++table) {
        if (next.staying.has(table)) {
            next.layouts[table] = std::move(layouts_[table]);
        }
    }
    layouts_ = std::move(next.layouts);
    octets_ = std::move(next.octets);
    most_octets_ = next.most_octets;
}

std::size_t JsonEncoder::encode(std::size_t layout, const std::byte* record, std::uint64_t sequence,
                                std::span<std::byte> out) noexcept {
    const Layout& chosen = *layouts_[layout];
    const Shape& shape = chosen.by_shape[chosen.shapes.index_of(record)];
    shape.made.write(record, octets_.data());
    std::span<const std::byte> rest(octets_);
    char* const begin = reinterpret_cast<char*>(out.data());
    char* at = put_octets(begin, kHead);
    for (const Member& member : shape.members) {
        at = put_blocks(at, member.name.data(), member.name.size());
        at = put_json_value(at, member.form, take_value(rest, member.octets));
    }
    at = put_blocks(at, identity_.data(), identity_octets_);
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
