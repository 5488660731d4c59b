// SPDX-License-Identifier: Apache-2.0
#include "export/announcer.hpp"

namespace tributary {

Announcer::Announcer(const ExportOptions& options, TransportKind transport,
                     const MeteringProcess& metering, std::size_t message_limit,
                     const IpfixEncoder& flows)
    : refreshes_templates_(transport == TransportKind::udp),
      template_refresh_(options.template_refresh),
      template_refresh_packets_(options.template_refresh_packets),
      options_interval_(options.options_interval),
      flows_(flows),
      options_(options, metering, message_limit) {}

void Announcer::restart() noexcept {
    next_template_ = 0;
    options_due_ = true;
}

void Announcer::refresh_if_due(std::chrono::nanoseconds now) noexcept {
    if (refresh_is_due(now)) {
        next_template_ = 0;
    }
}

bool Announcer::refresh_is_due(std::chrono::nanoseconds now) const noexcept {
    const bool by_packets =
        template_refresh_packets_ != 0 && data_since_templates_ >= template_refresh_packets_;
    return refreshes_templates_ && (by_packets || now - templates_at_ >= template_refresh_);
}

std::optional<Announcer::Announcement> Announcer::next_template(
    std::chrono::nanoseconds now) noexcept {
    // Those of flow records come last, because they may become more.
    const std::size_t of_options = has_options() ? options_.template_messages().size() : 0;
    const std::size_t of_types = has_options() ? options_.type_messages().size() : 0;
    if (next_template_ >= of_options + of_types + flows_.template_messages()) {
        return std::nullopt;
    }
    if (next_template_ == 0) {
        templates_at_ = now;  // a template that comes late puts off no refresh
        data_since_templates_ = 0;
    }
    const std::size_t index = next_template_++;
    if (index < of_options) {
        return Announcement{.octets = options_.template_messages()[index]};
    }
    if (index < of_options + of_types) {
        const OptionsEncoder::Message& types = options_.type_messages()[index - of_options];
        return Announcement{.octets = types.octets, .records = types.records};
    }
    return Announcement{.octets = flows_.template_message(index - of_options - of_types)};
}

bool Announcer::options_are_due(std::chrono::nanoseconds now) const noexcept {
    return has_options() && (options_due_ || now - options_at_ >= options_interval_);
}

OptionsEncoder::Messages Announcer::make_options(const OptionsNumbers& numbers,
                                                 std::chrono::nanoseconds now) {
    options_due_ = false;
    options_at_ = now;
    return options_.encode(numbers, flows_.announced_keys());
}

}  // namespace tributary
