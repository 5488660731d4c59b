// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/enterprise_elements.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "export/ipfix/options_encoder.hpp"
#include "tests/support/declared_group.hpp"
#include "tests/support/encoder_pair.hpp"

using namespace tributary;
using namespace tributary::test;

TEST_CASE("Enterprise elements: number, name and type, as in docs/fields.md", "[export][unit]") {
    std::string listed;
    for (const EnterpriseElement& own : enterprise_elements(ElementOwner::tributary, kEveryGroup)) {
        listed += std::to_string(own.element->number) + ' ' + own.element->name + ' ' +
                  std::to_string(static_cast<unsigned>(own.type)) + ' ' +
                  std::to_string(own.octets) + '\n';
    }
    // Types are numbered as informationElementDataType: 1 unsigned8, 3 unsigned32, 18 and 19
    // addresses.
    CHECK(listed ==
          "1 tunnelType 1 1\n"
          "2 tunnelId 3 4\n"
          "3 tunnelSourceIPv4Address 18 4\n"
          "4 tunnelDestinationIPv4Address 18 4\n"
          "5 tunnelSourceIPv6Address 19 16\n"
          "6 tunnelDestinationIPv6Address 19 16\n"
          "7 segments 3 4\n"
          "8 dataSegments 3 4\n"
          "9 retransmissions 3 4\n"
          "10 retransmittedOctets 4 8\n"
          "11 duplicates 3 4\n"
          "12 outOfOrder 3 4\n"
          "13 zeroWindow 2 2\n"
          "14 keepAlives 3 4\n"
          "15 flowSize 3 4\n"
          "16 flowDurationNanoseconds 4 8\n"
          "17 tcpAnalysisOverflow 2 2\n"
          "18 tcpHandshakeNanoseconds 3 4\n"
          "24 dumpFileNumber 3 4\n");
}

TEST_CASE("Enterprise elements: found by number", "[export][unit]") {
    REQUIRE(own_element(2, lasting_groups()));
    CHECK(own_element(2, lasting_groups())->element->name == std::string("tunnelId"));
    CHECK_FALSE(own_element(0, lasting_groups()));
    CHECK_FALSE(own_element(19, lasting_groups()));
}

TEST_CASE("Enterprise elements: ntop's are exported beside tributary's own, where configured",
          "[export][unit]") {
    const auto told = [](FlowDirection direction) {
        ExportOptions options;
        options.fields = groups_of<TcpAnalysisGroup>();
        options.ntop_elements = true;
        EncoderPair pair(options, 1400, direction);
        Record record = record_of(1);
        record.core.key.protocol = 6;
        record.group<TcpAnalysisGroup>(pair.layout.at<TcpAnalysisGroup>()) = {.retransmissions = 3,
                                                                              .out_of_order = 5};
        if (direction == FlowDirection::biflow) {
            record.group<ReverseGroup>(pair.layout.reverse_at).packets = 1;
            record.group<TcpAnalysisGroup>(pair.layout.back_at<TcpAnalysisGroup>()) = {
                .retransmissions = 30, .out_of_order = 50};
        }
        const auto got = pair.round_trip(record);
        std::vector<std::uint64_t> values;
        for (const auto& field : pair.decoder.templates().at(got.template_id)) {
            if (field.enterprise == 35632) {
                values.push_back(field.element & ~kOfEnterprise);
                values.push_back(got.number(field.element));
            }
        }
        return values;
    };
    CHECK(told(FlowDirection::uniflow) == std::vector<std::uint64_t>{109, 3, 111, 5});
    CHECK(told(FlowDirection::biflow) ==
          std::vector<std::uint64_t>{109, 3, 111, 5, 110, 30, 112, 50});
}

namespace {

/// The group of a declared table with one element of tributary's own.
class GroupOfOne {
public:
    GroupOfOne(std::string_view table, const char* element, std::uint16_t number)
        : elements_{tributary_element(element, number, Encoding::unsigned2, 0, "")} {
        row_.name = table;
        row_.elements = elements_;
        group_ = add_field_group(row_).value();
    }
    GroupOfOne(const GroupOfOne&) = delete;
    GroupOfOne& operator=(const GroupOfOne&) = delete;
    ~GroupOfOne() { remove_field_group(group_); }

    [[nodiscard]] FieldGroups groups() const {
        FieldGroups groups;
        groups.set(group_);
        return groups;
    }

private:
    std::uint64_t begins_with_ = 0;
    std::array<FieldElement, 1> elements_;
    FieldGroup row_ = declared_group(begins_with_);
    FieldGroupId group_{};
};

/// The enterprise's elements of a layout's templates, without the bit of an enterprise.
Elements own_elements_of(FieldGroups groups) {
    Elements own;
    EncoderPair pair(groups);
    for (const auto& [id, fields] : pair.decoder.templates()) {
        for (const DecodedField& field : fields) {
            if ((field.element & kOfEnterprise) != 0) {
                own.insert(field.element & ~unsigned{kOfEnterprise});
            }
        }
    }
    return own;
}

}  // namespace

TEST_CASE("Enterprise elements: a template has its table's, whatever others have the same name",
          "[export][unit]") {
    // A table, and the one that follows it at a reload with another number of the same field.
    const GroupOfOne former("former", "dnsTransactionId", 15512);
    const GroupOfOne present("present", "dnsTransactionId", 2048);
    CHECK(own_elements_of(present.groups()) == Elements{2048});
    CHECK(own_elements_of(former.groups()) == Elements{15512});
}

TEST_CASE("Enterprise elements: a field of the user's own is not in options templates",
          "[export][unit]") {
    const GroupOfOne table("table", "templateId", 3000);
    OptionsEncoder encoder(ExportOptions{}, {}, 1400);
    IpfixDecoder decoder;
    MessageNumbering numbering;
    std::size_t fields = 0;
    for (std::vector<std::byte> message : encoder.template_messages()) {
        numbering.stamp(message, 0, kNow, {});
        decoder.decode(message);
    }
    for (const auto& [id, of_template] : decoder.templates()) {
        for (const DecodedField& field : of_template) {
            CHECK((field.element & kOfEnterprise) == 0);
            ++fields;
        }
    }
    CHECK(fields > 0);
}
