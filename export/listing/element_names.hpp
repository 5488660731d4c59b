// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "export/ipfix/enterprise_elements.hpp"
#include "export/ipfix/ipfix_template.hpp"
#include "export/messages/listed_counts.hpp"
#include "flowcache/fields/field_groups.hpp"

namespace tributary {

/// The registered elements: those of libfixbuf, tributary's own under their default number, and
/// ntop's and CERT's that tributary writes. Elements of declared tables are tributary's own here as
/// far as it was given their groups; a reader of IPFIX knows them by their descriptions (RFC 5610).
/// @thread  any; it does not change
class ElementRegistry {
public:
    struct Entry {
        std::string name;
        IpfixType type{};
    };

    /// @param tables  groups of tables, with elements that are registered too; they outlive all use
    /// @cost          a millisecond: some thousand elements
    explicit ElementRegistry(const FieldGroups& tables = {});
    ElementRegistry(const ElementRegistry&) = delete;
    ElementRegistry& operator=(const ElementRegistry&) = delete;
    ~ElementRegistry();

    /// @return  nothing when the element is not registered
    [[nodiscard]] std::optional<Entry> find(std::uint32_t enterprise, std::uint16_t number) const;
    /// The element of tributary's own with this number under its enterprise; for a reverse element
    /// the forward one.
    [[nodiscard]] std::optional<EnterpriseElement> own(std::uint32_t enterprise,
                                                       std::uint16_t number) const noexcept;
    /// Whether an element has this name.
    [[nodiscard]] bool has(std::string_view name) const;
    /// Whether no exporter may describe the element in another way.
    [[nodiscard]] bool is_fixed(std::uint32_t enterprise, std::uint16_t number) const;

private:
    struct Model;

    [[nodiscard]] const char* ntop_name(std::uint16_t number) const;

    FieldGroups groups_;
    std::unique_ptr<Model> model_;
};

/// Whether a user means an element by this name: it is the element's, or without the number of its
/// enterprise, "peer" for "12345/peer".
[[nodiscard]] bool is_named(const IpfixElement& element, std::string_view name) noexcept;

/// The elements that an input has named so far, in templates or in options records that describe
/// them (RFC 5610).
///
/// An element has one name at a time, and no other element has that name:
///  * IANA's and other registered elements have their registered names, which no exporter changes;
///    tributary's own have theirs under 32473 and where a record describes them;
///  * an element with a description has its enterprise's number before its name, "12345/peer", so
///    that no exporter can take the name of another's element;
///  * every other element is "e12345id7".
/// @thread  one
class ElementNames {
public:
    /// Unregistered elements that are kept: some 150 octets each, and more than any exporter has.
    /// Without the limit, an input of templates with ever other elements would take twenty times
    /// its size in memory.
    static constexpr std::size_t kMostElements = 65'536;
    /// Octets of a described name; IANA's longest has 48. A record of JSON has the name of each of
    /// its values, which may be one octet long.
    static constexpr std::size_t kLongestName = 128;

    explicit ElementNames(std::shared_ptr<const ElementRegistry> registry)
        : registry_(std::move(registry)) {}
    ElementNames(const ElementNames&) = delete;
    ElementNames& operator=(const ElementNames&) = delete;
    ~ElementNames() = default;

    /// @return  valid as long as this object, and renamed when a record describes it; nullptr: it
    ///          is not registered, and there are kMostElements others
    [[nodiscard]] const IpfixElement* find(std::uint32_t enterprise, std::uint16_t number);

    /// Whether a user can mean one of them by this name (is_named()).
    [[nodiscard]] bool has(std::string_view name) const;

    /// Reads an options record that describes an enterprise's element.
    /// @source  RFC 5610 §3.9
    void learn(const IpfixRecord& record);

    /// Descriptions that were not taken: the name is longer than kLongestName or that of another
    /// element, or there are kMostElements others.
    [[nodiscard]] std::uint64_t refused_names() const noexcept { return refused_names_; }

private:
    using Key = std::pair<std::uint32_t, std::uint16_t>;  ///< enterprise, number
    struct Description;

    [[nodiscard]] IpfixElement* element(Key key);
    [[nodiscard]] bool rename(IpfixElement& element, const std::string& name);
    void give_meaning(IpfixElement& element, std::string_view description) const;
    void set_places(IpfixElement& element, bool is_own) const;
    void describe(const Description& description);

    std::shared_ptr<const ElementRegistry> registry_;  ///< of all inputs that are read
    // Ordered, because an input could choose numbers that one bucket of a hash table has to take.
    std::map<Key, IpfixElement> elements_;
    ListedCounts counts_;
    std::set<std::string> taken_;  ///< the names of all elements
    std::size_t unregistered_{};   ///< of the elements
    std::uint64_t refused_names_{};
};

}  // namespace tributary
