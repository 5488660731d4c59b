// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/template_scheduler.hpp"

#include <algorithm>
#include <span>

namespace tributary {

TemplateScheduler::TemplateScheduler(const ExportOptions& options, TransportKind transport,
                                     const MeteringProcess& metering, std::size_t message_limit,
                                     const std::vector<const IpfixEncoder*>& flows,
                                     const TakenTables& taken)
    : refreshes_templates_(transport == TransportKind::udp),
      template_refresh_(options.template_refresh),
      template_refresh_packets_(options.template_refresh_packets),
      options_interval_(options.options_interval),
      taken_(taken),
      sent_(taken),
      options_(options, metering, message_limit) {
    for (std::size_t table = 0; table < flows.size(); ++table) {
        flows_.push_back({.encoder = flows[table],
                          .types = has_options() ? options_.type_messages(table).size() : 0});
    }
}

void TemplateScheduler::restart() noexcept {
    begin_round();
    options_due_ = true;
}

void TemplateScheduler::begin_round() noexcept {
    next_fixed_ = 0;
    sent_ = taken_;
    for (Flows& each : flows_) {
        each.next = 0;
    }
    is_in_round_ = true;
}

void TemplateScheduler::refresh_if_due(std::chrono::nanoseconds now) noexcept {
    if (!is_in_round_ && refresh_is_due(now)) {
        begin_round();
    }
}

/// The number of messages of options templates. Types and templates of flow records follow, which
/// may become more.
std::size_t TemplateScheduler::fixed_end() const noexcept {
    return has_options() ? options_.template_messages().size() : 0;
}

/// nullptr: all types and templates of flow records are sent.
TemplateScheduler::Flows* TemplateScheduler::next_flows() noexcept {
    for (std::size_t table = 0; table < flows_.size(); ++table) {
        Flows& each = flows_[table];
        if (sent_.has(table) && each.next < each.types + each.encoder->template_messages()) {
            return &each;
        }
    }
    return nullptr;
}

bool TemplateScheduler::refresh_is_due(std::chrono::nanoseconds now) const noexcept {
    const bool by_packets =
        template_refresh_packets_ != 0 && data_since_templates_ >= template_refresh_packets_;
    return refreshes_templates_ && (by_packets || now - templates_at_ >= template_refresh_);
}

/// The next message of a table's types and templates, of which there is one.
MessageFormat::Ahead TemplateScheduler::message_of(const Flows& flows) const noexcept {
    if (flows.next < flows.types) {
        const auto table = static_cast<std::size_t>(&flows - flows_.data());
        const MessageFormat::Message& types = options_.type_messages(table)[flows.next];
        return {.octets = types.octets, .records = types.records};
    }
    return {.octets = flows.encoder->template_message(flows.next - flows.types)};
}

std::optional<MessageFormat::Ahead> TemplateScheduler::next_template(
    std::chrono::nanoseconds now) noexcept {
    MessageFormat::Ahead next;
    if (next_fixed_ < fixed_end()) {
        last_counter_ = &next_fixed_;
        next.octets = options_.template_messages()[next_fixed_];
    } else if (Flows* const flows = next_flows(); flows != nullptr) {
        last_counter_ = &flows->next;
        next = message_of(*flows);
    } else {
        return std::nullopt;
    }
    ++*last_counter_;
    if (is_in_round_ && next_fixed_ == fixed_end() && next_flows() == nullptr) {
        is_in_round_ = false;  // a later template does not delay the refresh
        templates_at_ = now;
        data_since_templates_ = 0;
    }
    return next;
}

bool TemplateScheduler::options_are_due(std::chrono::nanoseconds now) const noexcept {
    return has_options() && (options_due_ || now - options_at_ >= options_interval_);
}

MessageFormat::Report TemplateScheduler::make_options(const ExportNumbers& numbers,
                                                      std::chrono::nanoseconds now) {
    options_due_ = false;
    options_at_ = now;
    if (flows_.size() == 1) {
        return options_.encode(numbers, flows_.front().encoder->announced_keys());
    }
    std::vector<TemplateKeys> keys;
    for (std::size_t table = 0; table < flows_.size(); ++table) {
        if (sent_.has(table)) {
            const std::span announced = flows_[table].encoder->announced_keys();
            keys.insert(keys.end(), announced.begin(), announced.end());
        }
    }
    return options_.encode(numbers, keys);
}

}  // namespace tributary
