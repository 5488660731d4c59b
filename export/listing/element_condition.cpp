// SPDX-License-Identifier: Apache-2.0
#include "export/listing/element_condition.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "export/listing/comparison.hpp"
#include "export/listing/element_names.hpp"
#include "export/listing/element_time.hpp"
#include "export/listing/filter_values.hpp"
#include "export/listing/flow_json.hpp"
#include "export/listing/flow_window.hpp"
#include "export/listing/ip_prefix.hpp"
#include "export/listing/printable_text.hpp"

namespace tributary {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kMacOctets = 6;
constexpr std::string_view kDecimalDigits = "0123456789";

/// What the values of a type are compared as.
enum class ValueKind : std::uint8_t {
    number,
    signed_number,
    real,
    truth,
    mac_address,
    text,
    address,
    octets,
    time,
};

ValueKind kind_of(IpfixType type) noexcept {
    switch (type) {
        case IpfixType::unsigned8:
        case IpfixType::unsigned16:
        case IpfixType::unsigned32:
        case IpfixType::unsigned64:
            return ValueKind::number;
        case IpfixType::signed8:
        case IpfixType::signed16:
        case IpfixType::signed32:
        case IpfixType::signed64:
            return ValueKind::signed_number;
        case IpfixType::float32:
        case IpfixType::float64:
            return ValueKind::real;
        case IpfixType::boolean:
            return ValueKind::truth;
        case IpfixType::mac_address:
            return ValueKind::mac_address;
        case IpfixType::string:
            return ValueKind::text;
        case IpfixType::ipv4_address:
        case IpfixType::ipv6_address:
            return ValueKind::address;
        case IpfixType::date_time_seconds:
        case IpfixType::date_time_milliseconds:
        case IpfixType::date_time_microseconds:
        case IpfixType::date_time_nanoseconds:
            return ValueKind::time;
        default:
            return ValueKind::octets;
    }
}

/// What a filter has to have for such an element.
const char* expectation(ValueKind kind) noexcept {
    switch (kind) {
        case ValueKind::number:
        case ValueKind::signed_number:
        case ValueKind::real:
            return "is a number, expected one such as 4242, 0x1092 or 64k";
        case ValueKind::truth:
            return "is true or false";
        case ValueKind::mac_address:
            return "is a MAC address, expected one such as 00:1b:21:0a:0b:0c";
        case ValueKind::address:
            return "is an address, expected one, or a network such as 10.0.0.0/8";
        case ValueKind::time:
            return "is a time, expected one such as 2026-02-28T12:30:00, in UTC";
        case ValueKind::octets:
            return "has octets, expected a number or their digits, as in 0x0a1b";
        case ValueKind::text:
            break;
    }
    return "is a text";
}

bool is_ordered(ValueKind kind) noexcept {
    return kind == ValueKind::number || kind == ValueKind::signed_number ||
           kind == ValueKind::real || kind == ValueKind::time || kind == ValueKind::octets;
}

bool fits(ValueKind kind, const ElementOperand& operand) noexcept {
    switch (kind) {
        case ValueKind::number:
            return operand.number.has_value();
        case ValueKind::signed_number:
            return operand.integer.has_value();
        case ValueKind::real:
            return operand.real.has_value();
        case ValueKind::truth:
            return operand.truth.has_value();
        case ValueKind::mac_address:
            return operand.is_mac;
        case ValueKind::address:
            return operand.net.has_value();
        case ValueKind::time:
            return operand.time.has_value();
        case ValueKind::octets:
            return operand.number.has_value() || operand.octets.has_value();
        case ValueKind::text:
            break;
    }
    return true;
}

}  // namespace

void check(const ElementCondition& condition, const IpfixElement& element) {
    const ValueKind kind = kind_of(element.type);
    const bool has_order =
        condition.comparison == Comparison::equal || condition.comparison == Comparison::unequal;
    const char* fault = nullptr;
    if (!fits(kind, condition.operand)) {
        fault = expectation(kind);
    } else if (!has_order && !is_ordered(kind)) {
        fault = "has no order, expected = or !=";
    }
    if (fault != nullptr) {
        throw FilterError("filter, column " + std::to_string(condition.column) + ": '" +
                          element.name + "' " + fault + ", found '" +
                          printable(condition.operand.text) + "'");
    }
}

void check(const SumTerm& term, const IpfixElement& element) {
    const ValueKind kind = kind_of(element.type);
    if (kind != ValueKind::number && kind != ValueKind::signed_number) {
        throw FilterError("filter, column " + std::to_string(term.column) + ": '" + element.name +
                          "' is no whole number, and cannot be added");
    }
}

namespace {

/// @param octets  1 to 8; shorter ones are extended by their sign
std::int64_t read_signed(Bytes octets) noexcept {
    const std::size_t unused = 64 - 8 * octets.size();
    return static_cast<std::int64_t>(read_unsigned(octets) << unused) >> unused;
}

double read_real(Bytes octets) noexcept {
    return octets.size() == 4
               ? double{std::bit_cast<float>(static_cast<std::uint32_t>(read_unsigned(octets)))}
               : std::bit_cast<double>(read_unsigned(octets));
}

/// Whether an address is in the net of the operand.
bool is_in(const NetCondition& net, Bytes octets) noexcept {
    IpAddress address{};
    std::ranges::copy(octets, address.begin());
    const std::uint8_t version = octets.size() == 4 ? 4 : 6;
    return version == net.ip_version &&
           prefix_of(address, net.prefix_bits) == prefix_of(net.address, net.prefix_bits);
}

bool holds_for_octets(const ElementCondition& condition, Bytes value) {
    const ElementOperand& operand = condition.operand;
    constexpr std::size_t kLongestNumber = 8;
    if (operand.number && value.size() <= kLongestNumber) {
        return compare(read_unsigned(value), condition.comparison, *operand.number);
    }
    const bool is_equal = operand.octets && std::ranges::equal(value, *operand.octets);
    return is_equal == (condition.comparison == Comparison::equal);
}

/// Of a type that goes with the operand.
bool holds_for(const ElementCondition& condition, IpfixType type, Bytes value) {
    const ElementOperand& operand = condition.operand;
    const Comparison comparison = condition.comparison;
    const auto as_wanted = [comparison](bool is_equal) {
        return is_equal == (comparison == Comparison::equal);
    };
    switch (kind_of(type)) {
        case ValueKind::number:
            return compare(read_unsigned(value), comparison, operand.number.value_or(0));
        case ValueKind::signed_number:
            return compare(read_signed(value), comparison, operand.integer.value_or(0));
        case ValueKind::real:
            return compare(read_real(value), comparison, operand.real.value_or(0));
        case ValueKind::truth:
            return as_wanted((value.front() == std::byte{1}) == operand.truth);
        case ValueKind::mac_address:
            return as_wanted(operand.octets && std::ranges::equal(value, *operand.octets));
        case ValueKind::text:
            return as_wanted(std::string_view(reinterpret_cast<const char*>(value.data()),
                                              value.size()) == operand.text);
        case ValueKind::address:
            return as_wanted(operand.net && is_in(*operand.net, value));
        case ValueKind::time: {
            const std::optional<Timestamp> time = read_element_time(type, value);
            return time && compare(*time, comparison, operand.time.value_or(Timestamp{}));
        }
        case ValueKind::octets:
            break;
    }
    return holds_for_octets(condition, value);
}

std::optional<unsigned> digit_of(char c) noexcept {
    constexpr std::string_view kHexadecimal = "0123456789abcdef";
    const auto found =
        kHexadecimal.find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    return found == std::string_view::npos ? std::nullopt
                                           : std::optional(static_cast<unsigned>(found));
}

/// Takes two digits from the front of a text.
std::optional<std::byte> take_octet(std::string_view& text) {
    constexpr unsigned kHighDigit = 4;
    const auto high = text.empty() ? std::nullopt : digit_of(text[0]);
    const auto low = text.size() < 2 ? std::nullopt : digit_of(text[1]);
    if (!high || !low) {
        return std::nullopt;
    }
    text.remove_prefix(2);
    return static_cast<std::byte>(*high << kHighDigit | *low);
}

/// Octets of two digits each.
///
/// @param separator  between them; empty: nothing
std::optional<std::vector<std::byte>> parse_octets(std::string_view text,
                                                   std::string_view separator) {
    std::vector<std::byte> octets;
    while (!text.empty()) {
        if (!octets.empty() && !text.starts_with(separator)) {
            return std::nullopt;
        }
        text.remove_prefix(octets.empty() ? 0 : separator.size());
        const std::optional<std::byte> octet = take_octet(text);
        if (!octet) {
            return std::nullopt;
        }
        octets.push_back(*octet);
    }
    return octets.empty() ? std::nullopt : std::optional(std::move(octets));
}

std::optional<std::vector<std::byte>> parse_mac(std::string_view text) {
    for (const char* const separator : {":", "-"}) {
        auto octets = parse_octets(text, separator);
        if (octets && octets->size() == kMacOctets) {
            return octets;
        }
    }
    return std::nullopt;
}

std::optional<std::int64_t> as_integer(std::uint64_t number) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    return number <= kMost ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

std::optional<double> parse_real(const std::string& text) {
    const bool is_number =
        !text.empty() && text.find_first_not_of("0123456789+-.eE") == std::string::npos;
    char* end = nullptr;
    const double value = is_number ? std::strtod(text.c_str(), &end) : 0;
    return is_number && end == text.c_str() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

bool is_element_name(std::string_view word) noexcept {
    const std::size_t slash = word.find('/');
    if (slash != std::string_view::npos) {
        const std::string_view enterprise = word.substr(0, slash);
        if (enterprise.empty() ||
            enterprise.find_first_not_of(kDecimalDigits) != std::string_view::npos) {
            return false;
        }
        word.remove_prefix(slash + 1);
    }
    return !word.empty() && std::isalpha(static_cast<unsigned char>(word.front())) != 0 &&
           std::ranges::all_of(word, [](unsigned char c) {
               return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
           });
}

ElementOperand read_operand(std::string_view text) {
    constexpr std::string_view kHexadecimal = "0x";
    constexpr std::size_t kLongestNumber = 8;
    ElementOperand operand{.text = std::string(text)};
    if (text.starts_with(kHexadecimal)) {
        std::string digits(text.substr(kHexadecimal.size()));
        digits.insert(0, digits.size() % 2, '0');
        operand.octets = parse_octets(digits, "");
        if (operand.octets && operand.octets->size() <= kLongestNumber) {
            operand.number = read_unsigned(*operand.octets);
        }
    } else {
        operand.number = parse_quantity(text, MeasureUnit::count);
    }
    operand.integer = operand.number ? as_integer(*operand.number) : parse_integer(text);
    operand.real = operand.number ? std::optional(static_cast<double>(*operand.number))
                                  : parse_real(operand.text);
    if (operand.number) {
        operand.truth = *operand.number <= 1 ? std::optional(*operand.number == 1) : std::nullopt;
    } else if (text == "true" || text == "false") {
        operand.truth = text == "true";
    }
    operand.net = text.find('/') != std::string_view::npos ? parse_net(text) : parse_host(text);
    if (auto mac = parse_mac(text)) {
        operand.octets = std::move(mac);
        operand.is_mac = true;
    }
    // Without a time to go by, "15m" is none.
    operand.time =
        text.find('-') != std::string_view::npos ? parse_time(text, Timestamp{}) : std::nullopt;
    return operand;
}

std::optional<SignedCount> number_of(const SumTerm& term, const IpfixRecord& record) {
    const std::vector<IpfixField>& fields = record.layout->fields;
    for (std::size_t index = 0; index < fields.size(); ++index) {
        const IpfixElement& element = *fields[index].element;
        if (!is_named(element, term.element)) {
            continue;
        }
        check(term, element);
        const Bytes value = record.values[index];
        if (!value.empty() && is_possible_size(element.type, value.size())) {
            return kind_of(element.type) == ValueKind::number ? SignedCount{read_unsigned(value)}
                                                              : SignedCount{read_signed(value)};
        }
    }
    return std::nullopt;
}

bool holds(const ElementCondition& condition, const IpfixRecord& record) {
    const std::vector<IpfixField>& fields = record.layout->fields;
    for (std::size_t index = 0; index < fields.size(); ++index) {
        const IpfixElement& element = *fields[index].element;
        if (!is_named(element, condition.name)) {
            continue;
        }
        check(condition, element);
        const Bytes value = record.values[index];
        const bool is_text = kind_of(element.type) == ValueKind::text;
        if ((is_text || !value.empty()) && is_possible_size(element.type, value.size()) &&
            holds_for(condition, element.type, value)) {
            return true;
        }
    }
    return false;
}

}  // namespace tributary
