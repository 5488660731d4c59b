// SPDX-License-Identifier: Apache-2.0
#include "daemon/filter/filter_names.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <pcap/pcap.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <new>

namespace tributary {
namespace {

/// The names of the filter in compilation by this thread; libpcap's look-up has no argument for
/// them.
thread_local FilterNames* names_in_use = nullptr;

struct AddressListCloser {
    void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressListCloser>;

/// Resolves a name as libpcap does.
///
/// @return  0, or getaddrinfo's error
int ask(const char* name, int flags, AddressList& found) noexcept {
    addrinfo hints{};
    hints.ai_flags = flags;
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;  // each address comes once, not once per type of socket
    hints.ai_protocol = IPPROTO_TCP;
    addrinfo* list = nullptr;
    const int error = ::getaddrinfo(name, nullptr, &hints, &list);
    found.reset(error == 0 ? list : nullptr);
    return error;
}

std::string number_of(const addrinfo& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* const bytes =
        address.ai_family == AF_INET6
            ? static_cast<const void*>(
                  &reinterpret_cast<const sockaddr_in6*>(address.ai_addr)->sin6_addr)
            : static_cast<const void*>(
                  &reinterpret_cast<const sockaddr_in*>(address.ai_addr)->sin_addr);
    return ::inet_ntop(address.ai_family, bytes, text.data(), text.size());
}

/// glibc's lists are single nodes: freeaddrinfo() takes them joined.
addrinfo* joined(const std::vector<std::string>& numbers) noexcept {
    AddressList all;
    for (const std::string& number : numbers) {
        AddressList one;
        if (ask(number.c_str(), AI_NUMERICHOST, one) == 0) {
            one->ai_next = all.release();
            all = std::move(one);
        }
    }
    return all.release();
}

}  // namespace

NamesInUse::NamesInUse(FilterNames& names) noexcept { names_in_use = &names; }

NamesInUse::~NamesInUse() { names_in_use = nullptr; }

addrinfo* FilterNames::look_up(const char* name) noexcept {
    AddressList number;  // libpcap also looks up IPv6 addresses here
    if (ask(name, AI_NUMERICHOST, number) == 0) {
        return number.release();
    }
    try {
        return joined(known(name).addresses);
    } catch (const std::bad_alloc&) {  // no exception may pass through libpcap
        fault_ = "no memory";          // short: needs no memory
        return nullptr;
    }
}

std::vector<std::string> FilterNames::names() const {
    std::vector<std::string> names;
    std::ranges::transform(names_, std::back_inserter(names), &Name::name);
    return names;
}

const FilterNames::Name& FilterNames::known(const char* name) {
    const auto found = std::ranges::find(names_, name, &Name::name);
    if (found != names_.end()) {
        return *found;
    }
    std::vector<std::string> addresses = use_ == NameUse::resolve ? resolved(name) : made_up();
    return names_.emplace_back(Name{.name = name, .addresses = std::move(addresses)});
}

/// Different addresses for each name: `host a and not host b` must not look impossible.
std::vector<std::string> FilterNames::made_up() const {
    const std::size_t number = names_.size();
    std::vector<std::string> addresses;
    if (use_ != NameUse::check_ipv6) {
        addresses.push_back(fmt::format("198.18.{}.{}", number >> 8U & 0xFFU, number & 0xFFU));
    }
    if (use_ != NameUse::check_ipv4) {
        addresses.push_back(fmt::format("2001:db8::{:x}", number));
    }
    return addresses;
}

std::vector<std::string> FilterNames::resolved(const char* name) {
    if (inquiry_ != nullptr) {
        inquiry_->has_begun.store(true, std::memory_order_relaxed);  // no other data depends on it
        if (inquiry_->is_given_up.load(std::memory_order_relaxed)) {
            fault_ = "given up";
            return {};
        }
    }
    AddressList list;
    const int error = ask(name, 0, list);
    std::vector<std::string> addresses;
    for (const addrinfo* each = list.get(); each != nullptr; each = each->ai_next) {
        addresses.push_back(number_of(*each));
    }
    if (addresses.empty()) {
        fault_ = fmt::format("no address for {} ({})", name, ::gai_strerror(error));
    }
    return addresses;
}

}  // namespace tributary

/// Replaces libpcap's function of this name. Its compiler calls that for each name and link type,
/// and asks the resolver each time. If another libpcap still calls its own function, filters keep
/// their meaning and compile more slowly.
extern "C" addrinfo* pcap_nametoaddrinfo(const char* name) {
    using namespace tributary;
    if (names_in_use != nullptr) {
        return names_in_use->look_up(name);
    }
    AddressList list;
    static_cast<void>(ask(name, 0, list) == 0);
    return list.release();
}
