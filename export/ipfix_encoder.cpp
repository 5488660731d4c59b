// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix_encoder.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "export/record_shape.hpp"

namespace tributary {
namespace {

constexpr std::size_t kLargestRecord = 400;  // a biflow with every group

std::vector<WireTemplate> wire_templates(const std::vector<RecordTemplate>& templates) {
    std::vector<WireTemplate> made;
    for (const RecordTemplate& each : templates) {
        if (each.record_octets > kLargestRecord) {
            throw ExportError("template " + std::to_string(each.id) + " is too large");
        }
        WireTemplate& wire = made.emplace_back();
        wire.id = each.id;
        for (const TemplateField& field : each.fields) {
            wire.fields.push_back({.element = field.element,
                                   .octets = octets_of(field.take),
                                   .of_enterprise = field.of_enterprise});
        }
    }
    return made;
}

/// @source  IANA's description of flowKeyIndicator: it speaks of the first 64 fields
TemplateKeys keys_of(const RecordTemplate& made) {
    constexpr std::size_t kBits = 64;
    TemplateKeys keys{.template_id = made.id};
    for (std::size_t field = 0; field < std::min(made.fields.size(), kBits); ++field) {
        const std::uint64_t bit = std::uint64_t{1} << field;
        const KeyRole role = made.fields[field].key;
        keys.indicator |= role == KeyRole::always ? bit : 0;
        keys.tunnel |= role == KeyRole::with_tunnel_in_key ? bit : 0;
    }
    return keys;
}

}  // namespace

IpfixEncoder::IpfixEncoder(const ExportOptions& options, const RecordLayout& layout,
                           std::size_t message_limit)
    : layout_(layout),
      templates_(make_templates(layout, options.timestamps)),
      session_({.observation_domain = options.observation_domain,
                .enterprise_number = options.enterprise_number,
                .message_limit = message_limit},
               wire_templates(templates_)) {
    encode_templates(wire_templates(templates_));
}

void IpfixEncoder::encode_templates(const std::vector<WireTemplate>& templates) {
    const auto plain = std::span(templates).first(kPlainShapes);
    announced_ = session_.encode_templates(plain);
    announced_.reserve(templates.size());  // announce() allocates nothing
    keys_.reserve(templates.size());
    for (std::size_t shape = 0; shape < kPlainShapes; ++shape) {
        keys_.push_back(keys_of(templates_[shape]));
    }
    kept_back_.resize(templates.size());
    for (std::size_t shape = kPlainShapes; shape < templates.size(); ++shape) {
        kept_back_[shape] =
            session_.encode_templates(std::span(templates).subspan(shape, 1)).front();
    }
}

void IpfixEncoder::announce(std::size_t shape) noexcept {
    if (!kept_back_[shape].empty()) {
        announced_.push_back(std::move(kept_back_[shape]));
        kept_back_[shape].clear();
        keys_.push_back(keys_of(templates_[shape]));
    }
}

AppendResult IpfixEncoder::append(const std::byte* record) noexcept {
    const std::size_t shape = shape_index(record, layout_);
    const RecordTemplate& chosen = templates_[shape];
    if (!session_.has_room(chosen.id, chosen.record_octets)) {
        return AppendResult::message_full;
    }
    std::array<std::byte, kLargestRecord> fields;
    chosen.write(record, fields.data());
    const auto written = std::span(fields).first(chosen.record_octets);
    if (!session_.append(chosen.id, written, chosen.record_octets)) {
        latest_end_ = {};
        return AppendResult::failed;
    }
    announce(shape);
    latest_end_ = std::max(latest_end_, latest_packet(record, layout_));
    return AppendResult::added;
}

EncodedMessage IpfixEncoder::close() noexcept {
    const FixbufSession::Message closed = session_.close();
    return {.octets = closed.octets,
            .records = closed.records,
            .latest_end = std::exchange(latest_end_, Timestamp{})};
}

}  // namespace tributary
