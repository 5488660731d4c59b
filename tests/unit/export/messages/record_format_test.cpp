// SPDX-License-Identifier: Apache-2.0
#include "export/messages/record_format.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/export_error.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/octets.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// "SEQUENCE SOURCE-PORT PACKETS", padded to a size that tests choose.
class PortEncoder final : public RecordEncoder {
public:
    explicit PortEncoder(std::size_t octets = 40) : octets_(octets) {}
    [[nodiscard]] std::size_t most_octets() const noexcept override { return octets_; }
    [[nodiscard]] std::size_t encode(std::size_t, const std::byte* record, std::uint64_t sequence,
                                     std::span<std::byte> out) noexcept override {
        const auto& core = *reinterpret_cast<const FlowRecordCore*>(record);
        const std::string text = std::to_string(sequence) + " " +
                                 std::to_string(core.key.source_port.value) + " " +
                                 std::to_string(core.packets);
        std::memcpy(out.data(), text.data(), text.size());
        return text.size();
    }
    [[nodiscard]] std::optional<std::uint64_t> stream() const noexcept override { return kStream; }
    [[nodiscard]] std::optional<RecordNumber> number_of(
        MessageView encoded) const noexcept override {
        const char first = std::to_integer<char>(encoded.front());
        return first == '?'
                   ? std::nullopt
                   : std::optional(RecordNumber{kStream, static_cast<std::uint64_t>(first - '0')});
    }
    static constexpr std::uint64_t kStream = 77;

private:
    std::size_t octets_;
};

/// Each record has its octets in front, as a protobuf message of a stream would.
class LengthFraming final : public Framing {
public:
    [[nodiscard]] std::size_t octets_before() const noexcept override { return 2; }
    [[nodiscard]] std::size_t octets_behind() const noexcept override { return 0; }
    [[nodiscard]] std::size_t complete(std::span<std::byte> item, std::size_t encoded,
                                       const FramedRecord& record) noexcept override {
        item[0] = static_cast<std::byte>(encoded);
        item[1] = static_cast<std::byte>(record.layout);
        return 2 + encoded;
    }
    [[nodiscard]] std::string_view name() const noexcept override { return "lengths"; }
    [[nodiscard]] std::uint32_t version() const noexcept override { return 3; }
    [[nodiscard]] IsMessage is_message() const noexcept override {
        return [](MessageView octets) noexcept { return !octets.empty(); };
    }
    [[nodiscard]] std::size_t records_in(MessageView) const noexcept override { return 1; }
    [[nodiscard]] MessageView take_record(MessageView&) const noexcept override { return {}; }
};

RecordFormatParts lines(std::size_t octets = 40, std::string header = {}) {
    return {.encoder = std::make_unique<PortEncoder>(octets),
            .framing = std::make_unique<LineFraming>("ports"),
            .header = std::move(header)};
}

std::string text_of(const OutgoingMessage& message) { return test::text_of(message.octets); }

MessageView octets_of_text(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

TEST_CASE("RecordFormat: lines with numbers that go on from message to message", "[export][unit]") {
    RecordFormat format(lines(), {}, {});
    OutgoingMessage message;
    CHECK(format.append(bytes_of(record_of(7)), message) == AppendResult::added);
    CHECK(format.append(bytes_of(record_of(8)), message) == AppendResult::added);
    format.close(message, {});
    CHECK(text_of(message) == "0 7 10\n1 8 10\n");
    CHECK(message.data_records == 2);
    CHECK(message.latest_end == record_of(8).core.end);
    OutgoingMessage second;
    CHECK(format.append(bytes_of(record_of(9)), second) == AppendResult::added);
    format.close(second, {});
    CHECK(text_of(second) == "2 9 10\n");
    CHECK(format.next_sequence() == 3);
    CHECK_FALSE(format.next_ahead({}));
}

TEST_CASE("RecordFormat: the numbers of a message's records, as ranges", "[export][unit]") {
    const MeteringProcess metering;
    RecordFormat format(lines(), {}, metering);
    CHECK(format.next_number() == RecordNumber{PortEncoder::kStream, 0});
    OutgoingMessage message;
    CHECK(format.append(bytes_of(record_of(7)), message) == AppendResult::added);
    CHECK(format.append(bytes_of(record_of(8)), message) == AppendResult::added);
    CHECK(text_of(format.open_octets(0)) == "0 7 10\n1 8 10\n");
    CHECK(format.next_number() == RecordNumber{PortEncoder::kStream, 2});
    format.close(message, {});
    CHECK(format.open_octets(0).empty());
    LostNumbers lost;
    format.lose_numbers(message.octets, "a", lost);
    format.lose_numbers(octets_of_text("2 1 1\n3 1 1\n? 1 1\n5 1 1\n7 1 1\n8 1 1\n"), "b", lost);
    constexpr std::uint64_t kStream = PortEncoder::kStream;
    CHECK(lost.read().ranges == std::vector<LostRange>{{kStream, 0, 1, "a"},
                                                       {kStream, 2, 3, "b"},
                                                       {kStream, 5, 5, "b"},
                                                       {kStream, 7, 8, "b"}});
    CHECK(lost.read().unlisted == 1);
}

TEST_CASE("RecordFormat: a message is full before a record could exceed it", "[export][unit]") {
    RecordFormat format(lines(9'999), {}, {});
    OutgoingMessage message;
    std::size_t records = 0;
    while (format.append(bytes_of(record_of(1)), message) == AppendResult::added) {
        ++records;
        REQUIRE(records < RecordFormat::kMessageLimit);
    }
    format.close(message, {});
    CHECK(message.data_records == records);
    CHECK(message.octets.size() <= RecordFormat::kMessageLimit);
    CHECK(message.octets.size() > RecordFormat::kMessageLimit - 10'000);
    CHECK_THROWS_AS(RecordFormat(lines(32'500), {}, {}), ExportError);
}

TEST_CASE("RecordFormat: both uniflows of a biflow, in one message and with their own numbers",
          "[export][unit]") {
    const MeteringProcess metering{.layout = RecordLayout::of({}, FlowDirection::biflow)};
    CollectorOptions uniflows;
    uniflows.direction = FlowDirection::uniflow;
    RecordFormat format(lines(20'000), uniflows, metering);
    Record record = record_of(7);
    auto& reverse = record.group<ReverseGroup>(metering.layout.reverse_at);
    reverse.packets = 3;
    reverse.end = record.core.end + std::chrono::seconds{1};
    OutgoingMessage message;
    CHECK(format.append(bytes_of(record), message) == AppendResult::added);
    reverse.packets = 0;
    CHECK(format.append(bytes_of(record), message) == AppendResult::added);
    format.close(message, {});
    CHECK(text_of(message) == "0 7 10\n1 53 3\n2 7 10\n");
    CHECK(message.data_records == 3);
    CHECK(message.latest_end == record.core.end + std::chrono::seconds{1});

    RecordFormat whole(lines(), {}, metering);
    CHECK(whole.append(bytes_of(record), message) == AppendResult::added);
    whole.close(message, {});
    CHECK(message.data_records == 1);
}

TEST_CASE("RecordFormat: records of several layouts lie in messages of their own",
          "[export][unit]") {
    const MeteringProcess metering{
        .layout = {},
        .further = {{.name = "labels", .layout = RecordLayout::of(groups_of<MplsGroup>())}}};
    RecordFormat format(
        {.encoder = std::make_unique<PortEncoder>(), .framing = std::make_unique<LengthFraming>()},
        {}, metering);
    OutgoingMessage first;
    OutgoingMessage second;
    second.layout = 1;
    CHECK(format.append(bytes_of(record_of(5)), first) == AppendResult::added);
    CHECK(format.append(bytes_of(record_of(6)), second) == AppendResult::added);
    format.close(second, {});
    format.close(first, {});
    CHECK(text_of(first) == std::string("\6\0", 2) + "0 5 10");
    CHECK(text_of(second) ==
          "\6\1"
          "1 6 10");
    const SpoolContent content = format.spool_content();
    CHECK(content.format == "lengths");
    CHECK(content.version == 3);
    CHECK(content.further.size() == 1);
}

TEST_CASE("RecordFormat: discarded records leave nothing", "[export][unit]") {
    RecordFormat format(lines(), {}, {});
    OutgoingMessage message;
    CHECK(format.append(bytes_of(record_of(7)), message) == AppendResult::added);
    format.discard(message);
    CHECK(format.append(bytes_of(record_of(8)), message) == AppendResult::added);
    format.close(message, {});
    CHECK(text_of(message) == "1 8 10\n");
}

TEST_CASE("RecordFormat: a header goes ahead of each session", "[export][unit]") {
    RecordFormat format(lines(40, "a,b\n"), {}, {});
    auto ahead = format.next_ahead({});
    REQUIRE(ahead);
    CHECK(text_of(ahead->octets) == "a,b\n");
    CHECK(ahead->records == 0);
    CHECK_FALSE(format.next_ahead({}));
    format.take_back_ahead();
    CHECK(format.next_ahead({}));
    format.restart_session();
    CHECK(format.next_ahead({}));
    CHECK_FALSE(format.next_ahead({}));
}

TEST_CASE("RecordFormat: messages of a disk are whole lines, as many as their account says",
          "[export][unit]") {
    RecordFormat format(lines(), {}, {});
    const auto is_message = format.spool_content().is_message;
    CHECK(is_message(octets_of_text("a\n")));
    CHECK(is_message(octets_of_text("a\nb\n")));
    CHECK_FALSE(is_message({}));
    CHECK_FALSE(is_message(octets_of_text("\n")));
    CHECK_FALSE(is_message(octets_of_text("a\n\n")));
    CHECK_FALSE(is_message(octets_of_text("a\nb")));
    CHECK_FALSE(is_message(octets_of_text(std::string_view("a\0\n", 3))));
    OutgoingMessage message;
    const MessageView text = octets_of_text("a\nb\n");
    message.octets.assign(text.begin(), text.end());
    message.data_records = 2;
    CHECK(format.readmit(message));
    message.data_records = 3;
    CHECK_FALSE(format.readmit(message));
}
