// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/template_scheduler.hpp"

#include <span>
#include <utility>

#include "export/ipfix_message.hpp"

namespace tributary {
namespace {

/// Whether options records can name the templates of flow records. A name is an element of an
/// enterprise, and goes with the types of these.
bool names_templates(const ExportOptions& options) {
    return options.options_interval.count() > 0 && options.options.types &&
           options.enterprise_elements;
}

std::uint16_t read_be16(MessageView octets, std::size_t at) noexcept {
    constexpr unsigned kOctet = 8;
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(octets[at]) << kOctet |
                                      std::to_integer<unsigned>(octets[at + 1]));
}

void put_be16(std::size_t value, std::vector<std::byte>& to) {
    constexpr unsigned kOctet = 8;
    to.push_back(static_cast<std::byte>(value >> kOctet));
    to.push_back(static_cast<std::byte>(value));
}

/// Octets of a template record at the beginning of `rest`.
///
/// @source  RFC 7011 §3.4.1, §3.2: an element of an enterprise has its number behind it
std::size_t octets_of_template(MessageView rest) noexcept {
    constexpr std::size_t kHeader = 4;
    std::size_t at = kHeader;
    for (std::size_t fields = read_be16(rest, 2); fields > 0; --fields) {
        at += (read_be16(rest, at) & IpfixMessage::kEnterpriseBit) != 0 ? 8U : 4U;
    }
    return at;
}

/// Adds the ids of the templates in a message of our own.
void add_template_ids(MessageView message, std::vector<std::uint16_t>& ids) {
    for (MessageView sets = message.subspan(IpfixMessage::kHeader); !sets.empty();) {
        const std::size_t length = read_be16(sets, 2);
        MessageView records =
            sets.subspan(IpfixMessage::kSetHeader, length - IpfixMessage::kSetHeader);
        while (!records.empty()) {
            ids.push_back(read_be16(records, 0));
            records = records.subspan(octets_of_template(records));
        }
        sets = sets.subspan(length);
    }
}

/// A message that withdraws templates, without number and time.
///
/// @source  RFC 7011 §3.1, §8.1
MessageFormat::Message withdrawal_of(std::span<const std::uint16_t> ids,
                                     std::uint32_t observation_domain) {
    constexpr std::uint16_t kVersion = 10;
    constexpr unsigned kHalf = 16;
    const std::size_t set = IpfixMessage::kSetHeader + 4 * ids.size();
    MessageFormat::Message message;
    put_be16(kVersion, message.octets);
    put_be16(IpfixMessage::kHeader + set, message.octets);
    for (int part = 0; part < 4; ++part) {  // the time and the number
        put_be16(0, message.octets);
    }
    put_be16(observation_domain >> kHalf, message.octets);
    put_be16(observation_domain, message.octets);
    put_be16(IpfixMessage::kTemplateSet, message.octets);
    put_be16(set, message.octets);
    for (const std::uint16_t id : ids) {
        put_be16(id, message.octets);
        put_be16(0, message.octets);
    }
    return message;
}

}  // namespace

TemplateScheduler::Flows::Flows(const IpfixEncoder& encoder,
                                std::vector<MessageFormat::Message> types, OptionsEncoder& names)
    : encoder_(&encoder),
      types_(std::move(types)),
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
    const std::size_t templates = sent_templates();
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
      options_(options, metering, message_limit, names_templates(options)),
      observation_domain_(options.observation_domain) {
    const std::vector<RecordLayout> layouts = metering.layouts();
    for (std::size_t table = 0; table < tables.by_table.size(); ++table) {
        const IpfixEncoder* const encoder = tables.by_table[table];
        flows_.push_back(encoder == nullptr ? nullptr
                                            : make_flows(*encoder, layouts[table],
                                                         metering.elements_of(table).is_declared));
    }
}

/// @errors  ExportError
std::unique_ptr<TemplateScheduler::Flows> TemplateScheduler::make_flows(const IpfixEncoder& encoder,
                                                                        const RecordLayout& layout,
                                                                        bool is_declared) {
    return std::make_unique<Flows>(encoder,
                                   has_options() ? options_.types_of(layout, is_declared)
                                                 : std::vector<MessageFormat::Message>(),
                                   options_);
}

TemplateScheduler::Tables TemplateScheduler::prepare(const MeteringProcess& metering,
                                                     std::span<const IpfixEncoder* const> encoders,
                                                     const TableChoice& choice) {
    const std::vector<RecordLayout> layouts = metering.layouts();
    Tables prepared{.flows = {}, .withdrawals = {}, .choice = choice};
    prepared.flows.resize(encoders.size());
    for (std::size_t table = 0; table < encoders.size(); ++table) {
        if (choice.staying.has(table)) {
            continue;
        }
        if (table < flows_.size() && flows_[table] != nullptr) {
            add_withdrawal(*flows_[table], prepared.withdrawals);
        }
        if (encoders[table] != nullptr) {
            prepared.flows[table] = make_flows(*encoders[table], layouts[table],
                                               metering.elements_of(table).is_declared);
        }
    }
    prepared.withdrawals.insert(
        prepared.withdrawals.begin(),
        withdrawals_.begin() + static_cast<std::ptrdiff_t>(next_withdrawal_), withdrawals_.end());
    return prepared;
}

/// Withdraws the templates that the session has.
void TemplateScheduler::add_withdrawal(const Flows& flows,
                                       std::vector<MessageFormat::Message>& to) const {
    std::vector<std::uint16_t> ids;
    for (std::size_t message = 0; message < flows.sent_templates(); ++message) {
        add_template_ids(flows.encoder().template_message(message), ids);
    }
    if (!ids.empty() && withdraws_templates()) {
        to.push_back(withdrawal_of(ids, observation_domain_));
    }
}

void TemplateScheduler::take(Tables&& prepared) noexcept {
    last_counter_ = &next_fixed_;
    for (std::size_t table = 0; table < prepared.flows.size(); ++table) {
        if (!prepared.choice.staying.has(table)) {
            sent_.remove(table);
        } else if (table < flows_.size()) {
            prepared.flows[table] = std::move(flows_[table]);
        }
    }
    flows_ = std::move(prepared.flows);
    withdrawals_ = std::move(prepared.withdrawals);
    next_withdrawal_ = 0;
    taken_ = prepared.choice.taken;
    sent_.add(taken_);
}

void TemplateScheduler::restart() noexcept {
    begin_round();
    options_due_ = true;
    withdrawals_.clear();
    next_withdrawal_ = 0;
}

void TemplateScheduler::begin_round() noexcept {
    next_fixed_ = 0;
    next_of_names_ = 0;
    sent_ = taken_;
    for (const std::unique_ptr<Flows>& each : flows_) {
        if (each != nullptr) {
            each->restart();
        }
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
        if (sent_.has(table) && flows_[table]->has_next()) {
            return flows_[table].get();
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
        if (sent_.has(table) && flows_[table]->has_next_name()) {
            return flows_[table].get();
        }
    }
    return nullptr;
}

bool TemplateScheduler::refresh_is_due(std::chrono::nanoseconds now) const noexcept {
    const bool by_packets =
        template_refresh_packets_ != 0 && data_since_templates_ >= template_refresh_packets_;
    return refreshes_templates_ && (by_packets || now - templates_at_ >= template_refresh_);
}

/// Withdrawals, options templates, types and templates of flow records, and then names. What is
/// sent is counted by *last_counter_.
std::optional<MessageFormat::Ahead> TemplateScheduler::next_message() noexcept {
    if (next_withdrawal_ < withdrawals_.size()) {
        last_counter_ = &next_withdrawal_;
        return MessageFormat::Ahead{.octets = withdrawals_[next_withdrawal_].octets};
    }
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
        return options_.encode(numbers, flows_.front()->encoder().announced_keys());
    }
    std::vector<TemplateKeys> keys;
    for (std::size_t table = 0; table < flows_.size(); ++table) {
        if (sent_.has(table)) {
            const std::span announced = flows_[table]->encoder().announced_keys();
            keys.insert(keys.end(), announced.begin(), announced.end());
        }
    }
    return options_.encode(numbers, keys);
}

}  // namespace tributary
