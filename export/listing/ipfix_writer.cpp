// SPDX-License-Identifier: Apache-2.0
#include "export/listing/ipfix_writer.hpp"

#include <span>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix_message.hpp"
#include "export/listing/ipfix_reader.hpp"

namespace tributary {
namespace {

constexpr std::uint32_t kLastId = 65'535;
constexpr std::uint16_t kTemplateId = 145;
constexpr std::size_t kLongForm = 255;  // §7
constexpr std::size_t kLengthAt = 2;    // in the headers of messages and sets

void append(std::string& to, std::uint64_t number, std::size_t octets) {
    for (std::size_t left = octets; left > 0; --left) {
        to += static_cast<char>(number >> (8 * (left - 1)) & 0xFFU);
    }
}

void put_u16(std::string& in, std::size_t at, std::size_t number) {
    in[at] = static_cast<char>(number >> 8U);
    in[at + 1] = static_cast<char>(number & 0xFFU);
}

bool is_element(const IpfixField& field, std::uint32_t enterprise, std::uint16_t number) {
    return field.element->enterprise == enterprise && field.element->number == number;
}

bool has_template_as_scope(const IpfixTemplate& layout) {
    return layout.options && layout.scope_fields > 0 &&
           is_element(layout.fields.front(), 0, kTemplateId);
}

/// Of a template with another one as its scope: see IpfixReader.
bool names_table(const IpfixTemplate& layout) {
    return layout.fields.size() == 2 &&
           is_element(layout.fields.back(), kCertEnterprise, kTemplateNameNumber);
}

/// What stands behind the id in a template record (RFC 7011 §3.4.1, §3.4.2.2).
std::string fields_of(const IpfixTemplate& layout) {
    std::string text;
    append(text, layout.fields.size(), 2);
    if (layout.options) {
        append(text, layout.scope_fields, 2);
    }
    for (const IpfixField& field : layout.fields) {
        const bool has_enterprise = field.element->enterprise != 0;
        append(text, field.element->number | (has_enterprise ? IpfixMessage::kEnterpriseBit : 0U),
               2);
        append(text, field.length, 2);
        if (has_enterprise) {
            append(text, field.element->enterprise, 4);
        }
    }
    return text;
}

/// The data record (RFC 7011 §3.4.3, §7).
std::string data_of(const IpfixRecord& record) {
    std::string text;
    for (std::size_t index = 0; index < record.values.size(); ++index) {
        const std::span<const std::byte> value = record.values[index];
        const bool is_variable = record.layout->fields[index].length == kVariableLength;
        if (is_variable && value.size() >= kLongForm) {
            append(text, kLongForm, 1);
            append(text, value.size(), 2);
        } else if (is_variable) {
            append(text, value.size(), 1);
        }
        text.append(reinterpret_cast<const char*>(value.data()), value.size());
    }
    return text;
}

/// The data record of a record about a template, with that template's id in the file.
std::string data_about(const IpfixRecord& record, std::uint16_t about) {
    std::string text = data_of(record);
    const std::size_t length = record.values.front().size();
    std::size_t at = 0;
    if (record.layout->fields.front().length == kVariableLength) {
        at = length < kLongForm ? 1 : 3;  // §7: its own length is in front
    }
    std::string id;
    append(id, about, 2);
    id.insert(0, length > id.size() ? length - id.size() : 0, '\0');
    return text.replace(at, length, id.substr(id.size() - length));
}

}  // namespace

IpfixWriter::IpfixWriter(std::ostream& out) : out_(out) {}

void IpfixWriter::add(const IpfixRecord& record) {
    const bool is_about_template = has_template_as_scope(*record.layout);
    if (is_about_template && record.about == nullptr) {
        return;
    }
    if (!message_.empty() && (record.domain != domain_ || record.export_time != export_time_)) {
        end_message();
    }
    if (message_.empty()) {
        begin_message(record);
    }
    if (!is_about_template) {
        add_data(record, id_for(record, template_of(*record.layout)), data_of(record));
        return;
    }
    const std::uint16_t about = id_for(record, template_of(*record.about));
    if (!names_table(*record.layout)) {
        add_data(record, id_for(record, template_of(*record.layout)), data_about(record, about));
    }
}

void IpfixWriter::add_data(const IpfixRecord& record, std::uint16_t id, const std::string& octets) {
    if (message_.size() + IpfixMessage::kSetHeader + octets.size() > IpfixMessage::kLongest) {
        end_message();
        begin_message(record);
    }
    add_set(id, octets);
    ++records_;
}

void IpfixWriter::finish() {
    if (!message_.empty()) {
        end_message();
    }
}

void IpfixWriter::begin_message(const IpfixRecord& record) {
    domain_ = record.domain;
    export_time_ = record.export_time;
    append(message_, IpfixMessage::kVersion, 2);
    append(message_, 0, 2);
    append(message_, export_time_, 4);
    append(message_, sequences_[domain_], 4);
    append(message_, domain_, 4);
}

void IpfixWriter::end_set() {
    if (set_at_ != 0) {
        put_u16(message_, set_at_ + kLengthAt, message_.size() - set_at_);
    }
    set_at_ = 0;
}

void IpfixWriter::end_message() {
    end_set();
    if (message_.size() > IpfixMessage::kHeader) {
        put_u16(message_, kLengthAt, message_.size());
        out_.write(message_.data(), static_cast<std::streamsize>(message_.size()));
    }
    sequences_[domain_] += records_;
    records_ = 0;
    message_.clear();
}

/// Tables may have templates of the same fields.
IpfixWriter::Template IpfixWriter::template_of(const IpfixTemplate& layout) {
    Template made{
        .key = {}, .fields = fields_of(layout), .options = layout.options, .table = layout.table};
    const std::string table = made.table != nullptr ? *made.table + '\n' : std::string("\n");
    made.key = (made.options ? "options " : "") + table + made.fields;
    return made;
}

IpfixWriter::Template IpfixWriter::name_template() {
    std::string fields;
    append(fields, 2, 2);  // two fields
    append(fields, 1, 2);  // one of them is the scope
    append(fields, kTemplateId, 2);
    append(fields, 2, 2);
    append(fields, kTemplateNameNumber | IpfixMessage::kEnterpriseBit, 2);
    append(fields, kVariableLength, 2);
    append(fields, kCertEnterprise, 4);
    return {.key = "options \n" + fields, .fields = fields, .options = true, .table = nullptr};
}

/// The id of a template, which is written if it is new.
std::uint16_t IpfixWriter::id_for(const IpfixRecord& record, const Template& wanted) {
    const auto [place, is_new] = ids_.try_emplace({record.domain, wanted.key}, 0);
    if (!is_new) {
        return place->second;
    }
    const std::uint32_t id = IpfixMessage::kFirstDataSet + next_ids_[record.domain]++;
    if (id > kLastId) {
        throw IpfixDataError("observation domain " + std::to_string(record.domain) +
                             " has more templates than there are ids");
    }
    place->second = static_cast<std::uint16_t>(id);
    add_template(record, place->second, wanted);
    if (wanted.table != nullptr) {
        add_name(record, place->second, *wanted.table);
    }
    return static_cast<std::uint16_t>(id);
}

void IpfixWriter::add_template(const IpfixRecord& record, std::uint16_t id, const Template& made) {
    std::string octets;
    append(octets, id, 2);
    octets += made.fields;
    if (message_.size() + IpfixMessage::kSetHeader + octets.size() > IpfixMessage::kLongest) {
        end_message();
        begin_message(record);
    }
    add_set(made.options ? IpfixMessage::kOptionsTemplateSet : IpfixMessage::kTemplateSet, octets);
}

/// @param id  of a template in the file
void IpfixWriter::add_name(const IpfixRecord& record, std::uint16_t id, const std::string& table) {
    static_assert(IpfixReader::kLongestTable < kLongForm);
    std::string octets;
    append(octets, id, 2);
    append(octets, table.size(), 1);
    add_data(record, id_for(record, name_template()), octets + table);
}

void IpfixWriter::add_set(std::uint16_t id, const std::string& octets) {
    if (set_at_ == 0 || open_set_ != id) {
        end_set();
        set_at_ = message_.size();
        open_set_ = id;
        append(message_, id, 2);
        append(message_, 0, 2);
    }
    message_ += octets;
}

}  // namespace tributary
