// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "export/message.hpp"
#include "export/metering_process.hpp"
#include "export/taken_tables.hpp"

namespace tributary {

/// A record as it came to the collector, and as it is encoded.
struct FramedRecord {
    const std::byte* bytes{};  ///< before a biflow was split; aligned to 8
    const std::byte* sent{};   ///< the same, or one of its two uniflows; aligned to 8
    std::size_t layout{};      ///< its index in MeteringProcess
    bool is_first = true;      ///< not the second of its two uniflows
};

/// How encoded records lie in a message, one behind the other: what stands before and behind each.
/// @thread  the export thread
class Framing {
public:
    Framing() = default;
    Framing(const Framing&) = delete;
    Framing& operator=(const Framing&) = delete;
    virtual ~Framing() = default;

    /// Octets that are kept free before each encoded record, and behind it.
    [[nodiscard]] virtual std::size_t octets_before() const noexcept = 0;
    [[nodiscard]] virtual std::size_t octets_behind() const noexcept = 0;
    /// Completes an item: the encoded record begins octets_before() behind its beginning, and may
    /// be moved.
    ///
    /// @param item     with the room before and behind the encoded record
    /// @param encoded  octets of it
    /// @return  octets of the item
    [[nodiscard]] virtual std::size_t complete(std::span<std::byte> item, std::size_t encoded,
                                               const FramedRecord& record) noexcept = 0;

    /// What prepare_tables() has made, and take_tables() takes.
    struct Tables {
        explicit Tables(std::size_t before) noexcept : octets_before(before) {}
        Tables(const Tables&) = delete;
        Tables& operator=(const Tables&) = delete;
        virtual ~Tables() = default;

        std::size_t octets_before;  ///< from then on
    };
    /// As those of MessageFormat. A framing that does not look at records has none of this.
    [[nodiscard]] virtual std::unique_ptr<Tables> prepare_tables(
        const MeteringProcess& /*metering*/, const TableChoice& /*choice*/) {
        return std::make_unique<Tables>(octets_before());
    }
    virtual void take_tables(std::unique_ptr<Tables> /*prepared*/) noexcept {}

    /// What the messages are in a spool: see SpoolContent, also for the version.
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    [[nodiscard]] virtual std::uint32_t version() const noexcept = 0;
    using IsMessage = bool (*)(MessageView octets) noexcept;
    [[nodiscard]] virtual IsMessage is_message() const noexcept = 0;
    /// @param message  for which is_message() holds
    [[nodiscard]] virtual std::size_t records_in(MessageView message) const noexcept = 0;
    /// Takes the item at the front off.
    ///
    /// @return  its encoded record; empty: there is no whole item, and nothing has changed
    [[nodiscard]] virtual MessageView take_record(MessageView& message) const noexcept = 0;
};

/// Whether octets are whole lines: each has text, and none an octet 0, as the zeros that a power
/// cut leaves in a file.
[[nodiscard]] bool are_lines(MessageView octets) noexcept;

/// Each record is a line.
class LineFraming final : public Framing {
public:
    /// @param name  of what a line is, for spools; outlives the framing
    explicit LineFraming(std::string_view name) noexcept : name_(name) {}

    [[nodiscard]] std::size_t octets_before() const noexcept override { return 0; }
    [[nodiscard]] std::size_t octets_behind() const noexcept override { return 1; }
    [[nodiscard]] std::size_t complete(std::span<std::byte> item, std::size_t encoded,
                                       const FramedRecord&) noexcept override {
        item[encoded] = std::byte{'\n'};
        return encoded + 1;
    }
    [[nodiscard]] std::string_view name() const noexcept override { return name_; }
    [[nodiscard]] std::uint32_t version() const noexcept override { return 1; }
    [[nodiscard]] IsMessage is_message() const noexcept override { return are_lines; }
    [[nodiscard]] std::size_t records_in(MessageView message) const noexcept override;
    [[nodiscard]] MessageView take_record(MessageView& message) const noexcept override;

private:
    std::string_view name_;
};

/// Whether octets are whole messages of a protobuf type, each with its length in front, and none is
/// empty or longer than kMostDelimited.
[[nodiscard]] bool are_delimited(MessageView octets) noexcept;
inline constexpr std::size_t kMostDelimited = 16'383;  ///< octets whose length has two octets
inline constexpr std::size_t kLengthOctets = 2;        ///< that are kept free for a length

/// Writes a message's length in front of it.
///
/// @param room     kLengthOctets, and then the message, which may be moved
/// @param encoded  octets of the message, 1 .. kMostDelimited
/// @return  octets with the length
/// @source  protobuf.dev/programming-guides/encoding: varints
[[nodiscard]] std::size_t delimit(std::span<std::byte> room, std::size_t encoded) noexcept;
/// Takes the message at the front off, with its length.
///
/// @return  the message; empty: there is no whole one, and nothing has changed
[[nodiscard]] MessageView take_delimited(MessageView& octets) noexcept;

/// Each record is a protobuf message with its length in front, as protobuf's own functions for
/// streams of messages write and read it (`writeDelimitedTo`, ClickHouse's format Protobuf).
class DelimitedFraming final : public Framing {
public:
    /// @param name  of the type, for spools; outlives the framing
    explicit DelimitedFraming(std::string_view name) noexcept : name_(name) {}

    [[nodiscard]] std::size_t octets_before() const noexcept override { return kLengthOctets; }
    [[nodiscard]] std::size_t octets_behind() const noexcept override { return 0; }
    /// @param encoded  1 .. kMostDelimited
    [[nodiscard]] std::size_t complete(std::span<std::byte> item, std::size_t encoded,
                                       const FramedRecord& /*record*/) noexcept override {
        return delimit(item, encoded);
    }
    [[nodiscard]] std::string_view name() const noexcept override { return name_; }
    [[nodiscard]] std::uint32_t version() const noexcept override { return 1; }
    [[nodiscard]] IsMessage is_message() const noexcept override { return are_delimited; }
    [[nodiscard]] std::size_t records_in(MessageView message) const noexcept override;
    [[nodiscard]] MessageView take_record(MessageView& message) const noexcept override {
        return take_delimited(message);
    }

private:
    std::string_view name_;
};

}  // namespace tributary
