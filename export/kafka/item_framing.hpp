// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/flow_share.hpp"
#include "export/messages/element_text.hpp"
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
/// KafkaKey::flow its key is the flow's number as 8 hexadecimal digits. With KafkaKey::field it is
/// an element's value as text, and its partition the one that Java's producers choose for the same
/// key; a record without the element has no key, and goes by the flow's number.
class ItemFraming final : public Framing {
public:
    /// Makes the key of the records of some tables.
    using MakeField = std::function<ElementText(const MeteringProcess& metering)>;
    /// @param format  of the records, for spools
    /// @param value   delimited: records have 1 .. kMostDelimited octets
    /// @param field   with KafkaKey::field, whose value is the key
    /// @errors  ExportError: no record has it
    ItemFraming(std::string_view format, ItemValue value, KafkaKey key,
                const MeteringProcess& metering, MakeField field = {});

    [[nodiscard]] std::unique_ptr<Tables> prepare_tables(const MeteringProcess& metering,
                                                         const TableChoice& choice) override;
    void take_tables(std::unique_ptr<Tables> prepared) noexcept override;

    [[nodiscard]] std::size_t octets_before() const noexcept override {
        return octets_before(tables_);
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
    struct Key {
        std::size_t octets{};  ///< 0: there is none
        std::uint32_t hash{};
    };
    /// What depends on the tables.
    struct OfTables {
        std::optional<ElementText> field;
        std::size_t most_key_octets;
        std::vector<RecordLayout> layouts;
        std::vector<FlowShare> flow_shares;  ///< by layout
    };
    struct NextTables;

    [[nodiscard]] OfTables make(const MeteringProcess& metering, bool takes_new) const;
    [[nodiscard]] std::size_t octets_before(const OfTables& tables) const noexcept {
        return kRecordItemHeader + tables.most_key_octets + length_octets();
    }
    [[nodiscard]] Key write_key(const FramedRecord& record, std::span<std::byte> to) noexcept;
    /// That are kept free in front of a record for its length.
    [[nodiscard]] std::size_t length_octets() const noexcept {
        return is_delimited_ ? kLengthOctets : 0;
    }

    std::string name_;
    bool is_delimited_;
    KafkaKey key_;
    MakeField make_field_;
    OfTables tables_;
    std::uint32_t turn_{};  ///< of the next record, with KafkaKey::none
};

}  // namespace tributary
