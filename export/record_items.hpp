// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "export/message.hpp"
#include "flowcache/record/counter.hpp"

namespace tributary {

/// One message of a broker, among others in the octets of one OutgoingMessage: as long as they wait
/// here, in memory or in a spool, the items of many records are one message; the transport parts
/// them, and reports what became of each.
///
/// In the octets each item has a header of kRecordItemHeader octets, then its key, then its value.
struct RecordItem {
    std::span<const std::byte> key;    ///< empty: it has none
    std::span<const std::byte> value;  ///< what the collector gets
    std::uint32_t hash{};              ///< items of equal hash stay in order, on one partition
    /// Of the flow records that begin in it: the next ones of the message, in order. `records` is 0
    /// behind the first item of a record.
    RecordTally tally;
};

/// What became of an item.
enum class ItemOutcome : std::uint8_t {
    not_sent,     ///< the collector does not have it
    delivered,    ///< the collector has it
    unconfirmed,  ///< the collector may have it
    refused,      ///< the collector will never take it
};

inline constexpr std::size_t kRecordItemHeader = 32;  ///< octets

/// Writes an item's header. Its key and its value, of which only the lengths count here, are the
/// octets behind it.
///
/// @param header  at least kRecordItemHeader octets
void write_item_header(const RecordItem& item, std::span<std::byte> header) noexcept;

/// Parts octets into their items, in order.
class RecordItems {
public:
    explicit RecordItems(MessageView octets) noexcept : rest_(octets) {}

    /// @return  nothing: there is no other, or the rest is no whole item
    [[nodiscard]] std::optional<RecordItem> next() noexcept;
    /// The same for loops. @return  false: there is no other, and `item` is as before
    [[nodiscard]] bool next(RecordItem& item) noexcept {
        const std::optional<RecordItem> found = next();
        item = found.value_or(item);
        return found.has_value();
    }
    /// Whether all octets were whole items.
    [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }
    /// Octets before the next item.
    [[nodiscard]] MessageView rest() const noexcept { return rest_; }

private:
    MessageView rest_;
};

/// Overwrites the tally of the item that begins here.
void set_tally(std::span<std::byte> item, const RecordTally& tally) noexcept;

/// How many whole items octets have.
[[nodiscard]] std::size_t count_items(MessageView octets) noexcept;

/// Whether octets are whole items, of which the first one begins flow records. Octets of a disk
/// are checked so before they are sent.
[[nodiscard]] bool are_items(MessageView octets) noexcept;

}  // namespace tributary
