// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/flow_share.hpp"
#include "export/messages/framing.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"
#include "export/record_items.hpp"

namespace tributary {

/// What the value of a message is.
enum class ItemValue : std::uint8_t {
    bare,       ///< an encoded record
    delimited,  ///< an encoded record with its length in front, see delimit()
};

/// Each record is an item (record_items.hpp), and so a message of its own in the topic. With
/// KafkaKey::flow its key is the flow's number as 8 hexadecimal digits.
class ItemFraming final : public Framing {
public:
    /// @param format  of the records, for spools
    /// @param value   delimited: records have 1 .. kMostDelimited octets
    ItemFraming(std::string_view format, ItemValue value, KafkaKey key,
                const MeteringProcess& metering);

    [[nodiscard]] std::size_t octets_before() const noexcept override {
        return value_at() + (is_delimited_ ? kLengthOctets : 0);
    }
    [[nodiscard]] std::size_t octets_behind() const noexcept override { return 0; }
    [[nodiscard]] std::size_t complete(std::span<std::byte> item, std::size_t encoded,
                                       const FramedRecord& record) noexcept override;
    [[nodiscard]] std::string_view name() const noexcept override { return name_; }
    [[nodiscard]] std::uint32_t version() const noexcept override { return 1; }
    [[nodiscard]] IsMessage is_message() const noexcept override { return are_items; }
    [[nodiscard]] std::size_t records_in(MessageView message) const noexcept override;
    [[nodiscard]] MessageView take_record(MessageView& message) const noexcept override;

private:
    /// Where an item's value begins.
    [[nodiscard]] std::size_t value_at() const noexcept { return kRecordItemHeader + key_octets_; }

    std::string name_;
    bool is_delimited_;
    std::size_t key_octets_;  ///< 0: there is no key
    std::vector<RecordLayout> layouts_;
    FlowShare flow_share_;
    std::uint32_t turn_{};  ///< of the next record without a key
};

}  // namespace tributary
