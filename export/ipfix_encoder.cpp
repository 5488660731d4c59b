// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix_encoder.hpp"

#include <fixbuf/public.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "export/enterprise_elements.hpp"
#include "export/record_shape.hpp"
#include "export/record_template.hpp"
#include "export/reverse_elements.hpp"

// libfixbuf encodes into memory and does nothing else. What it would do badly is done here:
// messages end before it meets a full buffer (2.4 would leave an empty set behind), and number and
// time are written into the header when the message leaves (MessageNumbering).
//
// All templates are encoded before the first record is. A plain one is announced at once, any other
// after the first record of its shape: with every group chosen there are hundreds, of which a
// network shows a few.

namespace tributary {
namespace {

constexpr std::size_t kMessageHeader = 16;   // RFC 7011 §3.1
constexpr std::size_t kSetHeader = 4;        // RFC 7011 §3.3.2
constexpr std::size_t kLargestRecord = 400;  // a biflow with every group

static_assert(kReverseEnterprise == FB_IE_PEN_REVERSE && kReverseBit == FB_IE_VENDOR_BIT_REVERSE);

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

/// Whether libfixbuf is to swap values of this type into network byte order.
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

void add_enterprise_elements(fbInfoModel_t* model, std::uint32_t enterprise) {
    for (const EnterpriseElement& element : kEnterpriseElements) {
        fbInfoElement_t added{};
        added.ref.name = element.name;
        added.ent = enterprise;
        added.num = static_cast<std::uint16_t>(element.number);
        added.len = element.octets;
        added.flags = FB_IE_F_REVERSIBLE;  // libfixbuf adds the reverse element
        added.flags |= is_swapped(element.type) ? FB_IE_F_ENDIAN : FB_IE_F_NONE;
        added.type = static_cast<std::uint8_t>(element.type);
        fbInfoModelAddElement(model, &added);
    }
}

struct ModelFree {
    void operator()(fbInfoModel_t* model) const noexcept { fbInfoModelFree(model); }
};
struct BufferFree {
    void operator()(fBuf_t* buffer) const noexcept { fBufFree(buffer); }
};

}  // namespace

class IpfixEncoder::Fixbuf {
public:
    Fixbuf(const ExportOptions& options, const RecordLayout& layout, std::size_t message_limit);

    AppendResult append(const std::byte* record) noexcept;
    EncodedMessage close() noexcept;
    [[nodiscard]] MessageView template_message(std::size_t index) const noexcept {
        return announced_[index];
    }
    [[nodiscard]] std::size_t template_messages() const noexcept { return announced_.size(); }

private:
    void check_sizes() const;
    void add_template(fbSession_t* session, const RecordTemplate& record_template);
    void encode_templates(fbSession_t* session);
    void encode_template(fbSession_t* session, const RecordTemplate& record_template);
    [[nodiscard]] std::vector<std::byte> emit_templates();
    void announce(std::size_t shape) noexcept;
    bool select(const RecordTemplate& record_template) noexcept;
    bool write(std::span<std::byte> fields) noexcept;
    bool emit() noexcept;
    void begin_message() noexcept;

    RecordLayout layout_;
    std::vector<RecordTemplate> templates_;
    std::vector<std::byte> message_;  ///< libfixbuf emits into it; as large as the limit
    std::unique_ptr<fbInfoModel_t, ModelFree> model_{fbInfoModelAlloc()};
    fbExporter_t* exporter_{};                      // owned by buffer_
    std::unique_ptr<fBuf_t, BufferFree> buffer_{};  // after model_: it must go first
    /// Template messages, those of the plain shapes first.
    std::vector<std::vector<std::byte>> announced_;
    /// By shape, the message of its template, until that is announced.
    std::vector<std::vector<std::byte>> kept_back_;

    std::size_t used_ = kMessageHeader;  ///< octets of the open message
    std::uint32_t records_{};            ///< in the open message
    Timestamp latest_end_{};             ///< of these records
    std::uint16_t open_set_{};           ///< template of the open set; 0: no set is open
    std::uint16_t selected_{};           ///< the template that libfixbuf has been told
};

IpfixEncoder::Fixbuf::Fixbuf(const ExportOptions& options, const RecordLayout& layout,
                             std::size_t message_limit)
    : layout_(layout),
      templates_(make_templates(layout, options.timestamps)),
      message_(message_limit) {
    check_sizes();
    add_enterprise_elements(model_.get(), options.enterprise_number);
    fbSession_t* const session = fbSessionAlloc(model_.get());
    fbSessionSetDomain(session, options.observation_domain);  // before any template
    for (const RecordTemplate& each : templates_) {
        add_template(session,
                     each);  // before there is a buffer: otherwise it would be written at once
    }
    exporter_ = fbExporterAllocBuffer(reinterpret_cast<std::uint8_t*>(message_.data()),
                                      static_cast<std::uint16_t>(message_limit));
    buffer_.reset(fBufAllocForExport(session, exporter_));
    fBufSetAutomaticMode(buffer_.get(), FALSE);
    encode_templates(session);
}

void IpfixEncoder::Fixbuf::check_sizes() const {
    for (const RecordTemplate& each : templates_) {
        const std::size_t needed =
            kMessageHeader + kSetHeader + std::max(each.record_octets, each.template_octets);
        if (message_.size() > std::numeric_limits<std::uint16_t>::max() ||
            message_.size() < needed || each.record_octets > kLargestRecord) {
            throw ExportError("an IPFIX message of at most " + std::to_string(message_.size()) +
                              " octets cannot hold template " + std::to_string(each.id));
        }
    }
}

void IpfixEncoder::Fixbuf::add_template(fbSession_t* session,
                                        const RecordTemplate& record_template) {
    FixbufError error;
    fbTemplate_t* const made = fbTemplateAlloc(model_.get());
    for (const TemplateField& field : record_template.fields) {
        fbInfoElementSpec_t spec{const_cast<char*>(field.element), octets_of(field.take), 0};
        if (fbTemplateAppendSpec(made, &spec, 0, error.out()) == 0) {
            fbTemplateFreeUnused(made);
            error.raise();
        }
    }
    // The same template inside and outside: what RecordTemplate::write() lays down is the wire's
    // layout.
    if (fbSessionAddTemplate(session, TRUE, record_template.id, made, error.out()) == 0 ||
        fbSessionAddTemplate(session, FALSE, record_template.id, made, error.out()) == 0) {
        error.raise();
    }
}

void IpfixEncoder::Fixbuf::encode_templates(fbSession_t* session) {
    kept_back_.resize(templates_.size());
    announced_.reserve(templates_.size());  // announce() allocates nothing
    std::size_t used = kMessageHeader + kSetHeader;
    for (std::size_t shape = 0; shape < kPlainShapes; ++shape) {
        const std::size_t octets = templates_[shape].template_octets;
        if (used + octets > message_.size()) {
            announced_.push_back(emit_templates());
            used = kMessageHeader + kSetHeader;
        }
        used += octets;
        encode_template(session, templates_[shape]);
    }
    announced_.push_back(emit_templates());
    for (std::size_t shape = kPlainShapes; shape < templates_.size(); ++shape) {
        encode_template(session, templates_[shape]);
        kept_back_[shape] = emit_templates();
    }
}

void IpfixEncoder::Fixbuf::encode_template(fbSession_t* session,
                                           const RecordTemplate& record_template) {
    // In manual mode the first template of a message may ask for a new message, even of an empty
    // one.
    FixbufError asks;
    if (fbSessionExportTemplate(session, record_template.id, asks.out()) != 0) {
        return;
    }
    FixbufError error;
    if (!asks.message_full() ||
        fbSessionExportTemplate(session, record_template.id, error.out()) == 0) {
        asks.raise();
    }
}

/// Closes the message that holds the templates encoded so far.
std::vector<std::byte> IpfixEncoder::Fixbuf::emit_templates() {
    FixbufError error;
    if (fBufEmit(buffer_.get(), error.out()) == 0) {
        error.raise();
    }
    const auto octets = static_cast<std::ptrdiff_t>(fbExporterGetMsgLen(exporter_));
    return {message_.begin(), message_.begin() + octets};
}

void IpfixEncoder::Fixbuf::announce(std::size_t shape) noexcept {
    if (!kept_back_[shape].empty()) {
        announced_.push_back(std::move(kept_back_[shape]));
        kept_back_[shape].clear();
    }
}

bool IpfixEncoder::Fixbuf::select(const RecordTemplate& record_template) noexcept {
    if (selected_ == record_template.id) {
        return true;
    }
    FixbufError error;
    if (fBufSetInternalTemplate(buffer_.get(), record_template.id, error.out()) == 0 ||
        fBufSetExportTemplate(buffer_.get(), record_template.id, error.out()) == 0) {
        selected_ = 0;
        return false;
    }
    selected_ = record_template.id;
    return true;
}

AppendResult IpfixEncoder::Fixbuf::append(const std::byte* record) noexcept {
    const std::size_t shape = shape_index(record, layout_);
    const RecordTemplate& chosen = templates_[shape];
    const std::size_t needed = chosen.record_octets + (open_set_ == chosen.id ? 0 : kSetHeader);
    if (used_ + needed > message_.size()) {
        return AppendResult::message_full;
    }
    std::array<std::byte, kLargestRecord> fields;
    chosen.write(record, fields.data());
    if (!select(chosen) || !write(std::span(fields).first(chosen.record_octets))) {
        emit();  // whatever state it left behind ends with its message
        begin_message();
        return AppendResult::failed;
    }
    announce(shape);
    open_set_ = chosen.id;
    used_ += needed;
    ++records_;
    latest_end_ = std::max(latest_end_, latest_packet(record, layout_));
    return AppendResult::added;
}

bool IpfixEncoder::Fixbuf::write(std::span<std::byte> fields) noexcept {
    auto* const from = reinterpret_cast<std::uint8_t*>(fields.data());
    FixbufError error;
    if (fBufAppend(buffer_.get(), from, fields.size(), error.out()) != 0) {
        return true;
    }
    // The first record after templates asks for a new message too, even of an empty one.
    FixbufError lasting;
    return error.message_full() && records_ == 0 &&
           fBufAppend(buffer_.get(), from, fields.size(), lasting.out()) != 0;
}

bool IpfixEncoder::Fixbuf::emit() noexcept {
    FixbufError error;
    return fBufEmit(buffer_.get(), error.out()) != 0;
}

void IpfixEncoder::Fixbuf::begin_message() noexcept {
    used_ = kMessageHeader;
    records_ = 0;
    latest_end_ = {};
    open_set_ = 0;
}

EncodedMessage IpfixEncoder::Fixbuf::close() noexcept {
    EncodedMessage closed;
    if (records_ > 0) {
        emit();  // into memory of the right size: it cannot fail
        closed = {.octets = std::span(message_).first(fbExporterGetMsgLen(exporter_)),
                  .records = records_,
                  .latest_end = latest_end_};
    }
    begin_message();
    return closed;
}

IpfixEncoder::IpfixEncoder(const ExportOptions& options, const RecordLayout& layout,
                           std::size_t message_limit)
    : fixbuf_(std::make_unique<Fixbuf>(options, layout, message_limit)) {}
IpfixEncoder::~IpfixEncoder() = default;

AppendResult IpfixEncoder::append(const std::byte* record) noexcept {
    return fixbuf_->append(record);
}
EncodedMessage IpfixEncoder::close() noexcept { return fixbuf_->close(); }
std::size_t IpfixEncoder::template_messages() const noexcept {
    return fixbuf_->template_messages();
}
MessageView IpfixEncoder::template_message(std::size_t index) const noexcept {
    return fixbuf_->template_message(index);
}

}  // namespace tributary
