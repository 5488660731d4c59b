// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/options_encoder.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "export/ipfix/core_elements.hpp"
#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/fixbuf_memory.hpp"
#include "export/ipfix/ipfix_template.hpp"
#include "export/ipfix/reverse_elements.hpp"
#include "export/ipfix_message.hpp"

namespace tributary {
namespace {

/// @source  RFC 3954 §8: samplingAlgorithm
std::uint8_t netflow_algorithm(const SamplingOptions& sampling) {
    constexpr std::uint8_t kDeterministic = 1;
    constexpr std::uint8_t kRandom = 2;
    const bool is_random = sampling.method == SamplingMethod::random && sampling.one_in > 1;
    return is_random ? kRandom : kDeterministic;
}

/// Each in a message of its own: pmacct reads one options template of a set, and reports the next
/// one as malformed.
std::vector<std::vector<std::byte>> encode_templates(FixbufSession& session,
                                                     std::span<const WireTemplate> templates) {
    std::vector<std::vector<std::byte>> messages;
    for (const WireTemplate& each : templates) {
        messages.push_back(session.encode_templates(std::span(&each, 1)).front());
    }
    return messages;
}

std::vector<WireTemplate> session_templates(const OptionsShape& shape, bool has_names) {
    std::vector<WireTemplate> templates = options_templates(shape);
    if (has_names) {
        templates.push_back(name_template());
    }
    return templates;
}

/// Most octets of a text in a record: two such texts fit the smallest message.
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

}  // namespace

/// The fields of one record, back to back as FixbufSession requires them.
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

/// An element, for the record of its type.
struct OptionsEncoder::Described {
    const std::string& name;
    std::uint16_t number;
    IpfixType type;
    std::uint32_t enterprise;
};

OptionsEncoder::OptionsEncoder(const ExportOptions& options, const MeteringProcess& metering,
                               std::size_t message_limit, bool names_templates)
    : observation_domain_(options.observation_domain),
      enterprise_number_(options.enterprise_number),
      has_own_(options.enterprise_elements),
      has_ntop_(options.ntop_elements && options.enterprise_elements),
      has_cert_(options.cert_elements),
      shape_({.choice = options.options,
              .sampling = options.sampling,
              .has_selector = differ_in_sampling(metering.interfaces),
              .knows_drops = metering.knows_drops}),
      interfaces_(metering.interfaces),
      session_({.observation_domain = options.observation_domain,
                .enterprise_number = options.enterprise_number,
                .message_limit = message_limit},
               session_templates(shape_, names_templates)),
      template_messages_(encode_templates(session_, options_templates(shape_))) {
    if (names_templates) {
        make_name_messages();
    }
}

/// @errors  ExportError
void OptionsEncoder::make_name_messages() {
    const std::string name = kTemplateName;
    Messages type;
    append_type(type, {.name = name,
                       .number = kTemplateNameNumber,
                       .type = IpfixType::string,
                       .enterprise = kCertEnterprise});
    close(type);
    if (!type.complete) {
        throw ExportError("libfixbuf refused the type of templates' names");
    }
    name_messages_ = std::move(type.messages);
    name_messages_.push_back(
        {.octets = encode_templates(session_, std::array{name_template()}).front()});
}

std::vector<OptionsEncoder::Message> OptionsEncoder::types_of(const RecordLayout& layout,
                                                              bool is_declared) {
    Messages types;
    if (shape_.choice.types) {
        append_types(types, layout, is_declared);
    }
    close(types);
    if (!types.complete) {
        throw ExportError("libfixbuf refused a record of an element's type");
    }
    return std::move(types.messages);
}

std::vector<OptionsEncoder::Message> OptionsEncoder::names_of(
    std::span<const TemplateKeys> templates, const std::string& table) {
    static_assert(kNamedTemplateAt == IpfixMessage::kHeader + IpfixMessage::kSetHeader);
    constexpr std::size_t kPlenty = 65'536;
    check_memory_for_fixbuf(kPlenty);
    Messages names;
    for (const TemplateKeys& each : templates) {
        append(names, Fields(OptionsKind::template_name).put(each.template_id).put(table));
    }
    close(names);
    if (!names.complete) {
        throw ExportError("libfixbuf refused a record of a template's name");
    }
    return std::move(names.messages);
}

OptionsEncoder::Messages OptionsEncoder::encode(const ExportNumbers& numbers,
                                                std::span<const TemplateKeys> templates) {
    constexpr std::size_t kPlenty = 65'536;  // some hundred octets for a record with a name
    check_memory_for_fixbuf(kPlenty);
    try {
        return encode_all(numbers, templates);
    } catch (const std::bad_alloc&) {
        static_cast<void>(session_.close());  // a message that was begun is not made again
        throw;
    }
}

OptionsEncoder::Messages OptionsEncoder::encode_all(const ExportNumbers& numbers,
                                                    std::span<const TemplateKeys> templates) {
    Messages out;
    if (shape_.choice.reliability) {
        append_reliability(out, numbers);
    }
    if (shape_.choice.statistics) {
        append(out, Fields(OptionsKind::statistics)
                        .put(observation_domain_)
                        .put(numbers.exported_octets)
                        .put(numbers.exported_messages)
                        .put(numbers.exported_records));
    }
    if (shape_.choice.interfaces) {
        for (const ObservedInterface& interface : interfaces_) {
            append_interface(out, interface);
        }
    }
    append_sampling(out);
    if (shape_.choice.flow_keys) {
        append_keys(out, templates);
    }
    close(out);
    return out;
}

void OptionsEncoder::append_keys(Messages& out, std::span<const TemplateKeys> templates) {
    for (const TemplateKeys& keys : templates) {
        append(out, Fields(OptionsKind::flow_keys).put(keys.template_id).put(keys.indicator));
    }
}

void OptionsEncoder::append_reliability(Messages& out, const ExportNumbers& numbers) {
    append(
        out,
        Fields(OptionsKind::exporting_reliability).put(observation_domain_).put(numbers.not_sent));
    Fields metering = Fields(shape_.metering())
                          .put(observation_domain_)
                          .put(numbers.metering.ignored_packets)
                          .put(numbers.metering.ignored_octets);
    if (!shape_.knows_drops) {
        append(out, metering);
    } else if (numbers.metering.dropped_packets) {  // else it is unknown at the moment
        append(out, metering.put(*numbers.metering.dropped_packets));
    }
}

void OptionsEncoder::append_interface(Messages& out, const ObservedInterface& interface) {
    append(out, Fields(OptionsKind::interface)
                    .put(interface.index)
                    .put(interface.name)
                    .put(interface.description));
}

bool differ_in_sampling(const std::vector<ObservedInterface>& interfaces) noexcept {
    const auto sampling_of = [](const ObservedInterface& each) {
        const bool is_sampled = each.sampling.one_in > 1;
        return std::pair(each.sampling.one_in,
                         is_sampled ? each.sampling.method : SamplingMethod::count);
    };
    return std::ranges::any_of(interfaces, [&](const ObservedInterface& each) {
        return sampling_of(each) != sampling_of(interfaces.front());
    });
}

void OptionsEncoder::append_sampling(Messages& out) {
    for (std::size_t index = 0; index < interfaces_.size(); ++index) {
        std::vector<Fields> records;
        const bool is_for_all = index == 0 && !shape_.has_selector;
        if (shape_.has_netflow() && (shape_.has_selector || is_for_all)) {
            records.push_back(netflow_sampling(interfaces_[index], false));
            records.push_back(netflow_sampling(interfaces_[index], true));
        }
        if (shape_.has_psamp()) {
            records.push_back(psamp_sampling(interfaces_[index]));
        }
        append_together(out, records);
    }
}

OptionsEncoder::Fields OptionsEncoder::netflow_sampling(const ObservedInterface& interface,
                                                        bool has_algorithm) const {
    Fields fields(has_algorithm ? OptionsKind::netflow_sampling : OptionsKind::netflow_rate);
    if (shape_.has_selector) {
        fields.put(interface.index).put(std::uint64_t{interface.index});
    } else {
        fields.put(observation_domain_);
    }
    fields.put(interface.sampling.one_in);
    return has_algorithm ? fields.put(netflow_algorithm(interface.sampling)) : fields;
}

OptionsEncoder::Fields OptionsEncoder::psamp_sampling(const ObservedInterface& interface) {
    const SamplingOptions& sampling = interface.sampling;
    // selectorAlgorithm, by the numbers of IANA's registry psamp-parameters
    constexpr std::uint16_t kSystematicCount = 1;
    constexpr std::uint16_t kUniformProbabilistic = 4;
    const bool is_random = sampling.method == SamplingMethod::random && sampling.one_in > 1;
    Fields fields = Fields(is_random ? OptionsKind::random_sampling : OptionsKind::counted_sampling)
                        .put(std::uint64_t{interface.index})
                        .put(interface.index)
                        .put(is_random ? kUniformProbabilistic : kSystematicCount);
    return is_random ? fields.put(1.0 / sampling.one_in)
                     : fields.put(std::uint32_t{1}).put(sampling.one_in - 1);
}

/// All are in one message, in this order.
void OptionsEncoder::append_together(Messages& out, std::span<const Fields> records) {
    std::size_t octets = 0;
    for (const Fields& each : records) {
        octets += IpfixMessage::kSetHeader + each.octets();
    }
    if (!records.empty() && !session_.has_room(records.front().template_id(), octets)) {
        close(out);
    }
    for (const Fields& each : records) {
        append(out, each);
    }
}

void OptionsEncoder::append_type(Messages& out, const Described& element) {
    constexpr std::uint8_t kDefaultSemantics = 0;
    constexpr std::uint16_t kNoUnits = 0;
    append(out, Fields(OptionsKind::element_type)
                    .put(element.enterprise)
                    .put(element.number)
                    .put(static_cast<std::uint8_t>(element.type))
                    .put(kDefaultSemantics)
                    .put(kNoUnits)
                    .put(element.name));
}

/// Records of declared tables have no elements of ntop's or CERT's.
///
/// @source  RFC 5610 §3.9; reverse elements have their own numbers (RFC 5103 §6.2)
void OptionsEncoder::append_types(Messages& out, const RecordLayout& layout, bool is_declared) {
    const FieldGroups groups = layout.groups();
    const bool has_reverse = layout.reverse_at != 0;
    const bool has_ntop = has_ntop_ && !is_declared;
    const bool has_cert = has_cert_ && !is_declared;
    const auto describe = [&](const std::string& name, std::uint16_t number, IpfixType type,
                              std::uint32_t enterprise) {
        append_type(out, {.name = name, .number = number, .type = type, .enterprise = enterprise});
    };
    for (const EnterpriseElement& own : enterprise_elements(ElementOwner::tributary, groups)) {
        const FieldElement& element = *own.element;
        if (!has_own_) {
            continue;
        }
        describe(element.name, element.number, own.type, enterprise_number_);
        if (has_reverse) {
            describe(reverse_name_of(element),
                     static_cast<std::uint16_t>(element.number | kReverseBit), own.type,
                     enterprise_number_);
        }
    }
    for (const EnterpriseElement& ntops : enterprise_elements(ElementOwner::ntop, kEveryGroup)) {
        const FieldElement& element = *ntops.element;
        if (has_ntop) {
            describe(element.name, element.number, ntops.type, kNtopEnterprise);
        }
        if (has_ntop && has_reverse) {
            describe(element.reverse_name, element.reverse_number, ntops.type, kNtopEnterprise);
        }
    }
    if (has_cert) {
        describe(kCertElement.name, kCertElement.number, IpfixType::unsigned8, kCertEnterprise);
    }
    if (has_cert && has_reverse) {
        describe(reverse_name_of(kCertElement),
                 static_cast<std::uint16_t>(kCertElement.number | kReverseBit),
                 IpfixType::unsigned8, kCertEnterprise);
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
