// SPDX-License-Identifier: Apache-2.0
// The encoder beside libfixbuf, which gets the same values in host byte order, field by field: it
// knows the type of each element, swaps by that, and makes sets and message headers of its own.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/fixbuf_session.hpp"
#include "export/ipfix/ntp_time.hpp"
#include "export/ipfix/record_template.hpp"
#include "tests/support/encoder_pair.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

std::vector<RecordTemplate> templates_of(const ExportOptions& options, const RecordLayout& layout) {
    return make_templates(layout, options.timestamps, element_choice(options));
}

template <class Value>
Value read(const std::byte* from) {
    Value value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

void put(Octets& fields, std::uint64_t value) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
    fields.insert(fields.end(), bytes, bytes + sizeof value);
}

bool is_time(Encoding encoding) {
    return encoding == Encoding::milliseconds || encoding == Encoding::ntp_microseconds ||
           encoding == Encoding::ntp_nanoseconds;
}

/// Octets of a value in a record, not on the wire.
std::size_t octets_in_record(Encoding encoding) {
    const bool is_extended = encoding == Encoding::selector || encoding == Encoding::vxlan_segment;
    return is_extended ? sizeof(std::uint32_t) : octets_of(encoding);
}

/// Appends a value in host byte order.
void put_value(Octets& fields, const TemplateField& field, const std::byte* record) {
    const std::byte* const from = record + field.from;
    switch (field.encoding) {
        case Encoding::milliseconds:
            put(fields, static_cast<std::uint64_t>(
                            std::chrono::floor<std::chrono::milliseconds>(read<Timestamp>(from))
                                .time_since_epoch()
                                .count()));
            return;
        case Encoding::ntp_microseconds:
            put(fields, to_ntp_microseconds(read<Timestamp>(from)));
            return;
        case Encoding::ntp_nanoseconds:
            put(fields, to_ntp_nanoseconds(read<Timestamp>(from)));
            return;
        case Encoding::selector:
            put(fields, read<std::uint32_t>(from));
            return;
        case Encoding::vxlan_segment:
            put(fields, std::uint64_t{1} << 56U | read<std::uint32_t>(from));
            return;
        case Encoding::octets4:  // an IPv4 address, an integer for libfixbuf
            fields.insert(fields.end(), {from[3], from[2], from[1], from[0]});
            return;
        default:
            fields.insert(fields.end(), from, from + octets_of(field.encoding));
    }
}

/// Encoder and libfixbuf side by side.
class Beside {
public:
    Beside(const ExportOptions& options, const RecordLayout& layout, std::size_t limit)
        : layout_(layout),
          templates_(templates_of(options, layout)),
          encoder_(options, layout, limit),
          reference_({.observation_domain = options.observation_domain,
                      .enterprise_number = options.enterprise_number,
                      .message_limit = limit},
                     wire_templates(templates_)) {}

    /// @return  false: the messages differ, or where they end
    bool append(const Record& record) {
        const RecordTemplate& shape = templates_[shape_index(bytes_of(record), layout_)];
        if (encoder_.append(bytes_of(record)) == AppendResult::message_full) {
            const bool is_full = !reference_.has_room(shape.id, shape.record_octets);
            return is_full && close() && append(record);
        }
        Octets fields;
        for (const TemplateField& field : shape.fields) {
            put_value(fields, field, bytes_of(record));
        }
        return reference_.has_room(shape.id, shape.record_octets) &&
               reference_.append(shape.id, fields, shape.record_octets);
    }
    bool close() {
        const EncodedMessage closed = encoder_.close();
        const FixbufSession::Message expected = reference_.close();
        ++messages_;
        return closed.records == expected.records &&
               stamped(closed.octets, closed.records) == stamped(expected.octets, closed.records);
    }
    [[nodiscard]] const RecordTemplate& shape(std::size_t index) const { return templates_[index]; }
    [[nodiscard]] std::size_t messages() const { return messages_; }

private:
    /// With a number and a time, as it leaves: libfixbuf writes the host's time.
    static Octets stamped(MessageView message, std::uint32_t records) {
        Octets octets(message.begin(), message.end());
        MessageNumbering().stamp(octets, records, kNow, {});
        return octets;
    }

    RecordLayout layout_;
    std::vector<RecordTemplate> templates_;
    IpfixEncoder encoder_;
    FixbufSession reference_;
    std::size_t messages_{};
};

/// Gives each field of the record a value by chance, unless its shape depends on it.
class ByChance {
public:
    void fill(Record& record, const RecordTemplate& shape, std::size_t index,
              const RecordLayout& layout) {
        auto* const bytes = reinterpret_cast<std::byte*>(&record);
        for (const TemplateField& field : shape.fields) {
            const auto value = std::span(bytes, sizeof record)
                                   .subspan(field.from, octets_in_record(field.encoding));
            const Octets before(value.begin(), value.end());
            set(value, is_time(field.encoding));
            if (shape_index(bytes, layout) != index) {
                std::ranges::copy(before, value.begin());
            }
        }
    }
    std::uint64_t number() { return numbers_(); }

private:
    void set(std::span<std::byte> value, bool is_time) {
        constexpr std::uint64_t kFourYears = 1ULL << 57U;  // nanoseconds
        std::array<std::uint64_t, 2> random{numbers_(), numbers_()};
        if (is_time) {
            random[0] = 1'500'000'000'000'000'000 + random[0] % kFourYears;
        }
        std::memcpy(value.data(), random.data(), value.size());
    }

    std::mt19937_64 numbers_{36};
};

struct Case {
    ExportOptions options;
    FlowDirection direction{};
    std::vector<std::size_t> limits;
};

std::vector<Case> cases() {
    ExportOptions plain;
    plain.observation_domain = 0x8000'0001;
    ExportOptions all = plain;
    all.fields = kAllGroups;
    all.timestamps = TimestampUnit::microseconds;
    all.selector = true;
    all.cert_elements = true;
    ExportOptions tcp = plain;
    tcp.fields = groups_of<Layer2Group, TcpAnalysisGroup>();
    tcp.timestamps = TimestampUnit::nanoseconds;
    tcp.ntop_elements = true;
    tcp.tcp_control_bits = 1;
    return {{plain, FlowDirection::uniflow, {512, 1400, 65'535}},
            {plain, FlowDirection::biflow, {513, 1401, 8192}},
            {all, FlowDirection::uniflow, {600, 1472}},
            {all, FlowDirection::biflow, {832, 65'000}},
            {tcp, FlowDirection::uniflow, {576, 9000}},
            {tcp, FlowDirection::biflow, {700, 1400}}};
}

/// Appends some records of each shape, one after the other: they share a set.
void append_all_shapes(Beside& beside, const RecordLayout& layout, ByChance& chance) {
    constexpr std::uint64_t kMost = 40;
    const std::size_t shapes = shape_count(layout);
    for (std::size_t index = 0; index < shapes; ++index) {
        Record record = record_of_shape(shape_at(index, layout), layout, 7);
        const std::size_t made = shape_index(bytes_of(record), layout);
        for (std::uint64_t left = 1 + chance.number() % kMost / (1 + shapes / 64); left > 0;
             --left) {
            chance.fill(record, beside.shape(made), made, layout);
            REQUIRE(beside.append(record));
        }
    }
}

}  // namespace

TEST_CASE("IpfixEncoder: its messages are those of libfixbuf, octet for octet", "[export][unit]") {
    ByChance chance;
    for (const Case& each : cases()) {
        const RecordLayout layout = RecordLayout::of(each.options.fields, each.direction);
        for (const std::size_t limit : each.limits) {
            CAPTURE(layout.bytes, limit);
            Beside beside(each.options, layout, limit);
            while (beside.messages() < 2) {
                append_all_shapes(beside, layout, chance);
            }
            CHECK(beside.close());
        }
    }
}
