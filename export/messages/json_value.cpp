// SPDX-License-Identifier: Apache-2.0
#include "export/messages/json_value.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "export/characters.hpp"
#include "export/ipfix/ntp_time.hpp"
#include "export/messages/protocol_names.hpp"

namespace tributary {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kMostFloatOctets = 32;  // std::to_chars() needs up to 24
constexpr std::size_t kTimeOctets = 26;       // "2018-05-11T19:44:29.006Z"
constexpr std::size_t kMacOctets = 19;
constexpr std::size_t kFlagsOctets = 8;
constexpr std::size_t kNullOctets = 4;
constexpr std::size_t kMostNumber = 8;  // octets of the longest integer

constexpr std::string_view kLowerDigits = "0123456789abcdef";
constexpr std::string_view kUpperDigits = "0123456789ABCDEF";

char* put_null(char* out) noexcept { return put_octets(out, "null"); }

char* put_pair(char* out, std::byte octet, std::string_view digits) noexcept {
    *out++ = digits[std::to_integer<std::size_t>(octet >> 4U)];
    *out++ = digits[std::to_integer<std::size_t>(octet & std::byte{0x0F})];
    return out;
}

/// "00" to "99".
constexpr auto kTwoDigits = [] {
    std::array<std::array<char, 2>, 100> texts{};
    for (std::size_t number = 0; number < texts.size(); ++number) {
        texts[number] = {static_cast<char>('0' + number / 10),
                         static_cast<char>('0' + number % 10)};
    }
    return texts;
}();

/// @param number  below 100
void set_two(char* at, unsigned number) noexcept {
    std::memcpy(at, kTwoDigits[number].data(), kTwoDigits[number].size());
}

/// @param milliseconds  since 1970
char* put_time(char* out, std::uint64_t milliseconds) noexcept {
    using namespace std::chrono;
    constexpr std::uint64_t kPerDay = 86'400'000;
    constexpr std::uint64_t kDaysToYear10000 = 2'932'897;  // ISO 8601 has four digits for a year
    const std::uint64_t days = milliseconds / kPerDay;
    if (days >= kDaysToYear10000) {
        return put_null(out);
    }
    const year_month_day date{sys_days{std::chrono::days{days}}};
    const auto year = static_cast<unsigned>(static_cast<int>(date.year()));
    const auto in_day = static_cast<unsigned>(milliseconds % kPerDay);
    const unsigned seconds = in_day / 1000;
    const unsigned in_second = in_day % 1000;
    char* const end = put_octets(out, R"("YYYY-MM-DDTHH:MM:SS.mmmZ")");
    set_two(out + 1, year / 100);
    set_two(out + 3, year % 100);
    set_two(out + 6, static_cast<unsigned>(date.month()));
    set_two(out + 9, static_cast<unsigned>(date.day()));
    set_two(out + 12, seconds / 3600);
    set_two(out + 15, seconds / 60 % 60);
    set_two(out + 18, seconds % 60);
    set_two(out + 21, in_second / 10);
    out[23] = static_cast<char>('0' + in_second % 10);
    return end;
}

/// @param per_second  10^6 or 10^9: the unit of the value's type
char* put_ntp_time(char* out, Bytes value, std::uint64_t per_second) noexcept {
    const auto units = static_cast<std::uint64_t>(read_ntp_time(value, per_second));
    return put_time(out, units / (per_second / 1000));
}

char* put_signed(char* out, Bytes value) noexcept {
    const std::size_t unused = 64 - 8 * value.size();
    const std::int64_t number = static_cast<std::int64_t>(read_unsigned(value) << unused) >> unused;
    return std::to_chars(out, out + kMostNumberOctets, number).ptr;
}

template <class Float>
char* put_float_value(char* out, Float number) noexcept {
    if (std::isnan(number)) {
        return put_octets(out, "\"NaN\"");
    }
    if (std::isinf(number)) {
        return put_octets(out, number > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    }
    return std::to_chars(out, out + kMostFloatOctets, number).ptr;
}

char* put_float(char* out, Bytes value) noexcept {
    return value.size() == sizeof(float)
               ? put_float_value(
                     out, std::bit_cast<float>(static_cast<std::uint32_t>(read_unsigned(value))))
               : put_float_value(out, std::bit_cast<double>(read_unsigned(value)));
}

char* put_mac_address(char* out, Bytes value) noexcept {
    char separator = '"';
    for (const std::byte octet : value) {
        *out++ = separator;
        out = put_pair(out, octet, kUpperDigits);
        separator = ':';
    }
    *out++ = '"';
    return out;
}

char* put_octet_array(char* out, Bytes value) noexcept {
    if (value.size() <= kMostNumber) {
        return put_number(out, read_unsigned(value));
    }
    out = put_octets(out, "\"0x");
    for (const std::byte octet : value) {
        out = put_pair(out, octet, kUpperDigits);
    }
    *out++ = '"';
    return out;
}

char* put_quoted_address(char* out, Bytes value) noexcept {
    *out++ = '"';
    out = put_address(out, value);
    *out++ = '"';
    return out;
}

char* put_protocol(char* out, std::byte protocol) noexcept {
    const auto number = std::to_integer<std::size_t>(protocol);
    const std::string_view name =
        number < kProtocolNames.size() ? kProtocolNames[number] : std::string_view();
    *out++ = '"';
    out = name.empty() ? put_number(out, number) : put_octets(out, name);
    *out++ = '"';
    return out;
}

char* put_tcp_flags(char* out, std::byte flags) noexcept {
    constexpr std::string_view kLetters = "UAPRSF";
    *out++ = '"';
    for (std::size_t place = 0; place < kLetters.size(); ++place) {
        const std::size_t bit = kLetters.size() - 1 - place;
        const bool is_set = (std::to_integer<unsigned>(flags) >> bit & 1U) != 0;
        *out++ = is_set ? kLetters[place] : '.';
    }
    *out++ = '"';
    return out;
}

/// Whether a value of this size can be of the form; integers and float64 may be shorter than their
/// type. Texts may be empty.
/// @source  RFC 7011 §6.2
bool size_fits(JsonForm form, std::size_t octets) noexcept {
    switch (form) {
        case JsonForm::text:
            return true;
        case JsonForm::octet_array:
            return octets > 0;
        case JsonForm::boolean:
        case JsonForm::protocol:
            return octets == 1;
        case JsonForm::tcp_flags:
            return octets == 1 || octets == 2;
        case JsonForm::mac_address:
            return octets == 6;
        case JsonForm::address:
            return octets == 4 || octets == 16;
        case JsonForm::float_number:
            return octets == 4 || octets == 8;
        case JsonForm::microseconds:
        case JsonForm::nanoseconds:
            return octets == 8;
        default:
            return octets >= 1 && octets <= kMostNumber;
    }
}

char* put_unit(char* out, std::uint32_t unit) noexcept {
    out = put_octets(out, "\\u");
    constexpr unsigned kHighest = 12;
    for (unsigned shift = kHighest + 4; shift > 0;) {
        shift -= 4;
        *out++ = kLowerDigits[unit >> shift & 0xFU];
    }
    return out;
}

/// @source  RFC 8259 §7
char* put_escape(char* out, std::uint32_t code) noexcept {
    constexpr std::uint32_t kFirstOfPair = 0x1'0000;
    if (code < kFirstOfPair) {
        return put_unit(out, code);
    }
    out = put_unit(out, 0xD800 + ((code - kFirstOfPair) >> 10U));
    return put_unit(out, 0xDC00 + ((code - kFirstOfPair) & 0x3FFU));
}

/// Whether an octet stands for itself, wherever it is.
bool is_plain(char octet) noexcept {
    return octet >= ' ' && octet <= '~' && octet != '"' && octet != '\\';
}

/// The first characters of a text that are not plain. @return  the octets that are done
std::size_t put_first(char*& out, std::string_view text) noexcept {
    const Character character = first_character(text);
    if (character.octets == 0) {
        out = put_octets(out, "\xEF\xBF\xBD");
        return 1;
    }
    if (text.front() == '"' || text.front() == '\\') {
        *out++ = '\\';
        *out++ = text.front();
    } else if (is_hidden(character.code)) {
        out = put_escape(out, character.code);
    } else {
        out = put_octets(out, text.substr(0, character.octets));
    }
    return character.octets;
}

using Words = std::array<unsigned, 8>;

struct Run {
    std::size_t at{};
    std::size_t length{};
};

/// The first of the longest runs of zeros.
Run longest_zeros(const Words& words) noexcept {
    Run longest;
    Run run;
    for (std::size_t at = 0; at < words.size(); ++at) {
        run = words[at] == 0 && run.length > 0 ? Run{run.at, run.length + 1}
                                               : Run{at, words[at] == 0 ? std::size_t{1} : 0};
        longest = run.length > longest.length ? run : longest;
    }
    return longest.length > 1 ? longest : Run{};
}

/// A number with a dot behind it.
struct DottedNumber {
    std::array<char, 4> text{};
    std::uint32_t octets{};
};
/// 0 to 255.
constexpr auto kDottedNumbers = [] {
    std::array<DottedNumber, 256> numbers{};
    for (std::size_t number = 0; number < numbers.size(); ++number) {
        DottedNumber& made = numbers[number];
        for (std::size_t unit = 100; unit > 0; unit /= 10) {
            if (number >= unit || unit == 1) {
                made.text[made.octets++] = static_cast<char>('0' + number / unit % 10);
            }
        }
        made.text[made.octets++] = '.';
    }
    return numbers;
}();

/// Copies four octets for each number, whatever its digits: a branch on how many digits it has is
/// often mispredicted.
///
/// @param out  room for 17 octets: one or more behind the address are written, too
char* put_ipv4(char* out, Bytes address) noexcept {
    for (const std::byte octet : address) {
        const DottedNumber& number = kDottedNumbers[std::to_integer<std::size_t>(octet)];
        std::memcpy(out, number.text.data(), number.text.size());
        out += number.octets;
    }
    return out - 1;
}

char* put_word(char* out, unsigned word) noexcept {
    constexpr int kBase = 16;
    return std::to_chars(out, out + 4, word, kBase).ptr;
}

char* put_ipv6(char* out, Bytes address) noexcept {
    Words words{};
    for (std::size_t at = 0; at < words.size(); ++at) {
        words[at] = static_cast<unsigned>(read_unsigned(address.subspan(2 * at, 2)));
    }
    const Run zeros = longest_zeros(words);
    constexpr std::size_t kIpv4At = 6;
    const bool has_ipv4 = zeros.at == 0 && (zeros.length == kIpv4At ||
                                            (zeros.length == kIpv4At - 1 && words[5] == 0xFFFF));
    for (std::size_t at = 0; at < words.size();) {
        if (zeros.length > 0 && at == zeros.at) {
            out = put_octets(out, at == 0 ? "::" : ":");
            at += zeros.length;
            continue;
        }
        if (has_ipv4 && at == kIpv4At) {
            return put_ipv4(out, address.subspan(2 * kIpv4At));
        }
        out = put_word(out, words[at]);
        ++at;
        if (at < words.size()) {
            *out++ = ':';
        }
    }
    return out;
}

}  // namespace

JsonForm json_form(IpfixType type) noexcept {
    switch (type) {
        case IpfixType::unsigned8:
        case IpfixType::unsigned16:
        case IpfixType::unsigned32:
        case IpfixType::unsigned64:
            return JsonForm::unsigned_number;
        case IpfixType::signed8:
        case IpfixType::signed16:
        case IpfixType::signed32:
        case IpfixType::signed64:
            return JsonForm::signed_number;
        case IpfixType::float32:
        case IpfixType::float64:
            return JsonForm::float_number;
        case IpfixType::boolean:
            return JsonForm::boolean;
        case IpfixType::mac_address:
            return JsonForm::mac_address;
        case IpfixType::string:
            return JsonForm::text;
        case IpfixType::date_time_seconds:
            return JsonForm::seconds;
        case IpfixType::date_time_milliseconds:
            return JsonForm::milliseconds;
        case IpfixType::date_time_microseconds:
            return JsonForm::microseconds;
        case IpfixType::date_time_nanoseconds:
            return JsonForm::nanoseconds;
        case IpfixType::ipv4_address:
        case IpfixType::ipv6_address:
            return JsonForm::address;
        default:
            return JsonForm::octet_array;
    }
}

JsonForm json_form(IpfixType type, std::string_view name) noexcept {
    if (name == "protocolIdentifier") {
        return JsonForm::protocol;
    }
    return name == "tcpControlBits" ? JsonForm::tcp_flags : json_form(type);
}

std::size_t most_json_octets(JsonForm form, std::size_t octets) noexcept {
    switch (form) {
        case JsonForm::text:
            return 2 + kMostJsonTextOctets * octets;
        case JsonForm::octet_array:
            return std::max(kMostNumberOctets, 5 + 2 * octets);
        case JsonForm::float_number:
            return kMostFloatOctets;
        case JsonForm::boolean:
            return std::max<std::size_t>(kNullOctets, 5);
        case JsonForm::mac_address:
            return kMacOctets;
        case JsonForm::address:
            return 2 + kMostAddressOctets;
        case JsonForm::protocol:
            return 2 + kLongestProtocolName;
        case JsonForm::tcp_flags:
            return kFlagsOctets;
        case JsonForm::seconds:
        case JsonForm::milliseconds:
        case JsonForm::microseconds:
        case JsonForm::nanoseconds:
            return kTimeOctets;
        case JsonForm::unsigned_number:
        case JsonForm::signed_number:
            break;
    }
    return kMostNumberOctets;
}

char* put_json_value(char* out, JsonForm form, std::span<const std::byte> value) noexcept {
    constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max() / 1000;
    if (!size_fits(form, value.size())) {
        return put_null(out);
    }
    switch (form) {
        case JsonForm::unsigned_number:
            return put_number(out, read_unsigned(value));
        case JsonForm::signed_number:
            return put_signed(out, value);
        case JsonForm::float_number:
            return put_float(out, value);
        case JsonForm::boolean:
            return put_octets(out, value[0] == std::byte{1} ? "true" : "false");
        case JsonForm::mac_address:
            return put_mac_address(out, value);
        case JsonForm::text:
            return put_json_text(out, {reinterpret_cast<const char*>(value.data()), value.size()});
        case JsonForm::seconds:
            return put_time(out, std::min(read_unsigned(value), kLargest) * 1000);
        case JsonForm::milliseconds:
            return put_time(out, read_unsigned(value));
        case JsonForm::microseconds:
            return put_ntp_time(out, value, 1'000'000);
        case JsonForm::nanoseconds:
            return put_ntp_time(out, value, 1'000'000'000);
        case JsonForm::address:
            return put_quoted_address(out, value);
        case JsonForm::octet_array:
            return put_octet_array(out, value);
        case JsonForm::protocol:
            return put_protocol(out, value[0]);
        case JsonForm::tcp_flags:
            return put_tcp_flags(out, value.back());
    }
    return put_null(out);
}

char* put_json_text(char* out, std::string_view text) noexcept {
    *out++ = '"';
    while (!text.empty()) {
        const auto* const end = std::ranges::find_if_not(text, is_plain);
        const auto plain = static_cast<std::size_t>(end - text.begin());
        out = put_octets(out, text.substr(0, plain));
        text.remove_prefix(plain);
        if (!text.empty()) {
            text.remove_prefix(put_first(out, text));
        }
    }
    *out++ = '"';
    return out;
}

char* put_number(char* out, std::uint64_t number) noexcept {
    return std::to_chars(out, out + kMostNumberOctets, number).ptr;
}

char* put_address(char* out, std::span<const std::byte> address) noexcept {
    return address.size() == 4 ? put_ipv4(out, address) : put_ipv6(out, address);
}

}  // namespace tributary
