// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <istream>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "export/ipfix/ipfix_template.hpp"
#include "export/listing/element_names.hpp"

namespace tributary {

/// The input is no IPFIX, is cut, or contradicts itself. The text names file, message and offset.
struct IpfixDataError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The input cannot be read.
struct IpfixInputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Reads the records of an IPFIX file (RFC 5655: messages one after the other) of any exporter.
///
/// Messages, sets, templates and records are parsed here, with every length checked, because
/// libfixbuf's decoder trusts its input too much and does not report where a fault lies.
///
/// Time and memory are in proportion to the input, and the memory kept between messages is bounded:
/// some 16 octets for each field of kMostFields, 150 for each of kMostTemplates and of the elements
/// (element_names.hpp). Templates beyond that are refused, and the rest is read.
/// @thread  one
class IpfixReader {
public:
    /// Templates of all domains together that are kept at a time: four times as many as one domain
    /// has ids.
    static constexpr std::size_t kMostTemplates = 262'144;
    /// Fields of these templates together; a full message describes at most 16,000.
    static constexpr std::size_t kMostFields = 1'048'576;
    /// Names of tables that are kept; those of the probe's are nine.
    static constexpr std::size_t kMostTables = 256;
    /// Octets of such a name.
    static constexpr std::size_t kLongestTable = 128;

    /// @param input     binary, at the first message; outlives the reader
    /// @param name      of the input, for messages to the user
    /// @param registry  one is enough for many inputs
    IpfixReader(
        std::istream& input, const std::string& name,
        std::shared_ptr<const ElementRegistry> registry = std::make_shared<ElementRegistry>());
    IpfixReader(const IpfixReader&) = delete;
    IpfixReader& operator=(const IpfixReader&) = delete;
    ~IpfixReader() = default;

    /// Finds the next record; options records are among them.
    ///
    /// @return  valid until the next call; nullptr at the end of the input
    /// @errors  IpfixDataError, IpfixInputError; all records before the fault have been returned by
    ///          then
    /// @cost    memory for one message and the templates
    [[nodiscard]] const IpfixRecord* next();

    /// Sets skipped so far because their template has not been seen, or was refused.
    [[nodiscard]] std::uint64_t sets_without_template() const noexcept {
        return sets_without_template_;
    }
    /// Templates refused so far, because others take all the room.
    [[nodiscard]] std::uint64_t refused_templates() const noexcept { return refused_templates_; }
    /// The first of them, with its place, as in the message of a fault; empty: there is none.
    [[nodiscard]] const std::string& first_refusal() const noexcept { return first_refusal_; }
    /// See ElementNames.
    [[nodiscard]] std::uint64_t refused_names() const noexcept { return elements_.refused_names(); }
    /// Whether a user can mean by this name (is_named()) an element that the input has named.
    [[nodiscard]] bool has_element(std::string_view name) const { return elements_.has(name); }

    /// The tables that options records have named so far, in the order of their names; printable.
    /// No name goes again.
    [[nodiscard]] const std::deque<std::string>& tables() const noexcept { return tables_; }
    /// Names of tables that were not taken, because they are longer than kLongestTable or more than
    /// kMostTables. The records of their templates have no table then.
    [[nodiscard]] std::uint64_t refused_tables() const noexcept { return refused_tables_; }
    /// Records of flows that came before the input named its first table, if it named one later:
    /// which tables they are of is not known.
    [[nodiscard]] std::uint64_t records_before_tables() const noexcept {
        return tables_.empty() ? 0 : flows_before_tables_;
    }

private:
    /// Domain, whether it is of options, id. In this order the templates that are withdrawn
    /// together are neighbours.
    using TemplateKey = std::tuple<std::uint32_t, bool, std::uint16_t>;
    using Templates = std::map<TemplateKey, IpfixTemplate>;

    [[nodiscard]] bool read_message();
    void open_set();
    [[nodiscard]] const IpfixTemplate* find_template(std::uint16_t id) const;
    void read_templates(std::size_t end, bool options);
    void read_template(std::size_t end, bool options);
    [[nodiscard]] bool read_fields(std::size_t end, std::size_t count, IpfixTemplate& layout);
    [[nodiscard]] IpfixField read_field(std::size_t end);
    void keep(IpfixTemplate layout);
    void refuse(const IpfixTemplate& layout);
    void withdraw(std::uint16_t id, bool options);
    void forget_id(std::uint16_t id);
    void forget(Templates::iterator first, Templates::iterator last);
    void read_record();
    void take_table();
    void learn_about_template();
    void name_table(IpfixTemplate& layout, std::string_view name);
    [[nodiscard]] std::size_t take_length(const IpfixField& field);
    void need(std::size_t octets, std::size_t end, const char* what) const;
    [[nodiscard]] std::uint16_t take_u16() noexcept;
    [[nodiscard]] std::uint32_t take_u32() noexcept;
    [[nodiscard]] std::string place() const;
    [[noreturn]] void fail(const std::string& what) const;

    std::istream& input_;
    std::string name_;  ///< printable
    ElementNames elements_;
    Templates templates_;
    std::size_t fields_{};  ///< of all templates
    std::vector<std::byte> message_;
    std::uint64_t messages_{};        ///< begun so far
    std::uint64_t message_offset_{};  ///< of the current message in the input
    std::size_t at_{};                ///< read position in message_
    std::size_t set_end_{};           ///< of the open data set
    std::vector<std::span<const std::byte>> values_;
    IpfixRecord record_;  ///< record_.layout: the template of the open data set, if there is one
    std::uint64_t sets_without_template_{};
    std::uint64_t refused_templates_{};
    std::string first_refusal_;
    std::deque<std::string> tables_;  ///< templates point to them
    std::uint64_t refused_tables_{};
    std::uint64_t flows_before_tables_{};
};

}  // namespace tributary
