// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/encoder_options.hpp"

#include <algorithm>

#include "export/ipfix/biflow_splitter.hpp"
#include "export/ipfix/options_encoder.hpp"

namespace tributary {
namespace {

SamplingForm form_for(SamplingForm wanted, const MeteringProcess& metering) {
    if (wanted != SamplingForm::netflow_where_sampled) {
        return wanted;
    }
    const bool is_sampled = std::ranges::any_of(
        metering.interfaces,
        [](const ObservedInterface& interface) { return interface.sampling.one_in > 1; });
    return is_sampled ? SamplingForm::netflow : SamplingForm::none;
}

}  // namespace

ExportOptions encoder_options(const ExportOptions& options, const CollectorOptions& collector,
                              const MeteringProcess& metering) {
    ExportOptions own = options;
    own.sampling = form_for(collector.sampling, metering);
    own.selector = own.sampling != SamplingForm::none && differ_in_sampling(metering.interfaces);
    own.options = collector.options;
    own.tcp_control_bits = collector.tcp_control_bits;
    own.enterprise_elements = collector.enterprise_elements;
    own.cert_elements = collector.cert_elements;
    own.observation_domain = collector.observation_domain.value_or(options.observation_domain);
    own.timestamps = collector.timestamps.value_or(options.timestamps);
    return own;
}

bool is_split_for(const CollectorOptions& collector, const RecordLayout& layout) noexcept {
    return collector.direction == FlowDirection::uniflow && layout.reverse_at != 0;
}

MeteringProcess metering_as_sent(MeteringProcess metering, const CollectorOptions& collector) {
    const auto as_sent = [&collector](const RecordLayout& layout) {
        return is_split_for(collector, layout) ? BiflowSplitter(layout).layout() : layout;
    };
    metering.layout = as_sent(metering.layout);
    for (FurtherTable& table : metering.further) {
        table.layout = as_sent(table.layout);
    }
    return metering;
}

ElementChoice element_choice(const ExportOptions& options, const TableElements& table) {
    return {.partial = options.partial,
            .ntop = options.ntop_elements,
            .selector = options.selector,
            .tcp_control_bits = options.tcp_control_bits,
            .enterprise = options.enterprise_elements,
            .cert = options.cert_elements,
            .table = table};
}

}  // namespace tributary
