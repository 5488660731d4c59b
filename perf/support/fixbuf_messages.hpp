// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fixbuf/public.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/record_shape.hpp"
#include "export/ipfix/record_template.hpp"
#include "export/message.hpp"
#include "perf/support/ended_records.hpp"
#include "perf/support/in_turn.hpp"

// libfixbuf as the yardstick of the encoder.
namespace tributary::perf {

/// libfixbuf with one template, and messages in memory.
class FixbufMessages {
public:
    /// @param enterprise_element  a name that the fields may have beside IANA's; none: nullptr
    FixbufMessages(std::uint16_t template_id, std::vector<fbInfoElementSpec_t> fields,
                   std::size_t message_octets, const char* enterprise_element = nullptr)
        : message_(message_octets) {
        if (enterprise_element != nullptr) {
            add_octet_array(enterprise_element);
        }
        fbSession_t* const session = fbSessionAlloc(model_.get());
        fbSessionSetDomain(session, 1);
        fbTemplate_t* const made = fbTemplateAlloc(model_.get());
        GError* error = nullptr;
        for (fbInfoElementSpec_t& field : fields) {
            demand(fbTemplateAppendSpec(made, &field, 0, &error) != 0, "libfixbuf: template");
        }
        demand(fbSessionAddTemplate(session, TRUE, template_id, made, &error) != 0 &&
                   fbSessionAddTemplate(session, FALSE, template_id, made, &error) != 0,
               "libfixbuf: session");
        exporter_ = fbExporterAllocBuffer(reinterpret_cast<std::uint8_t*>(message_.data()),
                                          static_cast<std::uint16_t>(message_.size()));
        buffer_.reset(fBufAllocForExport(session, exporter_));
        fBufSetAutomaticMode(buffer_.get(), FALSE);
        demand(fBufSetInternalTemplate(buffer_.get(), template_id, &error) != 0 &&
                   fBufSetExportTemplate(buffer_.get(), template_id, &error) != 0,
               "libfixbuf: buffer");
    }

    /// @return  false: the message is full
    [[nodiscard]] bool append(std::span<std::byte> fields) {
        GError* error = nullptr;
        const bool is_added =
            fBufAppend(buffer_.get(), reinterpret_cast<std::uint8_t*>(fields.data()), fields.size(),
                       &error) != 0;
        g_clear_error(&error);
        return is_added;
    }
    /// Ends the message. @return  valid until the next append()
    MessageView close() {
        GError* error = nullptr;
        demand(fBufEmit(buffer_.get(), &error) != 0, "libfixbuf: emit");
        return std::span(message_).first(fbExporterGetMsgLen(exporter_));
    }

private:
    struct Free {
        void operator()(fbInfoModel_t* model) const noexcept { fbInfoModelFree(model); }
        void operator()(fBuf_t* buffer) const noexcept { fBufFree(buffer); }
    };

    void add_octet_array(const char* name) {
        constexpr std::uint32_t kDocumentationEnterprise = 32473;
        fbInfoElement_t element{};
        element.ref.name = name;
        element.ent = kDocumentationEnterprise;
        element.num = 1;
        element.len = FB_IE_VARLEN;
        element.type = FB_OCTET_ARRAY;
        fbInfoModelAddElement(model_.get(), &element);
    }

    std::vector<std::byte> message_;
    std::unique_ptr<fbInfoModel_t, Free> model_{fbInfoModelAlloc()};
    fbExporter_t* exporter_{};                // owned by buffer_
    std::unique_ptr<fBuf_t, Free> buffer_{};  // after model_: it must go first
};

/// Only libfixbuf: one structure of the fields of IPv4 records, again and again, encoded field by
/// field. The values have no meaning.
class FixbufAlone {
public:
    explicit FixbufAlone(std::size_t message_octets)
        : messages_(kTemplate, specs_of(plain_), message_octets) {
        const auto record = ended_records(1).front();
        fields_.resize(plain_.record_octets);
        plain_.write(reinterpret_cast<const std::byte*>(&record), fields_.data());
    }
    void work(std::uint64_t records) {
        for (std::uint64_t done = 0; done < records; ++done) {
            if (!messages_.append(fields_)) {
                octets_ += messages_.close().size();
                demand(messages_.append(fields_) || messages_.append(fields_), "libfixbuf: append");
            }
        }
    }
    void check() {
        constexpr std::uint64_t kSome = 1000;
        work(kSome);
        octets_ += messages_.close().size();
        demand(octets_ > kSome * fields_.size(), "libfixbuf: octets");
    }

private:
    static constexpr std::uint16_t kTemplate = 256;

    static std::vector<fbInfoElementSpec_t> specs_of(const RecordTemplate& made) {
        std::vector<fbInfoElementSpec_t> specs;
        for (const TemplateField& field : made.fields) {
            specs.push_back({const_cast<char*>(field.element), octets_of(field.encoding), 0});
        }
        return specs;
    }

    RecordTemplate plain_ = make_templates({}, TimestampUnit::milliseconds).front();
    FixbufMessages messages_;
    std::vector<std::byte> fields_;
    std::uint64_t octets_ = 0;
};

/// The encoder as it was when libfixbuf put data records into messages: a record is laid out in
/// memory, and libfixbuf takes it as one field of a template with the same id. It adds message and
/// set headers.
class FixbufFraming {
public:
    /// @param first  of the records, which are all of one shape
    FixbufFraming(const std::byte* first, std::size_t message_octets)
        : message_octets_(message_octets),
          shape_(shapes_.index_of(first)),
          written_(templates_[shape_].record_octets),
          messages_(templates_[shape_].id,
                    {{const_cast<char*>(kWhole), static_cast<std::uint16_t>(written_.size()), 0}},
                    message_octets, kWhole) {}
    /// @return  false: there is no room in the message
    [[nodiscard]] bool append(const std::byte* record) {
        const std::size_t shape = shapes_.index_of(record);
        demand(shape == shape_, "records of one shape");
        const RecordTemplate& chosen = templates_[shape];
        if (used_ + chosen.record_octets > message_octets_) {
            return false;
        }
        chosen.write(record, written_.data());
        demand(messages_.append(written_), "libfixbuf: append");
        used_ += chosen.record_octets;
        latest_end_ = std::max(latest_end_, latest_packet(record, {}));
        return true;
    }
    MessageView close() {
        used_ = kHeaders;
        latest_end_ = {};
        return messages_.close();
    }

private:
    static constexpr const char* kWhole = "wholeRecord";
    static constexpr std::size_t kHeaders = 20;  // of the message, and of its one set

    std::vector<RecordTemplate> templates_ = make_templates({}, TimestampUnit::milliseconds);
    std::size_t message_octets_;
    RecordShapes shapes_{RecordLayout{}};
    std::size_t shape_;
    std::vector<std::byte> written_;
    FixbufMessages messages_;
    std::size_t used_ = kHeaders;
    Timestamp latest_end_{};
};

}  // namespace tributary::perf
