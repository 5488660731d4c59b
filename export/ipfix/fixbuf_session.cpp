// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix/fixbuf_session.hpp"

#include <fixbuf/public.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

#include "export/ipfix/core_elements.hpp"
#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/fixbuf_memory.hpp"
#include "export/ipfix/ipfix_template.hpp"
#include "export/ipfix/reverse_elements.hpp"

namespace tributary {
namespace {

static_assert(kReverseEnterprise == FB_IE_PEN_REVERSE && kReverseBit == FB_IE_VENDOR_BIT_REVERSE);
static_assert(kVariableLength == FB_IE_VARLEN);
static_assert(sizeof(WireString) == sizeof(fbVarfield_t) &&
              offsetof(WireString, octets) == offsetof(fbVarfield_t, len) &&
              offsetof(WireString, text) == offsetof(fbVarfield_t, buf));

/// Takes libfixbuf's error reports and frees them.
class FixbufError {
public:
    FixbufError() = default;
    FixbufError(const FixbufError&) = delete;
    FixbufError& operator=(const FixbufError&) = delete;
    ~FixbufError() { g_clear_error(&error_); }

    [[nodiscard]] GError** out() noexcept { return &error_; }
    [[nodiscard]] bool message_full() const noexcept {
        return g_error_matches(error_, FB_ERROR_DOMAIN, FB_ERROR_EOM) != 0;
    }
    [[noreturn]] void raise() const {
        throw ExportError(std::string("libfixbuf: ") +
                          (error_ != nullptr ? error_->message : "unknown error"));
    }

private:
    GError* error_{};
};

/// Whether libfixbuf must swap values of this type into network byte order.
bool is_swapped(IpfixType type) noexcept {
    switch (type) {
        case IpfixType::octet_array:
        case IpfixType::boolean:
        case IpfixType::mac_address:
        case IpfixType::string:
        case IpfixType::ipv6_address:
            return false;
        default:
            return true;
    }
}

fbInfoElement_t element_of(const char* name, std::uint32_t enterprise, std::uint16_t number,
                           IpfixType type, std::uint16_t octets) {
    fbInfoElement_t element{};
    element.ref.name = name;
    element.ent = enterprise;
    element.num = number;
    element.len = octets;
    element.flags = is_swapped(type) ? FB_IE_F_ENDIAN : FB_IE_F_NONE;
    element.type = static_cast<std::uint8_t>(type);
    return element;
}

void add_enterprise_elements(fbInfoModel_t* model, const FixbufSession::Settings& settings) {
    for (const EnterpriseElement& own :
         enterprise_elements(ElementOwner::tributary, settings.groups)) {
        fbInfoElement_t element = element_of(own.element->name, settings.enterprise_number,
                                             own.element->number, own.type, own.octets);
        element.flags |= FB_IE_F_REVERSIBLE;  // libfixbuf adds the reverse element
        fbInfoModelAddElement(model, &element);
    }
    for (const EnterpriseElement& ntops :
         enterprise_elements(ElementOwner::ntop, settings.groups)) {
        const auto add = [&](const char* name, std::uint16_t number) {
            fbInfoElement_t element =
                element_of(name, kNtopEnterprise, number, ntops.type, ntops.octets);
            fbInfoModelAddElement(model, &element);
        };
        add(ntops.element->name, ntops.element->number);
        add(ntops.element->reverse_name, ntops.element->reverse_number);
    }
    fbInfoElement_t flags = element_of(kCertElement.name, kCertEnterprise, kCertElement.number,
                                       IpfixType::unsigned8, 1);
    flags.flags |= FB_IE_F_REVERSIBLE;
    fbInfoModelAddElement(model, &flags);
}

struct ModelFree {
    void operator()(fbInfoModel_t* model) const noexcept { fbInfoModelFree(model); }
};
struct BufferFree {
    void operator()(fBuf_t* buffer) const noexcept { fBufFree(buffer); }
};

}  // namespace

std::size_t WireTemplate::octets() const noexcept {
    constexpr std::size_t kHeader = 4;
    constexpr std::size_t kOptionsHeader = 6;
    std::size_t octets = scope_fields == 0 ? kHeader : kOptionsHeader;
    for (const WireField& field : fields) {
        octets += field.of_enterprise ? 8 : 4;
    }
    return octets;
}

struct FixbufSession::Library {
    Library() {
        check_memory_for_fixbuf(kFixbufOctets);
        model.reset(fbInfoModelAlloc());
    }

    std::unique_ptr<fbInfoModel_t, ModelFree> model;
    fbSession_t* session{};                        // owned by buffer
    fbExporter_t* exporter{};                      // owned by buffer
    std::unique_ptr<fBuf_t, BufferFree> buffer{};  // after model: it must go first
};

FixbufSession::FixbufSession(const Settings& settings, std::span<const WireTemplate> templates)
    : message_(settings.message_limit), library_(std::make_unique<Library>()) {
    check_sizes(templates);
    add_enterprise_elements(library_->model.get(), settings);
    library_->session = fbSessionAlloc(library_->model.get());
    fbSessionSetDomain(library_->session, settings.observation_domain);  // before any template
    for (const WireTemplate& each : templates) {
        add_template(each);  // before there is a buffer: otherwise it would be written at once
    }
    library_->exporter = fbExporterAllocBuffer(reinterpret_cast<std::uint8_t*>(message_.data()),
                                               static_cast<std::uint16_t>(message_.size()));
    library_->buffer.reset(fBufAllocForExport(library_->session, library_->exporter));
    fBufSetAutomaticMode(library_->buffer.get(), FALSE);
    begin_message();
}

FixbufSession::~FixbufSession() = default;

void FixbufSession::check_sizes(std::span<const WireTemplate> templates) const {
    for (const WireTemplate& each : templates) {
        std::size_t record = 0;
        for (const WireField& field : each.fields) {
            record += field.octets == kVariableLength ? 1 : field.octets;
        }
        const std::size_t needed =
            IpfixMessage::kHeader + IpfixMessage::kSetHeader + std::max(record, each.octets());
        if (message_.size() > std::numeric_limits<std::uint16_t>::max() ||
            message_.size() < needed) {
            throw ExportError("an IPFIX message of at most " + std::to_string(message_.size()) +
                              " octets cannot hold template " + std::to_string(each.id));
        }
    }
}

void FixbufSession::add_template(const WireTemplate& made) {
    FixbufError error;
    fbTemplate_t* const added = fbTemplateAlloc(library_->model.get());
    for (const WireField& field : made.fields) {
        fbInfoElementSpec_t spec{const_cast<char*>(field.element), field.octets, 0};
        if (fbTemplateAppendSpec(added, &spec, 0, error.out()) == 0) {
            fbTemplateFreeUnused(added);
            error.raise();
        }
    }
    if (made.scope_fields > 0) {
        fbTemplateSetOptionsScope(added, made.scope_fields);
    }
    // The same template inside and outside: append() is called with the wire's layout.
    fbSession_t* const session = library_->session;
    if (fbSessionAddTemplate(session, TRUE, made.id, added, error.out()) == 0 ||
        fbSessionAddTemplate(session, FALSE, made.id, added, error.out()) == 0) {
        error.raise();
    }
}

std::vector<std::vector<std::byte>> FixbufSession::encode_templates(
    std::span<const WireTemplate> templates) {
    std::vector<std::vector<std::byte>> messages;
    std::size_t used = IpfixMessage::kHeader;
    for (const WireTemplate& each : templates) {
        // A set header for each: plain and options templates are in sets of their own.
        const std::size_t octets = IpfixMessage::kSetHeader + each.octets();
        if (used > IpfixMessage::kHeader && used + octets > message_.size()) {
            messages.push_back(emit_templates());
            used = IpfixMessage::kHeader;
        }
        used += octets;
        encode_template(each.id);
    }
    if (used > IpfixMessage::kHeader) {
        messages.push_back(emit_templates());
    }
    return messages;
}

void FixbufSession::encode_template(std::uint16_t template_id) {
    // In manual mode the first template of a message may require a new message, even of an empty
    // one.
    FixbufError asks;
    if (fbSessionExportTemplate(library_->session, template_id, asks.out()) != 0) {
        return;
    }
    FixbufError error;
    if (!asks.message_full() ||
        fbSessionExportTemplate(library_->session, template_id, error.out()) == 0) {
        asks.raise();
    }
}

/// Closes the message that holds the templates encoded so far.
std::vector<std::byte> FixbufSession::emit_templates() {
    FixbufError error;
    if (fBufEmit(library_->buffer.get(), error.out()) == 0) {
        error.raise();
    }
    const MessageView octets = emitted();
    return {octets.begin(), octets.end()};
}

/// The message that libfixbuf emitted last. Its header has the time of that moment and libfixbuf's
/// count of data records in it: they are cleared, so that equal contents are equal octets.
MessageView FixbufSession::emitted() noexcept {
    const auto octets = std::span(message_).first(fbExporterGetMsgLen(library_->exporter));
    clear_stamp(octets);
    return octets;
}

bool FixbufSession::select(std::uint16_t template_id) noexcept {
    if (selected_ == template_id) {
        return true;
    }
    FixbufError error;
    fBuf_t* const buffer = library_->buffer.get();
    if (fBufSetInternalTemplate(buffer, template_id, error.out()) == 0 ||
        fBufSetExportTemplate(buffer, template_id, error.out()) == 0) {
        selected_ = 0;
        return false;
    }
    selected_ = template_id;
    return true;
}

bool FixbufSession::append(std::uint16_t template_id, std::span<std::byte> fields,
                           std::size_t octets) noexcept {
    if (!select(template_id) || !write(fields)) {
        FixbufError error;
        fBufEmit(library_->buffer.get(), error.out());  // its octets end with its message
        begin_message();
        return false;
    }
    used_ += octets_of_set_header(template_id) + octets;
    open_set_ = template_id;
    ++records_;
    return true;
}

bool FixbufSession::write(std::span<std::byte> fields) noexcept {
    auto* const from = reinterpret_cast<std::uint8_t*>(fields.data());
    fBuf_t* const buffer = library_->buffer.get();
    FixbufError error;
    if (fBufAppend(buffer, from, fields.size(), error.out()) != 0) {
        return true;
    }
    // The first record after templates requires a new message too, even of an empty one.
    FixbufError lasting;
    return error.message_full() && records_ == 0 &&
           fBufAppend(buffer, from, fields.size(), lasting.out()) != 0;
}

void FixbufSession::begin_message() noexcept {
    used_ = IpfixMessage::kHeader;
    records_ = 0;
    open_set_ = 0;
}

FixbufSession::Message FixbufSession::close() noexcept {
    Message closed;
    if (records_ > 0) {
        // Into memory of the right size: it cannot fail.
        FixbufError error;
        fBufEmit(library_->buffer.get(), error.out());
        closed = {.octets = emitted(), .records = records_};
    }
    begin_message();
    return closed;
}

}  // namespace tributary
