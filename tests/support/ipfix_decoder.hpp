// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/octets.hpp"

// An independent decoder for the encoder's messages, made from RFC 7011 alone: it uses element
// numbers, no names, and treats any deviation from the text as a fault. One decoder is for one
// transport session.
namespace tributary::test {

struct IpfixFault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Added to the number of an enterprise's element (RFC 7011 §3.2).
inline constexpr std::uint16_t kOfEnterprise = 0x8000;

/// Added to the number of IANA's element for the reverse direction (RFC 5103 §6.1).
inline constexpr std::uint32_t kReversed = 0x1'0000;

struct DecodedField {
    std::uint16_t element{};  ///< with the enterprise bit
    std::uint16_t octets{};
    std::uint32_t enterprise{};

    /// Identifies an element within a record.
    [[nodiscard]] std::uint32_t key() const {
        constexpr std::uint32_t kReverseEnterprise = 29305;
        const std::uint32_t number = element & ~kOfEnterprise;
        return enterprise == kReverseEnterprise ? kReversed + number : element;
    }
};

struct DecodedRecord {
    std::uint16_t template_id{};
    bool is_option{};
    std::map<std::uint32_t, Octets> values;  ///< by DecodedField::key()

    [[nodiscard]] bool has(std::uint32_t element) const { return values.count(element) != 0; }
    [[nodiscard]] std::string text(std::uint32_t element) const {
        const Octets& value = values.at(element);
        return {reinterpret_cast<const char*>(value.data()), value.size()};
    }
    /// The value as an integer in network byte order, of up to 8 octets.
    [[nodiscard]] std::uint64_t number(std::uint32_t element) const {
        std::uint64_t value = 0;
        for (const std::byte octet : values.at(element)) {
            value = value << 8U | std::to_integer<std::uint64_t>(octet);
        }
        return value;
    }
};

struct DecodedMessage {
    std::uint32_t export_time{};
    std::uint32_t sequence{};
    std::uint32_t domain{};
    std::size_t octets{};
    std::size_t templates{};
    std::size_t withdrawals{};
    std::vector<DecodedRecord> records;
};

class IpfixDecoder {
public:
    /// @errors  IpfixFault: the octets break RFC 7011, or the session's sequence
    DecodedMessage decode(std::span<const std::byte> octets) {
        demand(octets.size() >= 16, "§3.1: shorter than a message header");
        demand(read(octets, 0, 2) == 10, "§3.1: version");
        demand(read(octets, 2, 2) == octets.size(), "§3.1: length");
        DecodedMessage message;
        message.octets = octets.size();
        message.export_time = static_cast<std::uint32_t>(read(octets, 4, 4));
        message.sequence = static_cast<std::uint32_t>(read(octets, 8, 4));
        message.domain = static_cast<std::uint32_t>(read(octets, 12, 4));
        demand(octets.size() > 16, "§3: no set in the message");
        demand(message.sequence == next_sequence_, "§3.1: sequence number");
        for (std::size_t at = 16; at < octets.size();) {
            demand(octets.size() - at >= 4, "§3.3.2: set header cut");
            const std::size_t length = read(octets, at + 2, 2);
            demand(length > 4 && length <= octets.size() - at, "§3.3.2: set length");
            decode_set(read(octets, at, 2), octets.subspan(at + 4, length - 4), message);
            at += length;
        }
        next_sequence_ += static_cast<std::uint32_t>(message.records.size());
        return message;
    }
    [[nodiscard]] const std::map<std::uint16_t, std::vector<DecodedField>>& templates() const {
        return templates_;
    }
    /// Enterprises and elements in type records.
    [[nodiscard]] const std::set<std::pair<std::uint64_t, std::uint64_t>>& types() const {
        return types_;
    }
    /// Scope fields of the options templates.
    [[nodiscard]] const std::map<std::uint16_t, std::uint64_t>& scopes() const { return options_; }

private:
    static void demand(bool kept, const char* rule) {
        if (!kept) {
            throw IpfixFault(std::string("RFC 7011 ") + rule);
        }
    }
    static std::uint64_t read(std::span<const std::byte> octets, std::size_t at, std::size_t size) {
        demand(at + size <= octets.size(), "§3: cut");
        std::uint64_t value = 0;
        for (const std::byte octet : octets.subspan(at, size)) {
            value = value << 8U | std::to_integer<std::uint64_t>(octet);
        }
        return value;
    }

    void decode_set(std::uint64_t id, std::span<const std::byte> body, DecodedMessage& message) {
        if (id == 2 || id == 3) {
            decode_templates(body, id == 3, message);
            return;
        }
        demand(id >= 256, "§3.3.2: set id");
        const auto found = templates_.find(static_cast<std::uint16_t>(id));
        demand(found != templates_.end(), "§8: data before its template");
        std::size_t at = 0;
        while (at < body.size()) {  // the encoder does not pad, so all must be records
            DecodedRecord record;
            record.template_id = found->first;
            record.is_option = options_.contains(found->first);
            for (const DecodedField& field : found->second) {
                const std::size_t octets = length_of(field, body, at);
                demand(octets <= body.size() - at, "§3.4.3: record cut");
                const auto value = body.subspan(at, octets);
                record.values[field.key()] = Octets(value.begin(), value.end());
                at += octets;
            }
            note_type(record);
            message.records.push_back(std::move(record));
        }
    }

    /// A type record (RFC 5610) after a template with its element is too late for a collector that
    /// resolves names when it reads templates.
    void note_type(const DecodedRecord& record) {
        constexpr std::uint32_t kElement = 303;
        constexpr std::uint32_t kEnterprise = 346;
        if (!record.is_option || !record.has(kElement) || !record.has(kEnterprise)) {
            return;
        }
        const std::pair type(record.number(kEnterprise), record.number(kElement));
        if (!types_.insert(type).second) {
            return;
        }
        for (const auto& [id, fields] : templates_) {
            for (const DecodedField& field : fields) {
                demand(field.enterprise != type.first ||
                           (field.element & ~kOfEnterprise) != static_cast<int>(type.second),
                       "and RFC 5610: a type after a template with its element");
            }
        }
    }

    /// @param at  moves past the length, if the field has one of its own
    static std::size_t length_of(const DecodedField& field, std::span<const std::byte> body,
                                 std::size_t& at) {
        if (field.octets != 0xFFFF) {
            return field.octets;
        }
        const std::uint64_t octets = read(body, at++, 1);
        demand(octets < 255, "§7: this decoder knows short strings only");
        return octets;
    }

    void decode_templates(std::span<const std::byte> body, bool are_options,
                          DecodedMessage& message) {
        for (std::size_t at = 0; at < body.size();) {
            const auto id = static_cast<std::uint16_t>(read(body, at, 2));
            const std::uint64_t count = read(body, at + 2, 2);
            demand(id >= 256, "§3.4.1: template record header");
            at += 4;
            if (count == 0) {
                demand(templates_.erase(id) == 1, "§8.1: a withdrawal of no template");
                ++message.withdrawals;
                continue;
            }
            if (are_options) {
                const std::uint64_t scope = read(body, at, 2);
                demand(scope > 0 && scope <= count, "§3.4.2.2: scope field count");
                options_[id] = scope;
                at += 2;
            }
            std::vector<DecodedField> fields;
            for (std::uint64_t each = 0; each < count; ++each) {
                fields.push_back(decode_field(body, at));
            }
            templates_[id] = std::move(fields);
            ++message.templates;
        }
    }

    /// @param at  of the field specifier; moves past it
    static DecodedField decode_field(std::span<const std::byte> body, std::size_t& at) {
        DecodedField field{static_cast<std::uint16_t>(read(body, at, 2)),
                           static_cast<std::uint16_t>(read(body, at + 2, 2))};
        at += 4;
        demand((field.element & ~kOfEnterprise) != 0, "§3.2: element number");
        demand(field.octets != 0, "§3.2: field length");
        if ((field.element & kOfEnterprise) != 0) {
            field.enterprise = static_cast<std::uint32_t>(read(body, at, 4));
            demand(field.enterprise != 0, "§3.2: enterprise number");
            at += 4;
        }
        return field;
    }

    std::map<std::uint16_t, std::vector<DecodedField>> templates_;
    std::set<std::pair<std::uint64_t, std::uint64_t>> types_;  ///< enterprise, element
    std::map<std::uint16_t, std::uint64_t> options_;  ///< scope fields of options templates
    std::uint32_t next_sequence_{};
};

/// Octets of the first message of a stream, from its header; 0: the stream ends inside it.
inline std::size_t first_message(std::span<const std::byte> octets) {
    if (octets.size() < 4) {
        return 0;
    }
    const std::size_t length =
        std::to_integer<std::size_t>(octets[2]) << 8U | std::to_integer<std::size_t>(octets[3]);
    return length <= octets.size() ? length : 0;
}

/// Octets of all whole messages.
inline std::size_t whole_messages(std::span<const std::byte> octets) {
    std::size_t whole = 0;
    while (const std::size_t next = first_message(octets.subspan(whole))) {
        whole += next;
    }
    return whole;
}

/// Decodes consecutive messages (RFC 5655), as one session.
inline std::vector<DecodedMessage> decode_stream(IpfixDecoder& decoder,
                                                 std::span<const std::byte> octets) {
    std::vector<DecodedMessage> messages;
    while (!octets.empty()) {
        const std::size_t length = first_message(octets);
        if (length == 0) {
            throw IpfixFault("RFC 7011 §3.1: stream ends inside a message");
        }
        messages.push_back(decoder.decode(octets.first(length)));
        octets = octets.subspan(length);
    }
    return messages;
}

/// Decodes a file of messages, as one session.
inline std::vector<DecodedMessage> decode_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    IpfixDecoder decoder;
    return decode_stream(decoder, std::as_bytes(std::span(text)));
}

}  // namespace tributary::test
