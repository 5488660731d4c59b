// SPDX-License-Identifier: Apache-2.0
#include "export/options_encoder.hpp"

#include <array>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "export/enterprise_elements.hpp"
#include "export/ipfix_template.hpp"
#include "export/reverse_elements.hpp"

namespace tributary {
namespace {

/// Template ids, far above those of flow records (RecordTemplate::id).
enum class OptionsKind : std::uint16_t {
    exporting_reliability = 0xFF00,
    metering_reliability,
    statistics,
    interface,
    counted_sampling,
    random_sampling,
    flow_keys,
    element_type,
    metering_without_drops,
};

constexpr WireField of(const char* element, std::uint16_t octets) {
    return {.element = element, .octets = octets};
}

WireTemplate options_template(OptionsKind kind, std::uint16_t scope_fields,
                              std::vector<WireField> fields) {
    return {.id = static_cast<std::uint16_t>(kind),
            .scope_fields = scope_fields,
            .fields = std::move(fields)};
}

/// What the metering process has lost. IPFIX has no value for "unknown", so where it is unknown
/// what NICs have dropped, the element is left out: by a template with an id of its own, because a
/// spool may hold records of a former process that knew it.
OptionsKind metering_kind(bool knows_drops) {
    return knows_drops ? OptionsKind::metering_reliability : OptionsKind::metering_without_drops;
}

WireTemplate metering_template(bool knows_drops) {
    std::vector<WireField> fields{of("observationDomainId", 4), of("ignoredPacketTotalCount", 8),
                                  of("ignoredOctetTotalCount", 8)};
    if (knows_drops) {
        fields.push_back(of("droppedPacketTotalCount", 8));
    }
    return options_template(metering_kind(knows_drops), 1, std::move(fields));
}

std::vector<WireTemplate> options_templates(bool knows_drops) {
    using enum OptionsKind;
    return {
        options_template(exporting_reliability, 1,
                         {of("exportingProcessId", 4), of("notSentFlowTotalCount", 8),
                          of("notSentPacketTotalCount", 8), of("notSentOctetTotalCount", 8)}),
        metering_template(knows_drops),
        options_template(
            statistics, 1,
            {of("observationDomainId", 4), of("exportedOctetTotalCount", 8),
             of("exportedMessageTotalCount", 8), of("exportedFlowRecordTotalCount", 8)}),
        options_template(interface, 1,
                         {of("ingressInterface", 4), of("interfaceName", kVariableLength),
                          of("interfaceDescription", kVariableLength)}),
        options_template(
            counted_sampling, 1,
            {of("selectorId", 8), of("ingressInterface", 4), of("selectorAlgorithm", 2),
             of("samplingPacketInterval", 4), of("samplingPacketSpace", 4)}),
        options_template(random_sampling, 1,
                         {of("selectorId", 8), of("ingressInterface", 4),
                          of("selectorAlgorithm", 2), of("samplingProbability", 8)}),
        options_template(flow_keys, 1, {of("templateId", 2), of("flowKeyIndicator", 8)}),
        options_template(
            element_type, 2,
            {of("privateEnterpriseNumber", 4), of("informationElementId", 2),
             of("informationElementDataType", 1), of("informationElementSemantics", 1),
             of("informationElementUnits", 2), of("informationElementName", kVariableLength)}),
    };
}

/// Each in a message of its own: pmacct reads one options template of a set, and calls the next one
/// malformed.
std::vector<std::vector<std::byte>> encode_templates(FixbufSession& session, bool knows_drops) {
    std::vector<std::vector<std::byte>> messages;
    for (const WireTemplate& each : options_templates(knows_drops)) {
        messages.push_back(session.encode_templates(std::span(&each, 1)).front());
    }
    return messages;
}

/// Octets of a text that a record takes: two of them fit the smallest message.
constexpr std::size_t kLongestText = 200;

/// The beginning of a text that fits, not cut inside a character of UTF-8.
std::size_t fitting_octets(const std::string& text) {
    if (text.size() <= kLongestText) {
        return text.size();
    }
    constexpr unsigned kContinuationMask = 0xC0;
    constexpr unsigned kContinuation = 0x80;
    std::size_t octets = kLongestText;
    while (octets > 0 &&
           (static_cast<unsigned char>(text[octets]) & kContinuationMask) == kContinuation) {
        --octets;
    }
    return octets;
}

/// libfixbuf ends the process when it gets no memory: better to find out before. It needs some
/// hundred octets for a record with a name; what is freed here is at hand for it.
///
/// @errors  std::bad_alloc
void check_memory_for_fixbuf() {
    constexpr std::size_t kPlenty = 65'536;
    ::operator delete(::operator new(kPlenty));  // a call that no compiler leaves out
}

}  // namespace

/// The fields of one record, back to back as FixbufSession takes them.
class OptionsEncoder::Fields {
public:
    explicit Fields(OptionsKind kind) : template_id_(static_cast<std::uint16_t>(kind)) {}

    template <class Value>
        requires std::is_arithmetic_v<Value>
    Fields& put(Value value) {
        put_bytes(&value, sizeof value);
        octets_ += sizeof value;
        return *this;
    }
    /// @param text  outlives the fields
    Fields& put(const std::string& text) {
        const WireString string{.octets = fitting_octets(text), .text = text.data()};
        put_bytes(&string, sizeof string);
        octets_ += 1 + string.octets;  // RFC 7011 §7: its length goes ahead
        return *this;
    }
    Fields& put(const RecordTally& tally) {
        return put(tally.records).put(tally.packets).put(tally.octets);
    }

    [[nodiscard]] std::uint16_t template_id() const noexcept { return template_id_; }
    [[nodiscard]] std::size_t octets() const noexcept { return octets_; }
    [[nodiscard]] std::span<std::byte> bytes() noexcept { return std::span(bytes_).first(used_); }

private:
    void put_bytes(const void* from, std::size_t count) {
        std::memcpy(std::span(bytes_).subspan(used_, count).data(), from, count);
        used_ += count;
    }

    std::uint16_t template_id_;
    std::array<std::byte, 64> bytes_{};
    std::size_t used_ = 0;
    std::size_t octets_ = 0;  ///< on the wire
};

OptionsEncoder::OptionsEncoder(const ExportOptions& options, const MeteringProcess& metering,
                               std::size_t message_limit)
    : observation_domain_(options.observation_domain),
      enterprise_number_(options.enterprise_number),
      tunnel_in_key_(metering.tunnel_in_key),
      knows_drops_(metering.knows_drops),
      groups_(metering.layout.groups()),
      has_reverse_(metering.layout.reverse_at != 0),
      has_ntop_(options.ntop_elements),
      interfaces_(metering.interfaces),
      session_({.observation_domain = options.observation_domain,
                .enterprise_number = options.enterprise_number,
                .message_limit = message_limit},
               options_templates(metering.knows_drops)),
      template_messages_(encode_templates(session_, metering.knows_drops)) {}

OptionsEncoder::Messages OptionsEncoder::encode(const OptionsNumbers& numbers,
                                                std::span<const TemplateKeys> templates) {
    check_memory_for_fixbuf();
    try {
        return encode_all(numbers, templates);
    } catch (const std::bad_alloc&) {
        static_cast<void>(session_.close());  // what is begun does not come again
        throw;
    }
}

OptionsEncoder::Messages OptionsEncoder::encode_all(const OptionsNumbers& numbers,
                                                    std::span<const TemplateKeys> templates) {
    Messages out;
    append_numbers(out, numbers);
    for (const ObservedInterface& interface : interfaces_) {
        append_interface(out, interface);
    }
    for (const TemplateKeys& keys : templates) {
        append(out, Fields(OptionsKind::flow_keys)
                        .put(keys.template_id)
                        .put(keys.indicator | (tunnel_in_key_ ? keys.tunnel : 0)));
    }
    append_types(out);
    close(out);
    return out;
}

void OptionsEncoder::append_numbers(Messages& out, const OptionsNumbers& numbers) {
    append(
        out,
        Fields(OptionsKind::exporting_reliability).put(observation_domain_).put(numbers.not_sent));
    Fields metering = Fields(metering_kind(knows_drops_))
                          .put(observation_domain_)
                          .put(numbers.metering.ignored_packets)
                          .put(numbers.metering.ignored_octets);
    if (!knows_drops_) {
        append(out, metering);
    } else if (numbers.metering.dropped_packets) {  // else it is unknown just now
        append(out, metering.put(*numbers.metering.dropped_packets));
    }
    append(out, Fields(OptionsKind::statistics)
                    .put(observation_domain_)
                    .put(numbers.exported_octets)
                    .put(numbers.exported_messages)
                    .put(numbers.exported_records));
}

void OptionsEncoder::append_interface(Messages& out, const ObservedInterface& interface) {
    append(out, Fields(OptionsKind::interface)
                    .put(interface.index)
                    .put(interface.name)
                    .put(interface.description));
    const SamplingOptions& sampling = interface.sampling;
    if (sampling.one_in == 1) {
        return;
    }
    // selectorAlgorithm, as IANA's registry psamp-parameters numbers it
    constexpr std::uint16_t kSystematicCount = 1;
    constexpr std::uint16_t kUniformProbabilistic = 4;
    const bool is_random = sampling.method == SamplingMethod::random;
    Fields fields = Fields(is_random ? OptionsKind::random_sampling : OptionsKind::counted_sampling)
                        .put(std::uint64_t{interface.index})
                        .put(interface.index)
                        .put(is_random ? kUniformProbabilistic : kSystematicCount);
    if (is_random) {
        append(out, fields.put(1.0 / sampling.one_in));
    } else {
        append(out, fields.put(std::uint32_t{1}).put(sampling.one_in - 1));
    }
}

/// @source  RFC 5610 §3.9; reverse elements have their own numbers (RFC 5103 §6.2)
void OptionsEncoder::append_types(Messages& out) {
    constexpr std::uint8_t kDefaultSemantics = 0;
    constexpr std::uint16_t kNoUnits = 0;
    const auto describe = [&](const std::string& name, std::uint16_t number, IpfixType type,
                              std::uint32_t enterprise) {
        append(out, Fields(OptionsKind::element_type)
                        .put(enterprise)
                        .put(number)
                        .put(static_cast<std::uint8_t>(type))
                        .put(kDefaultSemantics)
                        .put(kNoUnits)
                        .put(name));
    };
    for (const EnterpriseElement& element : kEnterpriseElements) {
        const auto number = static_cast<std::uint16_t>(element.number);
        if (!(groups_.*element.group)) {
            continue;
        }
        describe(element.name, number, element.type, enterprise_number_);
        if (has_reverse_) {
            describe(ReverseName(element.name).c_str(),
                     static_cast<std::uint16_t>(number | kReverseBit), element.type,
                     enterprise_number_);
        }
    }
    for (const NtopElement& element : kNtopElements) {
        if (has_ntop_) {
            describe(element.in, element.in_number, IpfixType::unsigned32, kNtopEnterprise);
        }
        if (has_ntop_ && has_reverse_) {
            describe(element.out, element.out_number, IpfixType::unsigned32, kNtopEnterprise);
        }
    }
}

void OptionsEncoder::append(Messages& out, Fields fields) {
    if (!session_.has_room(fields.template_id(), fields.octets())) {
        close(out);
    }
    const bool added = session_.append(fields.template_id(), fields.bytes(), fields.octets());
    out.complete = out.complete && added;
}

void OptionsEncoder::close(Messages& out) {
    const FixbufSession::Message closed = session_.close();
    if (closed.records > 0) {
        out.messages.push_back(
            {.octets = {closed.octets.begin(), closed.octets.end()}, .records = closed.records});
    }
}

}  // namespace tributary
