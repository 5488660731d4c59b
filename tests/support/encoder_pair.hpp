// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

#include "export/ipfix_encoder.hpp"
#include "tests/support/export_harness.hpp"
#include "tests/support/ipfix_decoder.hpp"

// What the tests of the encoder and of its templates share.
namespace tributary::test {

inline constexpr Timestamp kNow{std::chrono::seconds{1'600'000'001}};
inline constexpr FieldGroups kAllGroups{.extremes = true,
                                        .layer2 = true,
                                        .tcp_counts = true,
                                        .flow_label = true,
                                        .mpls = true,
                                        .tunnel = true,
                                        .fragments = true};

/// An encoder, and a decoder that hears its templates as soon as there are any.
struct EncoderPair {
    explicit EncoderPair(FieldGroups groups = {}, TimestampUnit unit = TimestampUnit::milliseconds,
                         std::size_t limit = 1400)
        : EncoderPair(
              ExportOptions{
                  .observation_domain = 42, .timestamps = unit, .fields = groups, .collectors = {}},
              limit) {}
    EncoderPair(const ExportOptions& options, std::size_t limit)
        : layout(RecordLayout::of(options.fields)), encoder(options, layout, limit) {
        hear_templates();
    }
    /// Those that are new; after `heard` is set to 0, all.
    void hear_templates() {
        for (; heard < encoder.template_messages(); ++heard) {
            templates.push_back(decoder.decode(encoder.template_message(heard, kNow)));
        }
    }
    IpfixMessage finish(Timestamp now = kNow) {
        hear_templates();
        IpfixMessage message = decoder.decode(encoder.finish(now));
        encoder.release();
        return message;
    }
    IpfixRecord round_trip(const Record& record) {
        REQUIRE(encoder.append(bytes_of(record)) == AppendResult::added);
        IpfixMessage message = finish();
        REQUIRE(message.records.size() == 1);
        return message.records.front();
    }

    RecordLayout layout;
    IpfixEncoder encoder;
    IpfixDecoder decoder;
    std::size_t heard{};
    std::vector<IpfixMessage> templates;
};

inline std::set<std::uint16_t> elements_of(const IpfixRecord& record) {
    std::set<std::uint16_t> elements;
    for (const auto& [element, value] : record.values) {
        elements.insert(element);
    }
    return elements;
}

inline Octets octets(std::initializer_list<int> values) {
    Octets made;
    for (const int value : values) {
        made.push_back(static_cast<std::byte>(value));
    }
    return made;
}

}  // namespace tributary::test
