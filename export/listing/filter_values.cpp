// SPDX-License-Identifier: Apache-2.0
#include "export/listing/filter_values.hpp"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <limits>
#include <span>
#include <string>

#include "export/messages/ip_text.hpp"

namespace tributary {
namespace {

constexpr std::uint16_t kMaximumPort = 65535;

/// @return  in network byte order
std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
    const std::string address(text);
    in_addr parsed{};
    // A NUL would end what inet_pton() reads.
    if (address.find('\0') != std::string::npos ||
        inet_pton(AF_INET, address.c_str(), &parsed) != 1) {
        return std::nullopt;
    }
    return parsed.s_addr;
}

/// For instance "10.1": the prefix is as long as the numbers given.
std::optional<NetCondition> parse_partial_net(std::string_view text) {
    constexpr std::size_t kOctets = 4;
    NetCondition net{.ip_version = 4};
    std::size_t octets = 0;
    for (std::size_t at = 0; at <= text.size(); ++octets) {
        const std::size_t dot = std::min(text.find('.', at), text.size());
        const auto octet = parse_number(text.substr(at, dot - at), 255);
        if (!octet || octets == kOctets) {
            return std::nullopt;
        }
        net.address[octets] = static_cast<std::byte>(*octet);
        at = dot + 1;
    }
    net.prefix_bits = static_cast<std::uint8_t>(8 * octets);
    return net;
}

bool is_name(std::string_view text) {
    return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
           std::all_of(text.begin(), text.end(), [](unsigned char character) {
               return std::isalnum(character) != 0 || character == '-' || character == '_';
           });
}

std::optional<std::uint16_t> find_service(std::string_view name) {
    if (!is_name(name)) {
        return std::nullopt;
    }
    std::array<char, 4096> room{};
    servent entry{};
    servent* found = nullptr;
    getservbyname_r(std::string(name).c_str(), nullptr, &entry, room.data(), room.size(), &found);
    return found == nullptr
               ? std::nullopt
               : std::optional<std::uint16_t>(ntohs(static_cast<std::uint16_t>(found->s_port)));
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    const auto number = parse_number(text, kMaximumPort);
    return number ? std::optional(static_cast<std::uint16_t>(*number)) : find_service(text);
}

struct Unit {
    std::string_view suffix;
    std::uint64_t factor;
};
constexpr std::array<Unit, 10> kCounts{{{"", 1},
                                        {"k", 1'000},
                                        {"K", 1'000},
                                        {"M", 1'000'000},
                                        {"G", 1'000'000'000},
                                        {"T", 1'000'000'000'000},
                                        {"Ki", std::uint64_t{1} << 10U},
                                        {"Mi", std::uint64_t{1} << 20U},
                                        {"Gi", std::uint64_t{1} << 30U},
                                        {"Ti", std::uint64_t{1} << 40U}}};
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::array<Unit, 10> kTimes{{{"", kSecond},
                                       {"ns", 1},
                                       {"us", 1'000},
                                       {"ms", 1'000'000},
                                       {"s", kSecond},
                                       {"m", 60 * kSecond},
                                       {"min", 60 * kSecond},
                                       {"h", 3600 * kSecond},
                                       {"d", 86'400 * kSecond},
                                       {"w", 604'800 * kSecond}}};

/// A number with its unit, in the smallest unit.
struct Part {
    std::uint64_t number;
    std::uint64_t factor;       ///< of its unit
    std::string_view unit;      ///< empty: there is none
    std::string_view unparsed;  ///< the text behind the unit
};

/// Takes a whole number and its unit from the front of a text.
///
/// @return  nothing: no number is there, the unit is none of `units`, or 64 bits do not hold it
std::optional<Part> take_part(std::string_view text, std::span<const Unit> units, bool of_octets) {
    constexpr std::string_view kDigits = "0123456789";
    const std::size_t digits = std::min(text.find_first_not_of(kDigits), text.size());
    const std::size_t end = std::min(text.find_first_of(kDigits, digits), text.size());
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + digits, number);
    std::string_view unit = text.substr(digits, end - digits);
    if (of_octets && unit.size() > 1 && unit.back() == 'B') {
        unit.remove_suffix(1);
    }
    const auto known = std::ranges::find(units, unit, &Unit::suffix);
    if (error != std::errc{} || known == units.end() ||
        number > std::numeric_limits<std::uint64_t>::max() / known->factor) {
        return std::nullopt;
    }
    return Part{number * known->factor, known->factor, unit, text.substr(end)};
}

}  // namespace

std::optional<NetCondition> parse_host(std::string_view text) {
    NetCondition net;
    if (text.find(':') == std::string_view::npos) {
        const auto address = parse_ipv4(text);
        if (!address) {
            return std::nullopt;
        }
        const auto octets = std::bit_cast<std::array<std::byte, 4>>(*address);
        std::copy(octets.begin(), octets.end(), net.address.begin());
        net.ip_version = 4;
        net.prefix_bits = 32;
        return net;
    }
    const std::string address(text);
    net.ip_version = 6;
    net.prefix_bits = 128;
    const bool is_address = address.find('\0') == std::string::npos &&
                            inet_pton(AF_INET6, address.c_str(), net.address.data()) == 1;
    return is_address ? std::optional(net) : std::nullopt;
}

std::optional<NetCondition> parse_net(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
        return parse_partial_net(text);
    }
    std::optional<NetCondition> net = parse_host(text.substr(0, slash));
    if (!net) {
        return std::nullopt;
    }
    const auto bits = parse_number(text.substr(slash + 1), net->prefix_bits);
    if (!bits) {
        return std::nullopt;
    }
    net->prefix_bits = static_cast<std::uint8_t>(*bits);
    return net;
}

std::optional<NetCondition> with_mask(const NetCondition& net, std::string_view mask) {
    const auto octets = parse_ipv4(mask);
    if (!octets || net.ip_version != 4) {
        return std::nullopt;
    }
    const std::uint32_t bits = ntohl(*octets);
    const int ones = std::countl_one(bits);
    if (std::popcount(bits) != ones) {
        return std::nullopt;
    }
    NetCondition masked = net;
    masked.prefix_bits = static_cast<std::uint8_t>(ones);
    return masked;
}

std::optional<PortCondition> parse_ports(std::string_view text) {
    if (const auto port = parse_port(text)) {
        return PortCondition{.first = *port, .last = *port};
    }
    const std::size_t dash = text.find('-');
    if (dash == std::string_view::npos) {
        return std::nullopt;
    }
    const auto first = parse_port(text.substr(0, dash));
    const auto last = parse_port(text.substr(dash + 1));
    return first && last && *first <= *last
               ? std::optional(PortCondition{.first = *first, .last = *last})
               : std::nullopt;
}

std::optional<PortCondition> parse_ports(Comparison comparison, std::string_view text) {
    const auto port = parse_port(text);
    if (!port) {
        return std::nullopt;
    }
    int first = 0;
    int last = kMaximumPort;
    switch (comparison) {
        case Comparison::equal:
            first = last = *port;
            break;
        case Comparison::unequal:
            return std::nullopt;  // of either or of both? "not port" is clear
        case Comparison::less:
            last = *port - 1;
            break;
        case Comparison::at_most:
            last = *port;
            break;
        case Comparison::more:
            first = *port + 1;
            break;
        case Comparison::at_least:
            first = *port;
            break;
    }
    return first <= last ? std::optional(PortCondition{.first = static_cast<std::uint16_t>(first),
                                                       .last = static_cast<std::uint16_t>(last)})
                         : std::nullopt;
}

std::optional<std::uint64_t> parse_quantity(std::string_view text, MeasureUnit unit) {
    const bool of_time = unit == MeasureUnit::nanoseconds;
    const std::span<const Unit> units = of_time ? std::span<const Unit>(kTimes) : kCounts;
    std::uint64_t sum = 0;
    std::uint64_t factor = std::numeric_limits<std::uint64_t>::max();
    bool goes_on = true;
    for (std::string_view rest = text; goes_on; goes_on = !rest.empty()) {
        const auto part = take_part(rest, units, !of_time);
        const bool is_one_of_several = part && (rest != text || !part->unparsed.empty());
        // 30m1h and 5m5m are more likely mistakes than sums; 1h30 has no unit to go by.
        if (!part || part->number > std::numeric_limits<std::uint64_t>::max() - sum ||
            (is_one_of_several && (!of_time || part->unit.empty() || part->factor >= factor))) {
            return std::nullopt;
        }
        sum += part->number;
        factor = part->factor;
        rest = part->unparsed;
    }
    return sum;
}

std::optional<Comparison> parse_comparison(std::string_view text) noexcept {
    struct Symbol {
        std::string_view text;
        Comparison comparison;
    };
    static constexpr std::array<Symbol, 7> kSymbols{{{"=", Comparison::equal},
                                                     {"==", Comparison::equal},
                                                     {"!=", Comparison::unequal},
                                                     {"<", Comparison::less},
                                                     {"<=", Comparison::at_most},
                                                     {">", Comparison::more},
                                                     {">=", Comparison::at_least}}};
    const auto* const found =
        std::find_if(kSymbols.begin(), kSymbols.end(),
                     [text](const Symbol& symbol) { return symbol.text == text; });
    return found != kSymbols.end() ? std::optional(found->comparison) : std::nullopt;
}

}  // namespace tributary
