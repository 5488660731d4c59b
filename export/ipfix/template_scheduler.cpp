// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/template_scheduler.hpp"

#include <algorithm>
#include <span>

namespace tributary {
namespace {

/// Whether options records can name the templates of flow records. The main table's alone need no
/// name. A name is an element of an enterprise, and goes with the types of these.
bool names_templates(const ExportOptions& options, const std::vector<const IpfixEncoder*>& flows) {
    const auto is_named = [](const IpfixEncoder* each) {
        return !each->table().empty() && each->table() != kMainTable;
    };
    return options.options_interval.count() > 0 && options.options.types &&
           options.enterprise_elements && std::ranges::any_of(flows, is_named);
}

}  // namespace

TemplateScheduler::Flows::Flows(const IpfixEncoder& encoder,
                                std::span<const MessageFormat::Message> types,
                                OptionsEncoder& names)
    : encoder_(&encoder),
      types_(types),
      at_once_(encoder.template_messages()),
      keys_at_once_(encoder.announced_keys().size()) {
    if (!names.name_messages().empty() && !encoder.table().empty()) {
        const std::span<const TemplateKeys> keys = encoder.announced_keys();
        names_ = names.names_of(keys, encoder.table());
        later_name_ = names.names_of(keys.first(1), encoder.table()).front().octets;
    }
}

MessageFormat::Ahead TemplateScheduler::Flows::next() const noexcept {
    if (next_ < types_.size()) {
        return {.octets = types_[next_].octets, .records = types_[next_].records};
    }
    return {.octets = encoder_->template_message(next_ - types_.size())};
}

bool TemplateScheduler::Flows::has_next_name() const noexcept {
    const std::size_t templates = next_ - std::min(next_, types_.size());  // that were sent
    if (names_.empty() || templates < at_once_) {
        return false;
    }
    return next_name_ < names_.size() + (templates - at_once_);
}

MessageFormat::Ahead TemplateScheduler::Flows::next_name() noexcept {
    if (next_name_ < names_.size()) {
        return {.octets = names_[next_name_].octets, .records = names_[next_name_].records};
    }
    constexpr unsigned kOctet = 8;
    const std::size_t index = keys_at_once_ + (next_name_ - names_.size());
    const std::uint16_t id = encoder_->announced_keys()[index].template_id;
    later_name_[OptionsEncoder::kNamedTemplateAt] = static_cast<std::byte>(id >> kOctet);
    later_name_[OptionsEncoder::kNamedTemplateAt + 1] = static_cast<std::byte>(id);
    return {.octets = later_name_, .records = 1};
}

TemplateScheduler::TemplateScheduler(const ExportOptions& options, TransportKind transport,
                                     const MeteringProcess& metering, std::size_t message_limit,
                                     const TableEncoders& tables)
    : refreshes_templates_(transport == TransportKind::udp),
      template_refresh_(options.template_refresh),
      template_refresh_packets_(options.template_refresh_packets),
      options_interval_(options.options_interval),
      taken_(tables.taken),
      sent_(tables.taken),
      options_(options, metering, message_limit, names_templates(options, tables.by_table)) {
    for (std::size_t table = 0; table < tables.by_table.size(); ++table) {
        const std::span<const MessageFormat::Message> types = options_.type_messages(table);
        flows_.emplace_back(*tables.by_table[table], has_options() ? types : types.first(0),
                            options_);
    }
}

void TemplateScheduler::restart() noexcept {
    begin_round();
    options_due_ = true;
}

void TemplateScheduler::begin_round() noexcept {
    next_fixed_ = 0;
    next_of_names_ = 0;
    sent_ = taken_;
    for (Flows& each : flows_) {
        each.restart();
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
        if (sent_.has(table) && flows_[table].has_next()) {
            return &flows_[table];
        }
    }
    return nullptr;
}

/// Whether templates are named: those of another table than the main one are among them.
bool TemplateScheduler::are_named() const noexcept {
    if (options_.name_messages().empty()) {
        return false;
    }
    for (std::size_t table = 1; table < flows_.size(); ++table) {
        if (sent_.has(table)) {
            return true;
        }
    }
    return false;
}

/// nullptr: all templates that were sent have their names.
TemplateScheduler::Flows* TemplateScheduler::next_named() noexcept {
    for (std::size_t table = 0; table < flows_.size(); ++table) {
        if (sent_.has(table) && flows_[table].has_next_name()) {
            return &flows_[table];
        }
    }
    return nullptr;
}

bool TemplateScheduler::refresh_is_due(std::chrono::nanoseconds now) const noexcept {
    const bool by_packets =
        template_refresh_packets_ != 0 && data_since_templates_ >= template_refresh_packets_;
    return refreshes_templates_ && (by_packets || now - templates_at_ >= template_refresh_);
}

/// Options templates, types and templates of flow records, and then names. What is sent is counted
/// by *last_counter_.
std::optional<MessageFormat::Ahead> TemplateScheduler::next_message() noexcept {
    if (next_fixed_ < fixed_end()) {
        last_counter_ = &next_fixed_;
        return MessageFormat::Ahead{.octets = options_.template_messages()[next_fixed_]};
    }
    if (Flows* const flows = next_flows(); flows != nullptr) {
        last_counter_ = &flows->counter();
        return flows->next();
    }
    if (!are_named()) {
        return std::nullopt;
    }
    if (const auto& ahead = options_.name_messages(); next_of_names_ < ahead.size()) {
        last_counter_ = &next_of_names_;
        const MessageFormat::Message& message = ahead[next_of_names_];
        return MessageFormat::Ahead{.octets = message.octets, .records = message.records};
    }
    if (Flows* const flows = next_named(); flows != nullptr) {
        last_counter_ = &flows->name_counter();
        return flows->next_name();
    }
    return std::nullopt;
}

std::optional<MessageFormat::Ahead> TemplateScheduler::next_template(
    std::chrono::nanoseconds now) noexcept {
    const std::optional<MessageFormat::Ahead> next = next_message();
    if (!next) {
        return next;
    }
    ++*last_counter_;
    const bool is_through = next_fixed_ == fixed_end() && next_flows() == nullptr &&
                            (!are_named() || next_named() == nullptr);
    if (is_in_round_ && is_through) {
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
        return options_.encode(numbers, flows_.front().encoder().announced_keys());
    }
    std::vector<TemplateKeys> keys;
    for (std::size_t table = 0; table < flows_.size(); ++table) {
        if (sent_.has(table)) {
            const std::span announced = flows_[table].encoder().announced_keys();
            keys.insert(keys.end(), announced.begin(), announced.end());
        }
    }
    return options_.encode(numbers, keys);
}

}  // namespace tributary
