// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "export/ipfix/ipfix_encoder.hpp"
#include "export/ipfix/options_encoder.hpp"
#include "export/message_format.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"
#include "export/taken_tables.hpp"

namespace tributary {

/// What one collector must receive beside flow records, and when: of each table that it takes the
/// types of elements before the templates that have them, and templates before everything that
/// needs them, by UDP again and again; options records at the beginning of a session, after each
/// interval, and on request.
///
/// Where it takes another table than the main one, the name of its table follows each template of
/// flow records, before the first record of that template.
/// @thread  the export thread; `now` is uptime
class TemplateScheduler {
public:
    /// The encoders that have the templates of flow records.
    struct TableEncoders {
        /// Outlive the scheduler, or the change that removes them; nullptr: the place is free.
        std::vector<const IpfixEncoder*> by_table;
        TakenTables taken;  ///< by the collector
    };
    /// @param options   of this collector
    /// @errors  ExportError
    TemplateScheduler(const ExportOptions& options, TransportKind transport,
                      const MeteringProcess& metering, std::size_t message_limit,
                      const TableEncoders& tables);

    class Flows;
    /// Other tables, prepared.
    struct Tables {
        std::vector<std::unique_ptr<Flows>> flows;  ///< by table; nullptr: it stays, or is free
        std::vector<MessageFormat::Message> withdrawals;  ///< of templates of tables that go
        TableChoice choice;
    };
    /// Makes what is sent for other tables.
    ///
    /// @param encoders  by table; of those that stay nothing is read
    /// @errors  ExportError; std::bad_alloc
    [[nodiscard]] Tables prepare(const MeteringProcess& metering,
                                 std::span<const IpfixEncoder* const> encoders,
                                 const TableChoice& choice);
    /// From now on the collector takes these tables. The templates of others are not sent again,
    /// and those of tables that go are withdrawn, but by UDP.
    ///
    /// @source  RFC 7011 §8.1, §8.4
    void take(Tables&& prepared) noexcept;
    /// A message with records of this table leaves next: its templates go ahead of it, whether or
    /// not the collector still takes the table.
    void prepare_for(std::size_t table) noexcept { sent_.add(table); }

    /// The collector has no template any more.
    void restart() noexcept;
    /// Templates are sent once more from the first on, if a refresh is due since all of them were
    /// sent: however slow the collector's pace is, data goes between two rounds.
    void refresh_if_due(std::chrono::nanoseconds now) noexcept;
    /// The next message of templates or types; nothing when all are sent.
    [[nodiscard]] std::optional<MessageFormat::Ahead> next_template(
        std::chrono::nanoseconds now) noexcept;
    /// The last message of next_template() could not be sent: it is the next one again.
    void take_back_template() noexcept { --*last_counter_; }
    /// Whether templates of tables that go are withdrawn; else their ids are not used again soon.
    [[nodiscard]] bool withdraws_templates() const noexcept { return !refreshes_templates_; }
    /// Another message of flow records leaves.
    void count_data() noexcept { ++data_since_templates_; }

    void want_options() noexcept { options_due_ = true; }
    [[nodiscard]] bool options_are_due(std::chrono::nanoseconds now) const noexcept;
    [[nodiscard]] MessageFormat::Report make_options(const ExportNumbers& numbers,
                                                     std::chrono::nanoseconds now);

    /// Types and templates of one table's records, and the names of these templates. The templates
    /// may become more: one that is announced later is in a message of its own, and so is its name.
    class Flows {
    public:
        /// @param encoder  has encoded nothing yet; outlives it
        /// @param types    of its elements; they go ahead of the templates
        /// @param names    makes the names, if it makes any
        Flows(const IpfixEncoder& encoder, std::vector<MessageFormat::Message> types,
              OptionsEncoder& names);

        [[nodiscard]] const IpfixEncoder& encoder() const noexcept { return *encoder_; }
        void restart() noexcept { next_ = next_name_ = 0; }
        /// Whether types or templates are not sent yet.
        [[nodiscard]] bool has_next() const noexcept {
            return next_ < types_.size() + encoder_->template_messages();
        }
        /// The next one of these. There is one.
        [[nodiscard]] MessageFormat::Ahead next() const noexcept;
        /// Messages of templates that were sent since restart().
        [[nodiscard]] std::size_t sent_templates() const noexcept {
            return next_ - std::min(next_, types_.size());
        }
        /// Whether templates were sent whose names are not.
        [[nodiscard]] bool has_next_name() const noexcept;
        /// The next one of these. There is one.
        [[nodiscard]] MessageFormat::Ahead next_name() noexcept;

        [[nodiscard]] std::size_t& counter() noexcept { return next_; }
        [[nodiscard]] std::size_t& name_counter() noexcept { return next_name_; }

    private:
        const IpfixEncoder* encoder_;
        std::vector<MessageFormat::Message> types_;
        std::size_t at_once_;       ///< messages of the templates that are announced at once
        std::size_t keys_at_once_;  ///< these templates
        std::vector<MessageFormat::Message> names_;  ///< of these; none: templates have no names
        /// The name of one template, whose id is written when it is sent.
        std::vector<std::byte> later_name_;
        std::size_t next_{};       ///< messages before this one are sent
        std::size_t next_name_{};  ///< likewise
    };

private:
    [[nodiscard]] std::unique_ptr<Flows> make_flows(const IpfixEncoder& encoder,
                                                    const RecordLayout& layout, bool is_declared);
    void add_withdrawal(const Flows& flows, std::vector<MessageFormat::Message>& to) const;
    [[nodiscard]] bool has_options() const noexcept { return options_interval_.count() > 0; }
    [[nodiscard]] std::size_t fixed_end() const noexcept;
    [[nodiscard]] Flows* next_flows() noexcept;
    [[nodiscard]] bool are_named() const noexcept;
    [[nodiscard]] Flows* next_named() noexcept;
    [[nodiscard]] std::optional<MessageFormat::Ahead> next_message() noexcept;
    void begin_round() noexcept;
    [[nodiscard]] bool refresh_is_due(std::chrono::nanoseconds now) const noexcept;

    bool refreshes_templates_;  ///< UDP
    std::chrono::nanoseconds template_refresh_;
    std::uint32_t template_refresh_packets_;
    std::chrono::nanoseconds options_interval_;  ///< 0: there are none
    TakenTables taken_;
    TakenTables sent_;  ///< types and templates of these are sent in this round
    OptionsEncoder options_;
    std::vector<std::unique_ptr<Flows>> flows_;  ///< by table; nullptr: the place is free
    std::uint32_t observation_domain_;
    std::vector<MessageFormat::Message> withdrawals_;  ///< go ahead of all others
    std::size_t next_withdrawal_{};                    ///< those before it are sent

    std::size_t next_fixed_{};                  ///< of options templates; likewise
    std::size_t next_of_names_{};               ///< of what goes ahead of names; likewise
    std::size_t* last_counter_ = &next_fixed_;  ///< counts the last message of next_template()
    bool is_in_round_ = true;                   ///< not all were sent since the first one
    std::chrono::nanoseconds templates_at_{};   ///< end of the last round
    std::uint32_t data_since_templates_{};      ///< messages that left since then
    bool options_due_ = true;                   ///< at once, whatever the interval is
    std::chrono::nanoseconds options_at_{};     ///< when they were last made
};

}  // namespace tributary
