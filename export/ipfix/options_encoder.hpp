// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "export/export_error.hpp"
#include "export/ipfix/fixbuf_session.hpp"
#include "export/ipfix/ipfix_encoder.hpp"
#include "export/ipfix/options_templates.hpp"
#include "export/message_format.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"

namespace tributary {

/// Makes the messages of options records: losses and statistics of the processes, interfaces, their
/// sampling, and the keys of the templates. It also makes the types of tributary's own elements.
/// These are sent before the templates that have them. And it makes the names of templates, which
/// are sent behind these: the table whose records a template describes.
///
/// Sampling is reported in the chosen forms, also if there is none. `rfc5477` has one record for
/// each interface. `netflow` is what NetFlow 9 has and most collectors read, samplingInterval with
/// samplingAlgorithm: for all of the observation domain, or where interfaces differ for each
/// selector. samplingInterval stands in a record without the algorithm too, because nfcapd 1.7.1
/// reads no rate from one that has an algorithm. goflow2 takes the first of 305 and 34 that a
/// message has, and 305 for the rate: so the records with 34 go ahead of their sibling, in the same
/// message.
///
/// @source  RFC 7011 §4 (reliability, statistics, flow keys), RFC 5477 §8 (sampling), RFC 3954 §8
///          (elements 34, 35), RFC 5610 (types)
/// @thread  one
class OptionsEncoder {
public:
    using Message = MessageFormat::Message;
    using Messages = MessageFormat::Report;

    /// @param message_limit    octets that no message exceeds, at least 512
    /// @param names_templates  it makes names of templates
    /// @errors  ExportError
    OptionsEncoder(const ExportOptions& options, const MeteringProcess& metering,
                   std::size_t message_limit, bool names_templates = false);

    /// Without numbers and times.
    [[nodiscard]] const std::vector<std::vector<std::byte>>& template_messages() const noexcept {
        return template_messages_;
    }
    /// The types of the elements that the records of a table have, in messages of their own.
    ///
    /// @param is_declared  TableElements::is_declared
    /// @errors  ExportError
    [[nodiscard]] std::vector<Message> types_of(const RecordLayout& layout, bool is_declared);
    /// What goes ahead of names: the type of their element, and their template. Empty: it makes no
    /// names.
    [[nodiscard]] const std::vector<Message>& name_messages() const noexcept {
        return name_messages_;
    }
    /// The octets of a message of one name in which its template id stands, in two octets.
    static constexpr std::size_t kNamedTemplateAt = 20;
    /// Options records which say that these templates are those of a table. It makes names.
    ///
    /// @errors  ExportError
    [[nodiscard]] std::vector<Message> names_of(std::span<const TemplateKeys> templates,
                                                const std::string& table);
    /// The first message has the numbers, where they are chosen.
    /// @errors  std::bad_alloc: nothing is made
    [[nodiscard]] Messages encode(const ExportNumbers& numbers,
                                  std::span<const TemplateKeys> templates);

private:
    class Fields;
    struct Described;

    [[nodiscard]] Messages encode_all(const ExportNumbers& numbers,
                                      std::span<const TemplateKeys> templates);

    void append(Messages& out, Fields fields);
    void append_reliability(Messages& out, const ExportNumbers& numbers);
    void append_keys(Messages& out, std::span<const TemplateKeys> templates);
    void append_interface(Messages& out, const ObservedInterface& interface);
    void append_sampling(Messages& out);
    [[nodiscard]] Fields netflow_sampling(const ObservedInterface& interface,
                                          bool has_algorithm) const;
    [[nodiscard]] static Fields psamp_sampling(const ObservedInterface& interface);
    void append_together(Messages& out, std::span<const Fields> records);
    void make_name_messages();
    void append_type(Messages& out, const Described& element);
    void append_types(Messages& out, const RecordLayout& layout, bool is_declared);
    void close(Messages& out);

    std::uint32_t observation_domain_;
    std::uint32_t enterprise_number_;
    bool has_own_;   ///< tributary's own elements are described
    bool has_ntop_;  ///< so are ntop's
    bool has_cert_;  ///< and CERT's
    OptionsShape shape_;
    std::vector<ObservedInterface> interfaces_;
    FixbufSession session_;
    std::vector<std::vector<std::byte>> template_messages_;
    std::vector<Message> name_messages_;
};

/// Whether the sampling of some interfaces differs from that of others, so that a record needs a
/// selectorId.
[[nodiscard]] bool differ_in_sampling(const std::vector<ObservedInterface>& interfaces) noexcept;

}  // namespace tributary
