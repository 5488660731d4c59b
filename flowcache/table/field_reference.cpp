// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/field_reference.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "flowcache/table/closest.hpp"
#include "flowcache/table/table_text.hpp"

namespace tributary {

namespace {

/// By ValueFunction.
constexpr std::array<std::string_view, kValueFunctions> kFunctions{
    "", "sum", "min", "max", "first", "last", "or", "distinct"};
constexpr std::string_view kAllFunctions = "sum, min, max, first, last, or, distinct";

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
    throw TableError(in_quotes(text) + why);
}

std::string did_you_mean(const std::string& name) {
    return name.empty() ? "" : "; did you mean " + name + "?";
}

std::string closest_of_any_case(std::string_view word, const std::vector<std::string>& names) {
    std::vector<std::string> small(names.size());
    std::ranges::transform(names, small.begin(), in_small_letters);
    const auto found = std::ranges::find(small, closest(in_small_letters(word), small));
    return found == small.end() ? "" : names[static_cast<std::size_t>(found - small.begin())];
}

[[noreturn]] void refuse_unknown(std::string_view text, std::string_view name,
                                 std::span<const OwnField> own) {
    if (const std::string_view instead = field_instead_of(name); !instead.empty()) {
        refuse(text, ": " + std::string(name) + " is no field here; name " + std::string(instead));
    }
    std::vector<std::string> names;
    for (const PacketField& field : packet_fields()) {
        names.emplace_back(field.name);
    }
    for (const OwnField& field : own) {
        names.push_back(field.name);
    }
    const std::string like = closest_of_any_case(name, names);
    refuse(text, ": there is no such field" +
                     (like.empty() ? "; docs/fields.md lists them" : did_you_mean(like)));
}

std::optional<std::uint32_t> number_of(std::string_view digits, std::uint32_t most) noexcept {
    std::uint32_t number = 0;
    const char* const end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, number);
    const bool is_one = error == std::errc{} && at == end && number <= most;
    return is_one ? std::optional(number) : std::nullopt;
}

void read_prefixes(std::string_view text, std::string_view lengths, FieldReference& reference) {
    constexpr std::uint32_t kIpv4Bits = 32;
    constexpr std::uint32_t kIpv6Bits = 128;
    const std::size_t slash = lengths.find('/');
    const auto ipv4 = number_of(lengths.substr(0, slash), kIpv4Bits);
    const auto ipv6 = slash == std::string_view::npos
                          ? std::nullopt
                          : number_of(lengths.substr(slash + 1), kIpv6Bits);
    if (!ipv4 || !ipv6 || (*ipv4 == 0 && *ipv6 == 0)) {
        refuse(text,
               ": behind an address are the prefix lengths of IPv4 (0 to 32) and of IPv6 (0 "
               "to 128), not both 0, as in " +
                   std::string(reference.field->name) + "/24/56");
    }
    reference.has_prefix = true;
    reference.prefix = {static_cast<std::uint8_t>(*ipv4), static_cast<std::uint8_t>(*ipv6)};
}

void read_interval(std::string_view text, std::string_view seconds, FieldReference& reference) {
    const auto interval = number_of(seconds, kLongestInterval);
    if (!interval || *interval == 0) {
        refuse(text, ": behind a time is an interval of 1 to 86400 seconds, as in " +
                         std::string(reference.field->name) + "/60");
    }
    reference.interval = *interval;
}

FieldReference find(std::string_view text, std::string_view name, std::span<const OwnField> own) {
    FieldReference reference{.field = find_packet_field(name)};
    if (reference.field != nullptr) {
        return reference;
    }
    const auto found = std::ranges::find(own, name, &OwnField::name);
    if (found == own.end()) {
        refuse_unknown(text, name, own);
    }
    reference.own = &*found;
    reference.own_index = static_cast<std::size_t>(found - own.begin());
    return reference;
}

std::optional<ValueFunction> function_of(std::string_view name) noexcept {
    const auto* const found = std::find(kFunctions.begin() + 1, kFunctions.end(), name);
    return found == kFunctions.end()
               ? std::nullopt
               : std::optional(static_cast<ValueFunction>(found - kFunctions.begin()));
}

[[noreturn]] void refuse_function(std::string_view text, std::string_view name) {
    const std::vector<std::string> names(kFunctions.begin() + 1, kFunctions.end());
    const std::string like = closest(name, names);
    refuse(text,
           ": there is no function " + in_quotes(name) +
               (like.empty() ? "; they are " + std::string(kAllFunctions) : did_you_mean(like)));
}

bool is_in_each_record(std::string_view text) noexcept {
    return text == "packetDeltaCount" || text == "octetDeltaCount";
}

}  // namespace

FieldReference read_reference(std::string_view entry, std::span<const OwnField> own) {
    const std::string_view text = without_blanks(entry);
    const std::size_t slash = text.find('/');
    FieldReference reference = find(text, text.substr(0, slash), own);
    if (slash == std::string_view::npos) {
        return reference;
    }
    const std::string_view numbers = text.substr(slash + 1);
    if (reference.field != nullptr && reference.field->is_address()) {
        read_prefixes(text, numbers, reference);
    } else if (reference.field != nullptr && reference.field->source == FieldSource::time) {
        read_interval(text, numbers, reference);
    } else {
        refuse(text, ": only addresses have prefix lengths, and only a time has an interval");
    }
    return reference;
}

std::string_view name_of(ValueFunction function) noexcept {
    return kFunctions[std::min(static_cast<std::size_t>(function), kValueFunctions - 1)];
}

ValueReference read_value(std::string_view entry, std::span<const OwnField> own) {
    const std::string_view text = without_blanks(entry);
    if (is_in_each_record(text)) {
        return {};
    }
    const std::size_t open = text.find('(');
    if (open == std::string_view::npos || !text.ends_with(')')) {
        const std::string like = closest(text, {"packetDeltaCount", "octetDeltaCount"});
        refuse(text, ": a value is packetDeltaCount, octetDeltaCount, or a function of a field (" +
                         std::string(kAllFunctions) + "), as in max(ipTTL)" + did_you_mean(like));
    }
    const std::string_view name = without_blanks(text.substr(0, open));
    const std::optional<ValueFunction> function = function_of(name);
    if (!function) {
        refuse_function(text, name);
    }
    const std::string_view argument = text.substr(open + 1, text.size() - open - 2);
    const ValueReference value{*function, read_reference(argument, own)};
    if (*function != ValueFunction::distinct && !value.field.is_numeric()) {
        refuse(text, ": " + std::string(value.field.name()) + " is no number, and " +
                         std::string(name) + "() is of numbers; distinct() takes any field");
    }
    return value;
}

}  // namespace tributary
