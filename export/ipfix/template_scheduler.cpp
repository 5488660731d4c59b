// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/template_scheduler.hpp"

namespace tributary {

TemplateScheduler::TemplateScheduler(const ExportOptions& options, TransportKind transport,
                                     const MeteringProcess& metering, std::size_t message_limit,
                                     const IpfixEncoder& flows)
    : refreshes_templates_(transport == TransportKind::udp),
      template_refresh_(options.template_refresh),
      template_refresh_packets_(options.template_refresh_packets),
      options_interval_(options.options_interval),
      flows_(flows),
      options_(options, metering, message_limit) {}

void TemplateScheduler::restart() noexcept {
    next_template_ = 0;
    is_in_round_ = true;
    options_due_ = true;
}

void TemplateScheduler::refresh_if_due(std::chrono::nanoseconds now) noexcept {
    if (!is_in_round_ && refresh_is_due(now)) {
        next_template_ = 0;
        is_in_round_ = true;
    }
}

/// Where the types of elements begin among the announcements.
std::size_t TemplateScheduler::types_at() const noexcept {
    return has_options() ? options_.template_messages().size() : 0;
}

/// Where the templates of flow records begin: the last ones, because they may become more.
std::size_t TemplateScheduler::flows_at() const noexcept {
    return types_at() + (has_options() ? options_.type_messages().size() : 0);
}

bool TemplateScheduler::is_all_sent() const noexcept {
    return next_template_ >= flows_at() + flows_.template_messages();
}

bool TemplateScheduler::refresh_is_due(std::chrono::nanoseconds now) const noexcept {
    const bool by_packets =
        template_refresh_packets_ != 0 && data_since_templates_ >= template_refresh_packets_;
    return refreshes_templates_ && (by_packets || now - templates_at_ >= template_refresh_);
}

std::optional<TemplateScheduler::TemplateMessage> TemplateScheduler::next_template(
    std::chrono::nanoseconds now) noexcept {
    if (is_all_sent()) {
        return std::nullopt;
    }
    const std::size_t index = next_template_++;
    if (is_in_round_ && is_all_sent()) {  // a later one does not delay the refresh
        is_in_round_ = false;
        templates_at_ = now;
        data_since_templates_ = 0;
    }
    if (index < types_at()) {
        return TemplateMessage{.octets = options_.template_messages()[index]};
    }
    if (index < flows_at()) {
        const OptionsEncoder::Message& types = options_.type_messages()[index - types_at()];
        return TemplateMessage{.octets = types.octets, .records = types.records};
    }
    return TemplateMessage{.octets = flows_.template_message(index - flows_at())};
}

bool TemplateScheduler::options_are_due(std::chrono::nanoseconds now) const noexcept {
    return has_options() && (options_due_ || now - options_at_ >= options_interval_);
}

OptionsEncoder::Messages TemplateScheduler::make_options(const OptionsNumbers& numbers,
                                                         std::chrono::nanoseconds now) {
    options_due_ = false;
    options_at_ = now;
    return options_.encode(numbers, flows_.announced_keys());
}

}  // namespace tributary
