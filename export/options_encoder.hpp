// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "export/export_error.hpp"
#include "export/fixbuf_session.hpp"
#include "export/ipfix_encoder.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"

namespace tributary {

/// What one collector's options records say at one moment, beside what never changes.
struct OptionsNumbers {
    MeteringTotals metering;
    RecordTally not_sent;  ///< records that this collector will never get, metering.lost included
    std::uint64_t exported_octets{};    ///< of the messages below
    std::uint64_t exported_messages{};  ///< handed to its transport before this one
    std::uint64_t exported_records{};   ///< flow records that it has or that are under way to it
};

/// Makes the messages of options records: what the processes lost, what they did, interfaces, their
/// sampling, the keys of the templates, and the types of tributary's own elements.
///
/// @source  RFC 7011 §4 (reliability, statistics, flow keys), RFC 5477 §8 (sampling), RFC 5610
///          (types)
/// @thread  one
class OptionsEncoder {
public:
    /// A closed message without number and time.
    struct Message {
        std::vector<std::byte> octets;
        std::uint32_t records{};
    };
    struct Messages {
        std::vector<Message> messages;
        bool complete = true;  ///< libfixbuf refused no record
    };

    /// @param message_limit  octets that no message exceeds, at least 512
    /// @errors  ExportError
    OptionsEncoder(const ExportOptions& options, const MeteringProcess& metering,
                   std::size_t message_limit);

    /// Without numbers and times.
    [[nodiscard]] const std::vector<std::vector<std::byte>>& template_messages() const noexcept {
        return template_messages_;
    }
    /// The first message has the numbers.
    /// @errors  std::bad_alloc: nothing is made
    [[nodiscard]] Messages encode(const OptionsNumbers& numbers,
                                  std::span<const TemplateKeys> templates);

private:
    class Fields;

    [[nodiscard]] Messages encode_all(const OptionsNumbers& numbers,
                                      std::span<const TemplateKeys> templates);

    void append(Messages& out, Fields fields);
    void append_numbers(Messages& out, const OptionsNumbers& numbers);
    void append_interface(Messages& out, const ObservedInterface& interface);
    void append_types(Messages& out);
    void close(Messages& out);

    std::uint32_t observation_domain_;
    std::uint32_t enterprise_number_;
    bool tunnel_in_key_;
    bool knows_drops_;
    FieldGroups groups_;  ///< whose elements are described, where they are tributary's own
    bool has_reverse_;    ///< so are the reverse ones
    bool has_ntop_;       ///< so are ntop's
    std::vector<ObservedInterface> interfaces_;
    FixbufSession session_;
    std::vector<std::vector<std::byte>> template_messages_;
};

}  // namespace tributary
