// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/message_builder.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "export/export_error.hpp"

namespace tributary {
namespace {

constexpr std::uint16_t kVersion = 10;  // RFC 7011 §3.1, as the next three
constexpr std::size_t kVersionAt = 0;
constexpr std::size_t kLengthAt = 2;
constexpr std::size_t kDomainAt = 12;
constexpr std::size_t kSetLengthAt = 2;  // RFC 7011 §3.3.2

/// @param octets  takes the value in network byte order, in all of them
void put(std::span<std::byte> octets, std::size_t value) noexcept {
    constexpr unsigned kOctetBits = 8;
    for (std::size_t i = octets.size(); i > 0; --i) {
        octets[i - 1] = static_cast<std::byte>(value);
        value >>= kOctetBits;
    }
}

}  // namespace

MessageBuilder::MessageBuilder(std::uint32_t observation_domain, std::size_t limit)
    : octets_(std::min(limit, IpfixMessage::kLongest)) {
    if (limit < IpfixMessage::kHeader || limit > IpfixMessage::kLongest) {
        throw ExportError("an IPFIX message has 16 to 65535 octets, not at most " +
                          std::to_string(limit));
    }
    const std::span<std::byte> header(octets_);
    put(header.subspan(kVersionAt, sizeof kVersion), kVersion);
    put(header.subspan(kDomainAt, sizeof observation_domain), observation_domain);
}

void MessageBuilder::begin_set(std::uint16_t template_id) noexcept {
    end_set();
    set_at_ = used_;
    open_set_ = template_id;
    put(std::span(octets_).subspan(set_at_, sizeof template_id), template_id);
    used_ += IpfixMessage::kSetHeader;
}

/// Writes the length of the open set, if there is one.
void MessageBuilder::end_set() noexcept {
    if (open_set_ != kNoSet) {
        put(std::span(octets_).subspan(set_at_ + kSetLengthAt, sizeof(std::uint16_t)),
            used_ - set_at_);
        open_set_ = kNoSet;
    }
}

MessageBuilder::Message MessageBuilder::close() noexcept {
    Message closed;
    if (records_ > 0) {
        end_set();
        put(std::span(octets_).subspan(kLengthAt, sizeof(std::uint16_t)), used_);
        closed = {.octets = std::span(octets_).first(used_), .records = records_};
    }
    used_ = IpfixMessage::kHeader;
    records_ = 0;
    return closed;
}

}  // namespace tributary
