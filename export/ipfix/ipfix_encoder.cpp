// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/ipfix_encoder.hpp"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/ipfix_template.hpp"
#include "export/ipfix/record_shape.hpp"
#include "export/ipfix_message.hpp"

namespace tributary {
namespace {

FixbufSession::Settings settings_of(const ExportOptions& options, const RecordLayout& layout,
                                    std::size_t message_limit) {
    return {.observation_domain = options.observation_domain,
            .enterprise_number = options.enterprise_number,
            .message_limit = message_limit,
            .groups = layout.groups()};
}

/// @source  IANA's description of flowKeyIndicator: it defines the first 64 fields
TemplateKeys keys_of(const RecordTemplate& made) {
    constexpr std::size_t kBits = 64;
    TemplateKeys keys{.template_id = made.id};
    for (std::size_t field = 0; field < std::min(made.fields.size(), kBits); ++field) {
        keys.indicator |= std::uint64_t{made.fields[field].is_key} << field;
    }
    return keys;
}

/// The data records in a set; what is left behind the last one is padding.
std::size_t records_in(const RecordTemplate& made, MessageView set) {
    std::size_t records = 0;
    while (const std::size_t octets = made.octets_at(set).value_or(0)) {
        set = set.subspan(octets);
        ++records;
    }
    return records;
}

}  // namespace

IpfixEncoder::IpfixEncoder(const ExportOptions& options, const RecordLayout& layout,
                           std::size_t message_limit, std::uint16_t first_id,
                           const TableElements& table)
    : table_(table.name),
      layout_(layout),
      shapes_(layout),
      templates_(
          make_templates(layout, options.timestamps, element_choice(options, table), first_id)),
      message_(options.observation_domain, message_limit) {
    check_sizes(message_limit);
    encode_templates(settings_of(options, layout, message_limit));
    fingerprint_ = make_fingerprint(options.observation_domain);
}

/// A record that no message can hold would stop all behind it.
void IpfixEncoder::check_sizes(std::size_t message_limit) const {
    for (const RecordTemplate& each : templates_) {
        if (IpfixMessage::kHeader + IpfixMessage::kSetHeader + each.record_octets +
                each.text_octets >
            message_limit) {
            throw ExportError("an IPFIX message of at most " + std::to_string(message_limit) +
                              " octets cannot hold each record of template " +
                              std::to_string(each.id));
        }
    }
}

void IpfixEncoder::encode_templates(const FixbufSession::Settings& settings) {
    const std::vector<WireTemplate> templates = wire_templates(templates_);
    FixbufSession session(settings, templates);
    const auto plain = std::span(templates).first(kPlainShapes);
    announced_ = session.encode_templates(plain);
    announced_.reserve(templates.size());  // announce() allocates nothing
    keys_.reserve(templates.size());
    for (std::size_t shape = 0; shape < kPlainShapes; ++shape) {
        keys_.push_back(keys_of(templates_[shape]));
    }
    kept_back_.resize(templates.size());
    for (std::size_t shape = kPlainShapes; shape < templates.size(); ++shape) {
        kept_back_[shape] =
            session.encode_templates(std::span(templates).subspan(shape, 1)).front();
    }
}

std::uint64_t IpfixEncoder::make_fingerprint(std::uint32_t observation_domain) const noexcept {
    std::uint64_t print = observation_domain;
    const auto add = [&print](const std::vector<std::byte>& message) {
        if (message.size() > IpfixMessage::kHeader) {  // its time differs in every run
            print = XXH3_64bits_withSeed(message.data() + IpfixMessage::kHeader,
                                         message.size() - IpfixMessage::kHeader, print);
        }
    };
    std::ranges::for_each(announced_, add);
    std::ranges::for_each(kept_back_, add);
    return print;
}

std::optional<std::uint32_t> IpfixEncoder::announce_for(MessageView message) noexcept {
    constexpr std::size_t kSetHeader = IpfixMessage::kSetHeader;
    std::size_t records = 0;
    for (MessageView sets = message.subspan(std::min(IpfixMessage::kHeader, message.size()));
         sets.size() >= kSetHeader;) {
        const std::uint64_t id = read_unsigned(sets.first(2));
        const std::uint64_t octets =
            std::clamp<std::uint64_t>(read_unsigned(sets.subspan(2, 2)), kSetHeader, sets.size());
        const std::uint64_t shape = id - templates_.front().id;  // of other sets far too large
        if (shape >= templates_.size()) {
            return std::nullopt;
        }
        const auto in_set = records_in(templates_[shape], sets.first(octets).subspan(kSetHeader));
        if (in_set == 0) {
            return std::nullopt;
        }
        records += in_set;
        announce(static_cast<std::size_t>(shape));
        sets = sets.subspan(octets);
    }
    return static_cast<std::uint32_t>(records);
}

void IpfixEncoder::announce(std::size_t shape) noexcept {
    if (!kept_back_[shape].empty()) {
        announced_.push_back(std::move(kept_back_[shape]));
        kept_back_[shape].clear();
        keys_.push_back(keys_of(templates_[shape]));
    }
}

AppendResult IpfixEncoder::append(const std::byte* record) noexcept {
    return add(record, shapes_.index_of(record)) ? AppendResult::added : AppendResult::message_full;
}

AppendResult IpfixEncoder::append_pair(const std::byte* first, const std::byte* second) noexcept {
    const std::size_t shape = shapes_.index_of(first);
    const std::size_t second_shape = shapes_.index_of(second);
    // The second one may need a set of its own.
    const std::size_t octets = templates_[shape].octets_of(first) + IpfixMessage::kSetHeader +
                               templates_[second_shape].octets_of(second);
    const bool are_added = message_.has_room(templates_[shape].id, octets) && add(first, shape) &&
                           add(second, second_shape);
    return are_added ? AppendResult::added : AppendResult::message_full;
}

/// @return  false: the message has no room for the record, and nothing has changed
bool IpfixEncoder::add(const std::byte* record, std::size_t shape) noexcept {
    const RecordTemplate& chosen = templates_[shape];
    std::byte* const written = message_.append(chosen.id, chosen.octets_of(record));
    if (written == nullptr) {
        return false;
    }
    chosen.write(record, written);
    announce(shape);
    latest_end_ = std::max(latest_end_, latest_packet(record, layout_));
    return true;
}

RecordNeed IpfixEncoder::need_of(const std::byte* record) const noexcept {
    constexpr std::size_t kTemplateHeader = 4;  // RFC 7011 §3.4.1
    constexpr std::size_t kLongestField = 8;    // §3.2: with an enterprise number
    const std::size_t shape = shapes_.index_of(record);
    const RecordTemplate& chosen = templates_[shape];
    return {.shape = shape,
            .octets = chosen.octets_of(record),
            .template_octets = kTemplateHeader + chosen.fields.size() * kLongestField};
}

EncodedMessage IpfixEncoder::close() noexcept {
    const MessageBuilder::Message closed = message_.close();
    return {.octets = closed.octets,
            .records = closed.records,
            .latest_end = std::exchange(latest_end_, Timestamp{})};
}

}  // namespace tributary
