// SPDX-License-Identifier: Apache-2.0
#include "export/ipfix_reader.hpp"

#include <fixbuf/public.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <unordered_map>

#include "export/enterprise_elements.hpp"
#include "export/options.hpp"
#include "export/reverse_elements.hpp"

namespace tributary {
namespace {

constexpr std::size_t kMessageHeader = 16;  // RFC 7011 §3.1
constexpr std::size_t kSetHeader = 4;       // §3.3.2
constexpr std::uint16_t kIpfixVersion = 10;
constexpr std::uint16_t kTemplateSet = 2;
constexpr std::uint16_t kOptionsTemplateSet = 3;
constexpr std::uint16_t kFirstDataSet = 256;
constexpr std::uint16_t kEnterpriseBit = 0x8000;
constexpr std::uint16_t kElementMask = 0x7FFF;

struct Element {
    std::string name;
    IpfixType type{};
};

IpfixType to_type(std::uint64_t number) {
    return number < static_cast<std::uint64_t>(IpfixType::count) ? static_cast<IpfixType>(number)
                                                                 : IpfixType::octet_array;
}

/// Chains the fields of one name, so that nobody has to search for them per record.
void link_same_names(std::vector<IpfixField>& fields) {
    std::unordered_map<std::string, std::size_t> last;
    for (std::size_t index = 0; index < fields.size(); ++index) {
        const auto [place, is_new] = last.try_emplace(fields[index].name, index);
        if (!is_new) {
            fields[index].repeated = true;
            fields[place->second].next_same_name = index;
            place->second = index;
        }
    }
}

}  // namespace

/// What is known about elements: the registry that comes with libfixbuf, what the input itself says
/// in options records, tributary's own elements under the number that they have by default, and
/// ntop's that tributary writes.
class IpfixReader::Elements {
public:
    [[nodiscard]] Element find(std::uint32_t enterprise, std::uint16_t number) const {
        const auto learnt = learnt_.find({enterprise, number});
        if (learnt != learnt_.end()) {
            return learnt->second;
        }
        const fbInfoElement_t* known = fbInfoModelGetElementByID(model_.get(), number, enterprise);
        if (known != nullptr) {
            return {known->ref.name, to_type(known->type)};
        }
        if (enterprise == kNtopEnterprise) {
            if (const char* const name = ntop_element(number)) {
                return {name, IpfixType::unsigned32};
            }
        }
        const bool is_reverse = (number & kReverseBit) != 0;
        const EnterpriseElement* const own =
            enterprise == kDocumentationEnterprise
                ? enterprise_element(static_cast<std::uint16_t>(number & ~kReverseBit))
                : nullptr;
        if (own != nullptr) {
            return {is_reverse ? ReverseName(own->name).c_str() : own->name, own->type};
        }
        return {"e" + std::to_string(enterprise) + "id" + std::to_string(number), {}};
    }

    /// Takes note when an options record describes an enterprise's element.
    /// @source  RFC 5610 §3.9
    void learn(const IpfixRecord& record) {
        std::optional<std::uint16_t> number;
        std::uint32_t enterprise = 0;
        Element element;
        for (std::size_t index = 0; index < record.values.size(); ++index) {
            const IpfixField& field = record.layout->fields[index];
            const std::span<const std::byte> value = record.values[index];
            if (field.enterprise != 0) {
                continue;
            }
            if (field.element == 303) {  // informationElementId
                number = static_cast<std::uint16_t>(read_unsigned(value) & kElementMask);
            } else if (field.element == 339) {  // informationElementDataType
                element.type = to_type(read_unsigned(value));
            } else if (field.element == 341) {  // informationElementName
                element.name.assign(reinterpret_cast<const char*>(value.data()), value.size());
            } else if (field.element == 346) {  // privateEnterpriseNumber
                enterprise = static_cast<std::uint32_t>(read_unsigned(value));
            }
        }
        // What IANA has registered is not for an exporter to redefine.
        if (number && enterprise != 0 && !element.name.empty() &&
            fbInfoModelGetElementByID(model_.get(), *number, enterprise) == nullptr) {
            learnt_.insert_or_assign({enterprise, *number}, std::move(element));
        }
    }

private:
    struct FreeModel {
        void operator()(fbInfoModel_t* model) const noexcept { fbInfoModelFree(model); }
    };
    std::unique_ptr<fbInfoModel_t, FreeModel> model_{fbInfoModelAlloc()};
    std::map<std::pair<std::uint32_t, std::uint16_t>, Element> learnt_;
};

IpfixReader::IpfixReader(std::istream& input, std::string name)
    : input_(input), name_(std::move(name)), elements_(std::make_unique<Elements>()) {}

IpfixReader::~IpfixReader() = default;

const IpfixRecord* IpfixReader::next() {
    for (;;) {
        if (record_.layout != nullptr && set_end_ - at_ >= record_.layout->minimum_bytes) {
            read_record();
            return &record_;
        }
        if (record_.layout != nullptr) {  // what is left is padding (RFC 7011 §3.3.1)
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
    message_.resize(kMessageHeader);
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
    if (header < kMessageHeader) {
        fail("the file ends inside the message header");
    }
    const std::uint16_t version = take_u16();
    if (version != kIpfixVersion) {
        fail("this is not IPFIX: version " + std::to_string(version) + " instead of 10");
    }
    const std::size_t length = take_u16();
    if (length < kMessageHeader) {
        fail("message length " + std::to_string(length) + " is less than its header's 16");
    }
    record_.export_time = take_u32();
    record_.sequence = take_u32();
    record_.domain = take_u32();
    message_.resize(length);
    const std::size_t body = fill(kMessageHeader);
    if (body < length - kMessageHeader) {
        fail("the file ends inside the message: " + std::to_string(kMessageHeader + body) + " of " +
             std::to_string(length) + " octets");
    }
    return true;
}

void IpfixReader::open_set() {
    need(kSetHeader, message_.size(), "set header");
    const std::uint16_t id = take_u16();
    const std::size_t length = take_u16();
    const std::size_t room = message_.size() - at_ + kSetHeader;
    if (length < kSetHeader || length > room) {
        fail("set " + std::to_string(id) + " has length " + std::to_string(length) + " where " +
             std::to_string(room) + " octets are left");
    }
    set_end_ = at_ + length - kSetHeader;
    if (id == kTemplateSet || id == kOptionsTemplateSet) {
        read_templates(set_end_, id == kOptionsTemplateSet);
    } else if (id >= kFirstDataSet) {
        const auto found = templates_.find({record_.domain, id});
        if (found != templates_.end()) {
            record_.layout = &found->second;
            return;
        }
        ++sets_without_template_;
    } else if (id < kTemplateSet) {
        fail("set id " + std::to_string(id) + " is not in use");
    }
    at_ = set_end_;  // ids 4 to 255 are reserved: skipped
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
    if (layout.id < kFirstDataSet) {
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
    for (std::size_t index = 0; index < count; ++index) {
        const IpfixField& field = layout.fields.emplace_back(read_field(end));
        layout.minimum_bytes += field.length == kVariableLength ? 1 : field.length;
    }
    if (layout.minimum_bytes == 0) {
        fail("template " + std::to_string(layout.id) + " describes records without a single octet");
    }
    link_same_names(layout.fields);
    templates_.insert_or_assign({record_.domain, layout.id}, std::move(layout));
}

IpfixField IpfixReader::read_field(std::size_t end) {
    need(4, end, "template");
    IpfixField field;
    field.element = take_u16();
    field.length = take_u16();
    if ((field.element & kEnterpriseBit) != 0) {
        need(4, end, "template");
        field.element = static_cast<std::uint16_t>(field.element & kElementMask);
        field.enterprise = take_u32();
    }
    Element element = elements_->find(field.enterprise, field.element);
    field.name = std::move(element.name);
    field.type = element.type;
    const auto number = static_cast<std::uint16_t>(field.element & ~kReverseBit);
    const EnterpriseElement* const own =
        field.enterprise != 0 ? enterprise_element(number) : nullptr;
    if (own != nullptr) {
        field.own = own->name == field.name ? own->number : TributaryElement::none;
        field.own_reverse =
            ReverseName(own->name).c_str() == field.name ? own->number : TributaryElement::none;
    }
    return field;
}

/// @source  RFC 7011 §8.1
void IpfixReader::withdraw(std::uint16_t id, bool options) {
    if (id >= kFirstDataSet) {
        templates_.erase({record_.domain, id});
        return;
    }
    if (id != (options ? kOptionsTemplateSet : kTemplateSet)) {
        fail("template id " + std::to_string(id) + " cannot be withdrawn");
    }
    std::erase_if(templates_, [this, options](const auto& entry) {
        return entry.first.first == record_.domain && entry.second.options == options;
    });
}

void IpfixReader::read_record() {
    values_.clear();
    for (const IpfixField& field : record_.layout->fields) {
        const std::size_t length =
            field.length == kVariableLength ? take_length(field) : field.length;
        need(length, set_end_, field.name.c_str());
        values_.push_back(std::span<const std::byte>(message_).subspan(at_, length));
        at_ += length;
    }
    record_.values = values_;
    if (record_.layout->options) {
        elements_->learn(record_);
    }
}

/// @source  RFC 7011 §7
std::size_t IpfixReader::take_length(const IpfixField& field) {
    constexpr std::size_t kLongForm = 255;
    need(1, set_end_, field.name.c_str());
    const auto length = std::to_integer<std::size_t>(message_[at_++]);
    if (length != kLongForm) {
        return length;
    }
    need(2, set_end_, field.name.c_str());
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

void IpfixReader::fail(const std::string& what) const {
    throw IpfixDataError(name_ + ": message " + std::to_string(messages_) + " at octet " +
                         std::to_string(message_offset_) + ": " + what);
}

}  // namespace tributary
