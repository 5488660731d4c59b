// SPDX-License-Identifier: Apache-2.0
#include "export/listing/ipfix_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <system_error>
#include <unordered_map>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix_message.hpp"
#include "export/listing/printable_text.hpp"

namespace tributary {
namespace {

constexpr std::uint16_t kElementMask = 0x7FFF;

/// Whether the octets begin as a pcap or pcapng file does.
bool is_capture(std::span<const std::byte> octets) noexcept {
    constexpr std::array<std::uint64_t, 5> kMagics{0xA1B2C3D4, 0xD4C3B2A1, 0xA1B23C4D, 0x4D3CB2A1,
                                                   0x0A0D0D0A};
    return std::find(kMagics.begin(), kMagics.end(), read_unsigned(octets.first(4))) !=
           kMagics.end();
}

/// Chains the fields of one element, so that no record needs a search for them.
void link_same_elements(std::vector<IpfixField>& fields) {
    std::unordered_map<const IpfixElement*, std::size_t> last;
    for (std::size_t index = 0; index < fields.size(); ++index) {
        const auto [place, is_new] = last.try_emplace(fields[index].element, index);
        if (!is_new) {
            fields[index].repeated = true;
            fields[place->second].next_same_element = static_cast<std::uint16_t>(index);
            place->second = index;
        }
    }
}

bool have_same_fields(const IpfixTemplate& one, const IpfixTemplate& other) {
    return one.options == other.options &&
           std::ranges::equal(one.fields, other.fields,
                              [](const IpfixField& a, const IpfixField& b) {
                                  return a.element == b.element && a.length == b.length;
                              });
}

}  // namespace

IpfixReader::IpfixReader(std::istream& input, const std::string& name,
                         std::shared_ptr<const ElementRegistry> registry)
    : input_(input), name_(printable(name)), elements_(std::move(registry)) {}

const IpfixRecord* IpfixReader::next() {
    for (;;) {
        if (record_.layout != nullptr && set_end_ - at_ >= record_.layout->minimum_bytes) {
            read_record();
            return &record_;
        }
        if (record_.layout != nullptr) {  // the rest is padding (RFC 7011 §3.3.1)
            at_ = set_end_;
            record_.layout = nullptr;
        } else if (at_ < message_.size()) {
            open_set();
        } else if (!read_message()) {
            return nullptr;
        }
    }
}

/// @return  false at the end of the input
bool IpfixReader::read_message() {
    message_offset_ += message_.size();
    message_.resize(IpfixMessage::kHeader);
    at_ = 0;
    const auto fill = [this](std::size_t from) {
        errno = 0;
        input_.read(reinterpret_cast<char*>(message_.data() + from),
                    static_cast<std::streamsize>(message_.size() - from));
        if (input_.bad()) {
            throw IpfixInputError(name_ + ": cannot read: " +
                                  std::generic_category().message(errno != 0 ? errno : EIO));
        }
        return static_cast<std::size_t>(input_.gcount());
    };
    const std::size_t header = fill(0);
    if (header == 0) {
        message_.clear();
        return false;
    }
    ++messages_;
    if (header < IpfixMessage::kHeader) {
        fail("the file ends inside the message header");
    }
    const std::uint16_t version = take_u16();
    if (version != IpfixMessage::kVersion) {
        if (messages_ == 1 && is_capture(message_)) {
            fail("this is a capture of packets; tributaryd --read meters it into IPFIX");
        }
        fail("this is not IPFIX: version " + std::to_string(version) + " instead of 10");
    }
    const std::size_t length = take_u16();
    if (length < IpfixMessage::kHeader) {
        fail("message length " + std::to_string(length) + " is less than its header's 16");
    }
    record_.export_time = take_u32();
    record_.sequence = take_u32();
    record_.domain = take_u32();
    message_.resize(length);
    const std::size_t body = fill(IpfixMessage::kHeader);
    if (body < length - IpfixMessage::kHeader) {
        fail("the file ends inside the message: " + std::to_string(IpfixMessage::kHeader + body) +
             " of " + std::to_string(length) + " octets");
    }
    return true;
}

void IpfixReader::open_set() {
    need(IpfixMessage::kSetHeader, message_.size(), "set header");
    const std::uint16_t id = take_u16();
    const std::size_t length = take_u16();
    const std::size_t room = message_.size() - at_ + IpfixMessage::kSetHeader;
    if (length < IpfixMessage::kSetHeader || length > room) {
        fail("set " + std::to_string(id) + " has length " + std::to_string(length) + " where " +
             std::to_string(room) + " octets are left");
    }
    set_end_ = at_ + length - IpfixMessage::kSetHeader;
    if (id == IpfixMessage::kTemplateSet || id == IpfixMessage::kOptionsTemplateSet) {
        read_templates(set_end_, id == IpfixMessage::kOptionsTemplateSet);
    } else if (id >= IpfixMessage::kFirstDataSet) {
        record_.layout = find_template(id);
        if (record_.layout != nullptr) {
            return;
        }
        ++sets_without_template_;
    } else if (id < IpfixMessage::kTemplateSet) {
        fail("set id " + std::to_string(id) + " is not in use");
    }
    at_ = set_end_;  // ids 4 to 255 are reserved: skipped
}

/// @return  nullptr: no template that is kept has this id
const IpfixTemplate* IpfixReader::find_template(std::uint16_t id) const {
    for (const bool options : {false, true}) {
        const auto found = templates_.find({record_.domain, options, id});
        if (found != templates_.end()) {
            return &found->second;
        }
    }
    return nullptr;
}

void IpfixReader::read_templates(std::size_t end, bool options) {
    while (end - at_ >= 4 && read_unsigned(std::span(message_).subspan(at_, 2)) != 0) {
        read_template(end, options);
    }
    at_ = end;
}

void IpfixReader::read_template(std::size_t end, bool options) {
    IpfixTemplate layout;
    layout.options = options;
    layout.id = take_u16();
    const std::size_t count = take_u16();
    if (count == 0) {
        withdraw(layout.id, options);
        return;
    }
    if (layout.id < IpfixMessage::kFirstDataSet) {
        fail("template id " + std::to_string(layout.id) + " is below 256");
    }
    if (options) {
        need(2, end, "options template");
        layout.scope_fields = take_u16();
    }
    if (layout.scope_fields > count) {
        fail("template " + std::to_string(layout.id) + " has " +
             std::to_string(layout.scope_fields) + " scope fields of " + std::to_string(count));
    }
    const bool has_elements = read_fields(end, count, layout);
    // A template that is sent again is the same one. With other fields it is another table's, until
    // that is named.
    if (const IpfixTemplate* const before = find_template(layout.id);
        before != nullptr && have_same_fields(*before, layout)) {
        layout.table = before->table;
    }
    forget_id(layout.id);
    if (has_elements && templates_.size() < kMostTemplates &&
        fields_ + layout.fields.size() <= kMostFields) {
        keep(std::move(layout));
    } else {
        refuse(layout);
    }
}

/// @return  false: it names more elements than are kept
bool IpfixReader::read_fields(std::size_t end, std::size_t count, IpfixTemplate& layout) {
    bool has_elements = true;
    std::size_t scope_fields = 0;
    for (std::size_t index = 0; index < count; ++index) {
        const IpfixField field = read_field(end);
        has_elements = has_elements && field.element != nullptr;
        if (field.length == 0) {
            continue;  // without a value in any record
        }
        scope_fields += index < layout.scope_fields ? 1 : 0;
        layout.minimum_bytes += field.length == kVariableLength ? 1 : field.length;
        layout.fields.push_back(field);
    }
    if (layout.minimum_bytes == 0) {
        fail("template " + std::to_string(layout.id) + " describes records without a single octet");
    }
    layout.scope_fields = static_cast<std::uint16_t>(scope_fields);
    return has_elements;
}

IpfixField IpfixReader::read_field(std::size_t end) {
    need(4, end, "template");
    IpfixField field;
    std::uint16_t number = take_u16();
    std::uint32_t enterprise = 0;
    field.length = take_u16();
    if ((number & IpfixMessage::kEnterpriseBit) != 0) {
        need(4, end, "template");
        number = static_cast<std::uint16_t>(number & kElementMask);
        enterprise = take_u32();
    }
    field.element = elements_.find(enterprise, number);
    return field;
}

void IpfixReader::keep(IpfixTemplate layout) {
    layout.fields.shrink_to_fit();
    link_same_elements(layout.fields);
    fields_ += layout.fields.size();
    templates_.emplace(TemplateKey{record_.domain, layout.options, layout.id}, std::move(layout));
}

void IpfixReader::refuse(const IpfixTemplate& layout) {
    ++refused_templates_;
    if (first_refusal_.empty()) {
        first_refusal_ = place() + "template " + std::to_string(layout.id) +
                         " is beyond what is kept: " + std::to_string(kMostTemplates) +
                         " templates, " + std::to_string(kMostFields) + " fields in them, " +
                         std::to_string(ElementNames::kMostElements) + " elements";
    }
}

/// @source  RFC 7011 §8.1
void IpfixReader::withdraw(std::uint16_t id, bool options) {
    constexpr std::uint16_t kLast = std::numeric_limits<std::uint16_t>::max();
    if (id < IpfixMessage::kFirstDataSet) {
        if (id != (options ? IpfixMessage::kOptionsTemplateSet : IpfixMessage::kTemplateSet)) {
            fail("template id " + std::to_string(id) + " cannot be withdrawn");
        }
        forget(templates_.lower_bound({record_.domain, options, 0}),
               templates_.upper_bound({record_.domain, options, kLast}));
        return;
    }
    forget_id(id);
}

/// An id belongs to one template of either kind.
void IpfixReader::forget_id(std::uint16_t id) {
    for (const bool options : {false, true}) {
        forget(templates_.lower_bound({record_.domain, options, id}),
               templates_.upper_bound({record_.domain, options, id}));
    }
}

void IpfixReader::forget(Templates::iterator first, Templates::iterator last) {
    for (auto each = first; each != last; ++each) {
        fields_ -= each->second.fields.size();
    }
    templates_.erase(first, last);
}

void IpfixReader::read_record() {
    values_.clear();
    for (const IpfixField& field : record_.layout->fields) {
        const std::size_t length =
            field.length == kVariableLength ? take_length(field) : field.length;
        need(length, set_end_, field.element->name.c_str());
        values_.push_back(std::span<const std::byte>(message_).subspan(at_, length));
        at_ += length;
    }
    record_.values = values_;
    record_.table = {};
    record_.about = nullptr;
    if (record_.layout->options) {
        elements_.learn(record_);
        learn_about_template();
    } else {
        take_table();
    }
}

void IpfixReader::take_table() {
    if (record_.layout->table != nullptr) {
        record_.table = *record_.layout->table;
    } else if (!tables_.empty()) {
        record_.table = kUnnamedTable;
    } else {
        ++flows_before_tables_;
    }
}

/// Reads an options record whose scope is a template. If it says nothing but the template's name,
/// that is the name of a table. One that describes templates, too, as YAF sends it, is no such
/// record: it names the kinds of records of one table.
void IpfixReader::learn_about_template() {
    constexpr std::uint16_t kTemplateId = 145;
    const IpfixTemplate& layout = *record_.layout;
    const auto is_element = [&layout](std::size_t field, std::uint32_t enterprise,
                                      std::uint16_t number) {
        const IpfixElement& element = *layout.fields[field].element;
        return element.enterprise == enterprise && element.number == number;
    };
    if (layout.scope_fields == 0 || !is_element(0, 0, kTemplateId)) {
        return;
    }
    const auto id = static_cast<std::uint16_t>(read_unsigned(values_[0]));
    const auto found = templates_.find({record_.domain, false, id});
    if (found == templates_.end()) {
        return;
    }
    record_.about = &found->second;
    if (layout.fields.size() == 2 && is_element(1, kCertEnterprise, kTemplateNameNumber)) {
        name_table(found->second,
                   {reinterpret_cast<const char*>(values_[1].data()), values_[1].size()});
    }
}

void IpfixReader::name_table(IpfixTemplate& layout, std::string_view name) {
    const std::string text = printable(name.substr(0, kLongestTable + 1));
    layout.table = nullptr;
    if (text.empty() || text == kUnnamedTable) {
        return;
    }
    auto known = std::ranges::find(tables_, text);
    if (known == tables_.end()) {
        if (text.size() > kLongestTable || tables_.size() == kMostTables) {
            ++refused_tables_;
            return;
        }
        known = tables_.insert(tables_.end(), text);
    }
    layout.table = &*known;
}

/// @source  RFC 7011 §7
std::size_t IpfixReader::take_length(const IpfixField& field) {
    constexpr std::size_t kLongForm = 255;
    need(1, set_end_, field.element->name.c_str());
    const auto length = std::to_integer<std::size_t>(message_[at_++]);
    if (length != kLongForm) {
        return length;
    }
    need(2, set_end_, field.element->name.c_str());
    return take_u16();
}

void IpfixReader::need(std::size_t octets, std::size_t end, const char* what) const {
    if (end - at_ < octets) {
        fail(std::string(what) + " needs " + std::to_string(octets) + " octets, " +
             std::to_string(end - at_) + " are left");
    }
}

std::uint16_t IpfixReader::take_u16() noexcept {
    at_ += 2;
    return static_cast<std::uint16_t>(read_unsigned(std::span(message_).subspan(at_ - 2, 2)));
}

std::uint32_t IpfixReader::take_u32() noexcept {
    at_ += 4;
    return static_cast<std::uint32_t>(read_unsigned(std::span(message_).subspan(at_ - 4, 4)));
}

std::string IpfixReader::place() const {
    return name_ + ": message " + std::to_string(messages_) + " at octet " +
           std::to_string(message_offset_) + ": ";
}

void IpfixReader::fail(const std::string& what) const { throw IpfixDataError(place() + what); }

}  // namespace tributary
