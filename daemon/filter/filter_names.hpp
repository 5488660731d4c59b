// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <netdb.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

/// The addresses of host names in a filter's compilation.
enum class NameUse : std::uint8_t {
    resolve,     ///< the addresses from the system's resolver
    check,       ///< made-up addresses of both families, another pair for each name
    check_ipv4,  ///< the same of one family, because some primitives are for one only
    check_ipv6,
};

/// What the thread that looks names up and the one that waits for it tell each other.
/// @thread  any
struct NameInquiry {
    std::atomic<bool> has_begun{};  ///< the resolver was asked
    /// The waiting thread has given up: the other one asks the resolver for no further name.
    std::atomic<bool> is_given_up{};
};

/// The host names of one filter. libpcap asks for each name once per link type; the resolver is
/// asked once.
///
/// @thread  one, except for the inquiry
class FilterNames {
public:
    /// @param inquiry  shared with the thread that waits for the filter, and outlives the names;
    ///                 nullptr: no other thread waits
    explicit FilterNames(NameUse use, NameInquiry* inquiry = nullptr)
        : use_(use), inquiry_(inquiry) {}

    /// The addresses of a name, in getaddrinfo()'s form; for freeaddrinfo().
    ///
    /// @return  nullptr: none, see fault()
    /// @cost    with NameUse::resolve as long as the resolver needs, which can be a minute
    [[nodiscard]] addrinfo* look_up(const char* name) noexcept;
    /// The looked-up names, each once.
    [[nodiscard]] std::vector<std::string> names() const;
    /// Why a name has no address; empty: all have one.
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

private:
    struct Name {
        std::string name;
        std::vector<std::string> addresses;  ///< as numbers
    };

    [[nodiscard]] const Name& known(const char* name);
    [[nodiscard]] std::vector<std::string> made_up() const;
    [[nodiscard]] std::vector<std::string> resolved(const char* name);

    NameUse use_;
    NameInquiry* inquiry_;
    std::vector<Name> names_;
    std::string fault_;
};

/// While it lives, libpcap looks names up here, in this thread.
class NamesInUse {
public:
    explicit NamesInUse(FilterNames& names) noexcept;
    NamesInUse(const NamesInUse&) = delete;
    NamesInUse& operator=(const NamesInUse&) = delete;
    ~NamesInUse();
};

}  // namespace tributary
