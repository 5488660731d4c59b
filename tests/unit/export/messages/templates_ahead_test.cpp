// SPDX-License-Identifier: Apache-2.0
#include "export/messages/templates_ahead.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <set>

#include "tests/support/encoder_pair.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

/// Records of so many shapes in one message, whose templates the decoder has never heard.
struct Mixed {
    explicit Mixed(std::size_t limit = 65'000)
        : pair(kAllGroups, TimestampUnit::milliseconds, limit) {}

    /// @param stride  from one shape to the next
    Octets message(std::size_t stride) {
        std::uint16_t number = 0;
        for (std::size_t shape = 0; shape < shape_count(pair.layout); shape += stride) {
            const Record record =
                record_of_shape(shape_at(shape, pair.layout), pair.layout, ++number);
            REQUIRE(pair.encoder.append(bytes_of(record)) == AppendResult::added);
        }
        for (std::size_t index = 0; index < pair.encoder.template_messages(); ++index) {
            ahead.learn(pair.encoder.template_message(index));
        }
        records = number;
        return pair.finish_unheard();
    }

    EncoderPair pair;
    TemplatesAhead ahead;
    std::size_t records{};
};

}  // namespace

TEST_CASE("TemplatesAhead: a message is read by a decoder that has heard nothing",
          "[export][unit]") {
    Mixed mixed;
    const std::size_t stride = GENERATE(5U, 7U, 31U, 100U);
    const Octets data = mixed.message(stride);
    IpfixDecoder without;
    CHECK_THROWS_AS(without.decode(data), IpfixFault);
    for (int times = 0; times < 2; ++times) {
        Octets whole(mixed.ahead.octets_with_templates(data));
        REQUIRE(whole.size() > data.size());
        mixed.ahead.write(data, whole);
        IpfixDecoder fresh;
        const DecodedMessage read = fresh.decode(whole);
        CHECK(read.records.size() == mixed.records);
        std::set<std::uint16_t> ids;
        for (const DecodedRecord& record : read.records) {
            ids.insert(record.template_id);
        }
        CHECK(read.templates == ids.size());  // each once, and no others
        CHECK(read.domain == 42);
    }
}

TEST_CASE("TemplatesAhead: many records of few shapes, in turn", "[export][unit]") {
    EncoderPair pair;
    TemplatesAhead ahead;
    ahead.learn(pair.encoder.template_message(0));
    for (std::uint16_t number = 0; number < 10; ++number) {
        const std::uint8_t version = number % 2 == 0 ? 4 : 6;
        REQUIRE(pair.encoder.append(bytes_of(record_of(number, version))) == AppendResult::added);
    }
    const Octets data = pair.finish_unheard();
    Octets whole(ahead.octets_with_templates(data));
    ahead.write(data, whole);
    const DecodedMessage read = IpfixDecoder().decode(whole);
    CHECK(read.templates == 2);
    REQUIRE(read.records.size() == 10);
    for (std::uint16_t number = 0; number < 10; ++number) {
        CHECK(read.records[number].number(7) == number);
    }
}

TEST_CASE("TemplatesAhead: what cannot be made whole is said", "[export][unit]") {
    EncoderPair pair;
    TemplatesAhead ahead;
    REQUIRE(pair.encoder.append(bytes_of(record_of(1))) == AppendResult::added);
    Octets data = pair.finish_unheard();
    CHECK(ahead.octets_with_templates(data) == 0);  // no template is known
    ahead.learn(pair.encoder.template_message(0));
    CHECK(ahead.octets_with_templates(data) > data.size());
    CHECK(ahead.octets_with_templates({}) == 0);
    CHECK(ahead.octets_with_templates(MessageView(data).first(16)) == 0);

    EncoderPair longest({}, TimestampUnit::milliseconds, 65'535);
    std::uint16_t number = 0;
    while (longest.encoder.append(bytes_of(record_of(number))) == AppendResult::added) {
        ++number;
    }
    data = longest.finish_unheard();
    ahead.learn(longest.encoder.template_message(0));
    CHECK(ahead.octets_with_templates(data) == 0);  // beyond 65,535 octets
}

TEST_CASE("TemplatesAhead: of a template message that is cut, whole templates are known",
          "[export][unit]") {
    EncoderPair pair;
    REQUIRE(pair.encoder.append(bytes_of(record_of(1))) == AppendResult::added);
    const Octets data = pair.finish_unheard();
    const MessageView whole = pair.encoder.template_message(0);
    std::size_t known = 0;
    for (std::size_t octets = 0; octets < whole.size(); ++octets) {
        const Octets cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(octets));
        TemplatesAhead ahead;
        ahead.learn(cut);
        Octets made(ahead.octets_with_templates(data));
        if (!made.empty()) {
            ++known;
            ahead.write(data, made);
            CHECK(IpfixDecoder().decode(made).records.size() == 1);
        }
    }
    CHECK(known > 0);  // the record's template is the first of several
    CHECK(known < whole.size());
}
