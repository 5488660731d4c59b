// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "export/ipfix_message.hpp"
#include "export/message.hpp"

namespace tributary {

/// Builds messages of data records in its own memory, one message at a time:
///
///     (append()* close())*
///
/// Consecutive records of one template share a set; a record of another template begins a new one.
/// Sets are not padded. The message header has neither number nor time: MessageNumbering writes
/// them when the message leaves.
///
/// @source  RFC 7011 §3.1 (message header), §3.3.2 (set header)
/// @thread  one
class MessageBuilder {
public:
    struct Message {
        MessageView octets;       ///< valid until the next append(); empty: it has no record
        std::uint32_t records{};  ///< data records in it
    };

    /// @param limit  octets that no message exceeds: a message header's, to IpfixMessage::kLongest
    /// @errors  ExportError: another limit
    MessageBuilder(std::uint32_t observation_domain, std::size_t limit);

    /// Whether a record of so many octets goes into the open message.
    [[nodiscard]] bool has_room(std::uint16_t template_id, std::size_t octets) const noexcept {
        return octets_of_set_header(template_id) + octets <= octets_.size() - used_;
    }
    /// Adds a data record.
    ///
    /// @param template_id  at least IpfixMessage::kFirstDataSet; also the id of the set
    /// @param octets       of the record on the wire, at least 1
    /// @return  where the caller has to write these octets; nullptr: there is no room for them, and
    ///          the message is as before
    [[nodiscard]] std::byte* append(std::uint16_t template_id, std::size_t octets) noexcept {
        if (!has_room(template_id, octets)) {
            return nullptr;
        }
        if (template_id != open_set_) {
            begin_set(template_id);
        }
        std::byte* const record = octets_.data() + used_;
        used_ += octets;
        ++records_;
        return record;
    }
    /// Closes the open message. The next one is empty.
    [[nodiscard]] Message close() noexcept;

private:
    static constexpr std::uint16_t kNoSet = 0;

    [[nodiscard]] std::size_t octets_of_set_header(std::uint16_t template_id) const noexcept {
        return template_id == open_set_ ? 0 : IpfixMessage::kSetHeader;
    }
    void begin_set(std::uint16_t template_id) noexcept;
    void end_set() noexcept;

    std::vector<std::byte> octets_;  ///< as many as the limit; those of the message come first
    std::size_t used_ = IpfixMessage::kHeader;  ///< octets of the open message
    std::size_t set_at_{};                      ///< where the open set begins
    std::uint32_t records_{};                   ///< in the open message
    std::uint16_t open_set_ = kNoSet;           ///< its id
};

}  // namespace tributary
