// SPDX-License-Identifier: Apache-2.0
#include "export/messages/templates_ahead.hpp"

#include <algorithm>
#include <cstring>

#include "export/ipfix/ipfix_template.hpp"
#include "export/ipfix_message.hpp"

namespace tributary {
namespace {

// RFC 7011 §3.1, §3.3.2, §3.4.1.
constexpr std::size_t kTemplateHeader = 4;
constexpr std::size_t kLengthAt = 2;

std::uint16_t read_two(MessageView from, std::size_t at) noexcept {
    return static_cast<std::uint16_t>(read_unsigned(from.subspan(at, 2)));
}
void put_two(std::span<std::byte> to, std::size_t at, std::size_t value) noexcept {
    constexpr unsigned kOctet = 8;
    to[at] = static_cast<std::byte>(value >> kOctet);
    to[at + 1] = static_cast<std::byte>(value);
}

/// Calls `use(id, set)` for each whole set of a message, header included, until it returns false.
template <class Use>
void for_each_set(MessageView message, Use use) {
    MessageView sets = message.subspan(std::min(IpfixMessage::kHeader, message.size()));
    while (sets.size() >= IpfixMessage::kSetHeader) {
        const std::size_t octets = std::clamp<std::size_t>(read_two(sets, kLengthAt),
                                                           IpfixMessage::kSetHeader, sets.size());
        if (!use(read_two(sets, 0), sets.first(octets))) {
            return;
        }
        sets = sets.subspan(octets);
    }
}

/// Octets of the template record at the front; 0: there is none, but padding.
std::size_t template_octets(MessageView records) noexcept {
    constexpr std::size_t kField = 4;
    constexpr std::size_t kEnterprise = 4;
    if (records.size() < kTemplateHeader || read_two(records, 0) < IpfixMessage::kFirstDataSet) {
        return 0;
    }
    std::size_t octets = kTemplateHeader;
    for (std::uint16_t left = read_two(records, 2); left > 0; --left) {
        if (records.size() < octets + kField) {
            return 0;
        }
        const bool of_enterprise = (read_two(records, octets) & IpfixMessage::kEnterpriseBit) != 0;
        octets += of_enterprise ? kField + kEnterprise : kField;
    }
    return octets <= records.size() ? octets : 0;
}

}  // namespace

void TemplatesAhead::learn(MessageView templates) {
    for_each_set(templates, [this](std::uint16_t id, MessageView set) {
        MessageView records = set.subspan(IpfixMessage::kSetHeader);
        while (const std::size_t octets =
                   id == IpfixMessage::kTemplateSet ? template_octets(records) : 0) {
            const MessageView record = records.first(octets);
            templates_.try_emplace(read_two(record, 0),
                                   Template{.record = {record.begin(), record.end()}});
            records = records.subspan(octets);
        }
        return true;
    });
}

/// Calls `use(record)` for each template of a message once.
///
/// @return  false: a set has no known template
template <class Use>
bool TemplatesAhead::for_each_template(MessageView data, Use use) noexcept {
    bool is_known = true;
    ++messages_;
    for_each_set(data, [&](std::uint16_t id, MessageView) noexcept {
        const auto found = templates_.find(id);
        is_known = found != templates_.end();
        if (is_known && found->second.last_message != messages_) {
            found->second.last_message = messages_;
            use(MessageView(found->second.record));
        }
        return is_known;
    });
    return is_known;
}

std::size_t TemplatesAhead::octets_with_templates(MessageView data) noexcept {
    std::size_t octets = data.size() + IpfixMessage::kSetHeader;
    const bool is_known = for_each_template(
        data, [&octets](MessageView record) noexcept { octets += record.size(); });
    const bool fits = octets <= IpfixMessage::kLongest;
    return is_known && fits && data.size() > IpfixMessage::kHeader ? octets : 0;
}

void TemplatesAhead::write(MessageView data, std::span<std::byte> out) noexcept {
    std::size_t at = IpfixMessage::kHeader + IpfixMessage::kSetHeader;
    static_cast<void>(for_each_template(data, [&](MessageView record) noexcept {
        std::memcpy(out.data() + at, record.data(), record.size());
        at += record.size();
    }));
    std::memcpy(out.data(), data.data(), IpfixMessage::kHeader);
    put_two(out, IpfixMessage::kHeader, IpfixMessage::kTemplateSet);
    put_two(out, IpfixMessage::kHeader + kLengthAt, at - IpfixMessage::kHeader);
    const MessageView sets = data.subspan(IpfixMessage::kHeader);
    std::memcpy(out.data() + at, sets.data(), sets.size());
    put_two(out, kLengthAt, at + sets.size());
}

}  // namespace tributary
