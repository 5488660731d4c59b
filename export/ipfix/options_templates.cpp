// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/options_templates.hpp"

#include <utility>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/ipfix_template.hpp"

namespace tributary {
namespace {

constexpr WireField of(const char* element, std::uint16_t octets) {
    return {.element = element, .octets = octets};
}

WireTemplate options_template(OptionsKind kind, std::uint16_t scope_fields,
                              std::vector<WireField> fields) {
    return {.id = static_cast<std::uint16_t>(kind),
            .scope_fields = scope_fields,
            .fields = std::move(fields)};
}

WireTemplate metering_template(const OptionsShape& shape) {
    std::vector<WireField> fields{of("observationDomainId", 4), of("ignoredPacketTotalCount", 8),
                                  of("ignoredOctetTotalCount", 8)};
    if (shape.knows_drops) {
        fields.push_back(of("droppedPacketTotalCount", 8));
    }
    return options_template(shape.metering(), 1, std::move(fields));
}

/// The rate alone, or with the algorithm.
WireTemplate netflow_template(OptionsKind kind, bool has_selector) {
    std::vector<WireField> fields{of("observationDomainId", 4)};
    if (has_selector) {
        fields = {of("ingressInterface", 4), of("selectorId", 8)};
    }
    fields.push_back(of("samplingInterval", 4));
    if (kind == OptionsKind::netflow_sampling) {
        fields.push_back(of("samplingAlgorithm", 1));
    }
    return options_template(kind, 1, std::move(fields));
}

/// All but those of sampling.
std::vector<WireTemplate> chosen_templates(const OptionsShape& shape) {
    using enum OptionsKind;
    std::vector<WireTemplate> templates;
    if (shape.choice.reliability) {
        templates.push_back(
            options_template(exporting_reliability, 1,
                             {of("exportingProcessId", 4), of("notSentFlowTotalCount", 8),
                              of("notSentPacketTotalCount", 8), of("notSentOctetTotalCount", 8)}));
        templates.push_back(metering_template(shape));
    }
    if (shape.choice.statistics) {
        templates.push_back(options_template(
            statistics, 1,
            {of("observationDomainId", 4), of("exportedOctetTotalCount", 8),
             of("exportedMessageTotalCount", 8), of("exportedFlowRecordTotalCount", 8)}));
    }
    if (shape.choice.interfaces) {
        templates.push_back(
            options_template(interface, 1,
                             {of("ingressInterface", 4), of("interfaceName", kVariableLength),
                              of("interfaceDescription", kVariableLength)}));
    }
    if (shape.choice.flow_keys) {
        templates.push_back(
            options_template(flow_keys, 1, {of("templateId", 2), of("flowKeyIndicator", 8)}));
    }
    if (shape.choice.types) {
        templates.push_back(options_template(
            element_type, 2,
            {of("privateEnterpriseNumber", 4), of("informationElementId", 2),
             of("informationElementDataType", 1), of("informationElementSemantics", 1),
             of("informationElementUnits", 2), of("informationElementName", kVariableLength)}));
    }
    return templates;
}

}  // namespace

std::vector<WireTemplate> options_templates(const OptionsShape& shape) {
    using enum OptionsKind;
    std::vector<WireTemplate> templates = chosen_templates(shape);
    if (shape.has_psamp()) {
        templates.push_back(options_template(
            counted_sampling, 1,
            {of("selectorId", 8), of("ingressInterface", 4), of("selectorAlgorithm", 2),
             of("samplingPacketInterval", 4), of("samplingPacketSpace", 4)}));
        templates.push_back(
            options_template(random_sampling, 1,
                             {of("selectorId", 8), of("ingressInterface", 4),
                              of("selectorAlgorithm", 2), of("samplingProbability", 8)}));
    }
    if (shape.has_netflow()) {
        templates.push_back(netflow_template(netflow_rate, shape.has_selector));
        templates.push_back(netflow_template(netflow_sampling, shape.has_selector));
    }
    return templates;
}

WireTemplate name_template() {
    return options_template(
        OptionsKind::template_name, 1,
        {of("templateId", 2),
         {.element = kTemplateName, .octets = kVariableLength, .of_enterprise = true}});
}

}  // namespace tributary
