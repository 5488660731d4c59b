// SPDX-License-Identifier: Apache-2.0
#include "conf/declared_tables.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "export/ipfix/encoder_options.hpp"
#include "export/ipfix/named_field.hpp"
#include "export/ipfix/record_elements.hpp"
#include "export/ipfix/record_shape.hpp"
#include "export/ipfix_message.hpp"
#include "flowcache/record/flow_record.hpp"

namespace tributary {
namespace {

/// The records of a table, as a collector gets them, but for the table's field group. That is not
/// among the groups of all records here, because those must not change while a probe runs.
struct SentRecords {
    RecordLayout layout;
    TimestampUnit timestamps;
    ElementChoice choice;
    std::span<const FieldElement> elements;  ///< of the group
    std::size_t variants;                    ///< of the group
};

SentRecords sent_records(const Config& config, const CollectorOptions& collector,
                         const CompiledTable& table) {
    const ExportOptions own = encoder_options(config.export_, collector, {});
    const bool is_split = collector.direction == FlowDirection::uniflow;
    const FlowDirection direction =
        is_split ? FlowDirection::uniflow : table.declaration().direction;
    const FieldGroup* const group = table.group();
    FieldGroups groups;
    groups.set(kFieldGroupId<PacketDumpGroup>, table.declaration().dump_files);
    return {
        .layout = RecordLayout::of(groups, direction),
        .timestamps = own.timestamps,
        .choice = element_choice(own, {.key = table.key(), .is_declared = true}),
        .elements = group != nullptr ? group->elements : std::span<const FieldElement>{},
        .variants = group != nullptr ? group->variants : std::size_t{1},
    };
}

bool is_sent(const FieldElement& element, const SentRecords& records) {
    return records.choice.enterprise || element.owner == ElementOwner::iana;
}

/// Whether records of the shape and the variant have it.
bool is_in(const FieldElement& element, const RecordShape& shape, std::size_t variant) {
    const bool is_of_version = element.condition == Condition::always ||
                               (element.condition == Condition::ipv6 ? shape.ipv6 : !shape.ipv6);
    return is_of_version && (element.variants >> variant & 1U) != 0;
}

/// Octets of a template and of its longest data record.
class SetOctets {
public:
    void add(Encoding encoding, std::size_t text_octets, bool of_enterprise) {
        constexpr std::size_t kField = 4;  // RFC 7011 §3.2
        template_ += of_enterprise ? 2 * kField : kField;
        record_ += has_length(encoding) ? 1 + text_octets : octets_of(encoding);
    }
    /// Of the message that holds either of them.
    [[nodiscard]] std::size_t message() const noexcept {
        constexpr std::size_t kTemplateHeader = 4;  // RFC 7011 §3.4.1
        return IpfixMessage::kHeader + IpfixMessage::kSetHeader +
               std::max(kTemplateHeader + template_, record_);
    }

private:
    std::size_t template_ = 0;
    std::size_t record_ = 0;
};

SetOctets set_octets(const SentRecords& records, const RecordShape& shape, std::size_t variant) {
    SetOctets octets;
    for (const TemplateField& field :
         fields_of(shape, records.layout, records.timestamps, records.choice)) {
        octets.add(field.encoding, field.text_octets, field.of_enterprise);
    }
    for (const FieldElement& element : records.elements) {
        if (!is_sent(element, records) || !is_in(element, shape, variant)) {
            continue;
        }
        octets.add(element.encoding, element.text_octets, element.owner != ElementOwner::iana);
        if (shape.has_reverse && !element.in_key) {
            octets.add(element.encoding, element.text_octets, true);
        }
    }
    return octets;
}

}  // namespace

std::unique_ptr<const CompiledTable> compile_table(const Config& config,
                                                   TableDeclaration declaration, ParseMode parse,
                                                   std::uint16_t trim_length) {
    declaration.name = "table";
    return std::make_unique<const CompiledTable>(
        declaration, config.fields,
        TableUse{.parse = parse_options(config.flows, parse, trim_length)});
}

std::unique_ptr<const CompiledTable> compile_if_good(const Config& config,
                                                     const TableDeclaration& declaration) {
    const bool is_judged =
        config.tables.size() <= kMostTables && config.fields.size() <= kMostOwnFields;
    if (!is_judged || fault_of(config.fields)) {
        return nullptr;
    }
    try {
        return compile_table(config, declaration, ParseMode::full, 0);
    } catch (const TableError&) {
        return nullptr;
    }
}

bool takes_table(const CollectorOptions& collector, std::string_view name) {
    return std::ranges::find(collector.tables, name) != collector.tables.end();
}

std::vector<TableDeclaration> declared_tables_of(const Config& config,
                                                 const CollectorOptions& collector) {
    std::vector<TableDeclaration> tables;
    std::ranges::copy_if(
        config.tables, std::back_inserter(tables),
        [&collector](const TableDeclaration& table) { return takes_table(collector, table.name); });
    return tables;
}

bool takes_biflows(const Config& config, const CollectorOptions& collector) {
    const bool are_of_main =
        takes_table(collector, kMainTable) && config.flows.direction == FlowDirection::biflow;
    return are_of_main || std::ranges::any_of(declared_tables_of(config, collector),
                                              [](const TableDeclaration& table) {
                                                  return table.direction == FlowDirection::biflow;
                                              });
}

std::vector<std::string> own_elements(const CompiledTable& table, bool in_key) {
    std::vector<std::string> names;
    if (table.group() == nullptr) {
        return names;
    }
    for (const FieldElement& element : table.group()->elements) {
        if (element.owner == ElementOwner::tributary && element.in_key == in_key) {
            names.emplace_back(element.name);
        }
    }
    return names;
}

bool has_element(const Config& config, const CollectorOptions& collector,
                 const CompiledTable& table, std::string_view name) {
    const SentRecords records = sent_records(config, collector, table);
    const auto in_group = [&](const FieldElement& element) {
        return is_sent(element, records) &&
               (name == element.name || name == name_of_both(element.name));
    };
    return std::ranges::any_of(records.elements, in_group) ||
           std::ranges::any_of(
               fields_named(name, records.layout, records.timestamps, records.choice),
               [](const auto& field) { return field.has_value(); });
}

std::size_t least_message(const Config& config, const CollectorOptions& collector,
                          const CompiledTable& table) {
    const SentRecords records = sent_records(config, collector, table);
    const RecordShapes shapes(records.layout);
    std::size_t most = 0;
    for (std::size_t index = 0; index < shapes.count(); ++index) {
        for (std::size_t variant = 0; variant < records.variants; ++variant) {
            most = std::max(most, set_octets(records, shapes.at(index), variant).message());
        }
    }
    return most;
}

}  // namespace tributary
