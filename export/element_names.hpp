// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "export/ipfix_template.hpp"

namespace tributary {

/// The elements that an input has named so far, in templates or in options records that describe
/// them (RFC 5610).
///
/// An element has one name at a time, and no other element has that name:
///  * IANA's and other registered elements have their registered names, which no exporter changes;
///    tributary's own have theirs under 32473 and where a record describes them;
///  * one that a record describes has its enterprise's number before its name, "12345/peer", so
///  that
///    no exporter can take a name that is not its own;
///  * every other one is "e12345id7".
/// @thread  one
class ElementNames {
public:
    /// Elements that are kept, registered ones aside: some 150 octets each, and more than any
    /// exporter has. An input of templates with ever other elements would otherwise be twenty times
    /// as large in memory.
    static constexpr std::size_t kMostElements = 65'536;
    /// Octets of a name that a record tells; IANA's longest has 48. A record of JSON has the name
    /// of each of its values, which may be one octet long.
    static constexpr std::size_t kLongestName = 128;

    ElementNames();
    ElementNames(const ElementNames&) = delete;
    ElementNames& operator=(const ElementNames&) = delete;
    ~ElementNames();

    /// @return  good as long as this object, and renamed when a record describes it; nullptr: it is
    ///          not registered, and there are kMostElements others
    [[nodiscard]] const IpfixElement* find(std::uint32_t enterprise, std::uint16_t number);

    /// Takes note when an options record describes an enterprise's element.
    /// @source  RFC 5610 §3.9
    void learn(const IpfixRecord& record);

    /// Descriptions that were not taken: the name is longer than kLongestName or that of another
    /// element, or there are kMostElements others.
    [[nodiscard]] std::uint64_t refused_names() const noexcept { return refused_names_; }

private:
    class Registry;
    using Key = std::pair<std::uint32_t, std::uint16_t>;  ///< enterprise, number
    struct Description;

    [[nodiscard]] IpfixElement* element(Key key);
    [[nodiscard]] bool rename(IpfixElement& element, const std::string& name);
    void describe(const Description& description);

    std::unique_ptr<Registry> registry_;
    // Ordered, because an input could choose numbers that one bucket of a hash table has to take.
    std::map<Key, IpfixElement> elements_;
    std::set<std::string> taken_;  ///< the names of all elements
    std::uint64_t refused_names_{};
};

}  // namespace tributary
