// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/template_scheduler.hpp"

#include <algorithm>
#include <span>

namespace tributary {

TemplateScheduler::TemplateScheduler(const ExportOptions& options, TransportKind transport,
                                     const MeteringProcess& metering, std::size_t message_limit,
                                     const std::vector<const IpfixEncoder*>& flows)
    : refreshes_templates_(transport == TransportKind::udp),
      template_refresh_(options.template_refresh),
      template_refresh_packets_(options.template_refresh_packets),
      options_interval_(options.options_interval),
      options_(options, metering, message_limit) {
    for (const IpfixEncoder* const each : flows) {
        flows_.push_back({.encoder = each});
    }
}

void TemplateScheduler::restart() noexcept {
    begin_round();
    options_due_ = true;
}

void TemplateScheduler::begin_round() noexcept {
    next_fixed_ = 0;
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

/// Where the types of elements begin among the announcements.
std::size_t TemplateScheduler::types_at() const noexcept {
    return has_options() ? options_.template_messages().size() : 0;
}

/// The number of options templates and types. The templates of flow records follow, because they
/// may become more.
std::size_t TemplateScheduler::fixed_end() const noexcept {
    return types_at() + (has_options() ? options_.type_messages().size() : 0);
}

/// nullptr: all templates of flow records are sent.
TemplateScheduler::Flows* TemplateScheduler::next_flows() noexcept {
    const auto next = std::ranges::find_if(
        flows_, [](const Flows& each) { return each.next < each.encoder->template_messages(); });
    return next == flows_.end() ? nullptr : &*next;
}

bool TemplateScheduler::refresh_is_due(std::chrono::nanoseconds now) const noexcept {
    const bool by_packets =
        template_refresh_packets_ != 0 && data_since_templates_ >= template_refresh_packets_;
    return refreshes_templates_ && (by_packets || now - templates_at_ >= template_refresh_);
}

std::optional<MessageFormat::Ahead> TemplateScheduler::next_template(
    std::chrono::nanoseconds now) noexcept {
    MessageFormat::Ahead next;
    if (next_fixed_ < types_at()) {
        last_counter_ = &next_fixed_;
        next.octets = options_.template_messages()[next_fixed_];
    } else if (next_fixed_ < fixed_end()) {
        last_counter_ = &next_fixed_;
        const MessageFormat::Message& types = options_.type_messages()[next_fixed_ - types_at()];
        next = {.octets = types.octets, .records = types.records};
    } else if (Flows* const flows = next_flows(); flows != nullptr) {
        last_counter_ = &flows->next;
        next.octets = flows->encoder->template_message(flows->next);
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
    for (const Flows& each : flows_) {
        const std::span<const TemplateKeys> announced = each.encoder->announced_keys();
        keys.insert(keys.end(), announced.begin(), announced.end());
    }
    return options_.encode(numbers, keys);
}

}  // namespace tributary
