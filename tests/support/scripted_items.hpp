// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "export/message_format.hpp"
#include "export/record_items.hpp"
#include "export/transport/transport.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/octets.hpp"

// Messages of items, and a transport that does with each item what a test says.
namespace tributary::test {

inline constexpr std::size_t kRecordsPerMessage = 10;

/// Each record is an item with its source port as value, and every third one is two items, as the
/// uniflows of a biflow are.
class ItemFormat final : public MessageFormat {
public:
    AppendResult append(const std::byte* record, OutgoingMessage& open) noexcept override {
        if (records_ == kRecordsPerMessage) {
            return AppendResult::message_full;
        }
        const auto& core = *reinterpret_cast<const FlowRecordCore*>(record);
        const unsigned port = core.key.source_port.value;
        add(std::to_string(port), core.tally());
        if (port % 3 == 0) {
            add(std::to_string(port) + "'", {});
        }
        ++records_;
        static_cast<void>(open);
        return AppendResult::added;
    }
    void close(OutgoingMessage& open, ExportTime) override {
        open.octets = octets_;
        open.data_records = static_cast<std::uint32_t>(items_);
        open.latest_end = record_of(0).core.end;
        discard(open);
    }
    void discard(OutgoingMessage&) noexcept override {
        octets_.clear();
        records_ = 0;
        items_ = 0;
    }
    [[nodiscard]] SpoolContent spool_content() const override {
        return {.format = "items",
                .version = 1,
                .oldest_version = 1,
                .is_message = are_items,
                .visit_numbers = [this](MessageView octets, const NumberRangeHandler& handler) {
                    return visit_numbers(octets, handler);
                }};
    }
    /// Numbers of records are their ports, and of second items those beyond kSecond.
    static constexpr std::uint64_t kSecond = 1000;
    static constexpr std::uint64_t kStream = 5;
    [[nodiscard]] std::optional<RecordNumber> next_number() const noexcept override {
        return RecordNumber{kStream, 2 * kSecond};
    }
    [[nodiscard]] MessageView open_octets(std::size_t) const noexcept override { return octets_; }
    std::uint64_t visit_numbers(MessageView octets,
                                const NumberRangeHandler& handler) const override {
        RecordItems items(octets);
        while (const auto item = items.next()) {
            const std::string text(reinterpret_cast<const char*>(item->value.data()),
                                   item->value.size());
            const std::uint64_t number = std::stoul(text) + (text.ends_with('\'') ? kSecond : 0);
            handler({kStream, number, number});
        }
        return 0;
    }

private:
    void add(const std::string& text, const RecordTally& tally) {
        const auto value = std::as_bytes(std::span(text));
        std::array<std::byte, kRecordItemHeader> header{};
        write_item_header({.key = {}, .value = value, .hash = 0, .tally = tally}, header);
        octets_.insert(octets_.end(), header.begin(), header.end());
        octets_.insert(octets_.end(), value.begin(), value.end());
        ++items_;
    }

    std::vector<std::byte> octets_;
    std::size_t records_{};
    std::size_t items_{};
};

/// Does with each item what the test says, when that ends the session.
struct Script {
    std::function<ItemOutcome(const std::string&)> outcome{
        [](const std::string&) { return ItemOutcome::delivered; }};
    bool is_away{};                      ///< there is no session
    bool ends{};                         ///< the next report is by item
    std::vector<std::string> arrived{};  ///< in all sessions
    std::vector<std::string> sent{};     ///< in this session, in order
};

class ScriptedTransport final : public Transport {
public:
    explicit ScriptedTransport(Script& script) : script_(script) {}

    void advance(std::chrono::nanoseconds) noexcept override {}
    [[nodiscard]] std::uint64_t session() const noexcept override {
        return script_.is_away ? 0 : session_;
    }
    [[nodiscard]] SendResult send(std::span<const MessageView> messages,
                                  std::chrono::nanoseconds) noexcept override {
        for (const MessageView message : messages) {
            std::vector<std::string> values;
            RecordItems items(message);
            while (const auto item = items.next()) {
                values.push_back(text_of(item->value));
                script_.sent.push_back(values.back());
            }
            taken_.push_back(std::move(values));
        }
        return {.taken = messages.size(), .rest = SendStatus::taken};
    }
    [[nodiscard]] SendOutcomes collect_outcomes(std::chrono::nanoseconds) noexcept override {
        return {.by_item = script_.ends ? taken_.size() : 0};
    }
    void settle_by_item(const ItemOutcomeHandler& taker, std::chrono::nanoseconds) override {
        for (const std::vector<std::string>& message : taken_) {
            std::vector<ItemOutcome> outcomes;
            for (const std::string& value : message) {
                outcomes.push_back(script_.outcome(value));
                if (outcomes.back() == ItemOutcome::delivered) {
                    script_.arrived.push_back(value);
                }
            }
            taker(outcomes);
        }
        taken_.clear();
        script_.ends = false;
        script_.sent.clear();
        ++session_;
    }

private:
    Script& script_;
    std::uint64_t session_ = 1;
    std::vector<std::vector<std::string>> taken_;
};

}  // namespace tributary::test
