// SPDX-License-Identifier: Apache-2.0
#include "conf/scalars.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <utility>

#include "export/characters.hpp"
#include "flowcache/table/closest.hpp"

namespace tributary {
namespace {

/// A suffix of a number, such as k or ms, and its factor.
struct Unit {
    std::string_view word;
    std::uint64_t factor;
};

/// @return  nullptr: none of them
const Unit* find_unit(std::span<const Unit> units, std::string_view word) {
    const auto unit = std::ranges::find(units, word, &Unit::word);
    return unit == units.end() ? nullptr : &*unit;
}

/// @return  nullopt: more than 63 bits
std::optional<std::uint64_t> product(std::uint64_t number, std::uint64_t factor) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    return number > kMost / factor ? std::nullopt : std::optional(number * factor);
}

/// Length of the character at the front of `bytes`, which is not empty; 0: not a text character.
std::size_t character_length(std::string_view bytes) {
    constexpr std::uint32_t kDelete = 0x7F;
    const Character character = first_character(bytes);
    const bool is_control = character.code < ' ' || character.code == kDelete;
    const bool is_blank =
        character.code == '\t' || character.code == '\n' || character.code == '\r';
    return is_control && !is_blank ? 0 : character.octets;
}

/// One number of a time with its unit, in usual notation.
struct TimePart {
    std::string_view number;
    std::string_view unit;   ///< a unit of parse_time(), or w
    std::uint64_t factor{};  ///< milliseconds
    std::size_t size{};      ///< letters of both
};

/// Takes one from the front of `text`.
///
/// @return  nullopt: none
std::optional<TimePart> take_time_part(std::string_view text) {
    struct Spelling {
        std::string_view word, unit;
        std::uint64_t factor;
    };
    constexpr std::uint64_t kMinute = 60'000;
    constexpr std::uint64_t kDay = 1440 * kMinute;
    static constexpr std::array kSpellings{
        Spelling{"ms", "ms", 1},           Spelling{"msec", "ms", 1},
        Spelling{"millisecond", "ms", 1},  Spelling{"s", "s", 1000},
        Spelling{"sec", "s", 1000},        Spelling{"second", "s", 1000},
        Spelling{"m", "m", kMinute},       Spelling{"min", "m", kMinute},
        Spelling{"minute", "m", kMinute},  Spelling{"h", "h", 60 * kMinute},
        Spelling{"hr", "h", 60 * kMinute}, Spelling{"hour", "h", 60 * kMinute},
        Spelling{"d", "d", kDay},          Spelling{"day", "d", kDay},
        Spelling{"w", "w", 7 * kDay},      Spelling{"week", "w", 7 * kDay}};
    constexpr std::string_view kNumber = "0123456789.";
    const std::size_t digits = std::min(text.find_first_not_of(kNumber), text.size());
    const std::size_t end = std::min(text.find_first_of(kNumber, digits), text.size());
    const std::string_view word = text.substr(digits, end - digits);
    const auto* const known = std::ranges::find_if(kSpellings, [word](const Spelling& each) {
        return word == each.word || word == std::string(each.word) + "s";
    });
    if (known == kSpellings.end()) {
        return std::nullopt;
    }
    return TimePart{text.substr(0, digits), known->unit, known->factor, end};
}

/// @param thousandths  of milliseconds
std::string time_of_thousandths(std::uint64_t thousandths) {
    constexpr std::uint64_t kSecond = 1'000'000;
    return thousandths % kSecond == 0 ? std::to_string(thousandths / kSecond) + "s"
                                      : std::to_string(thousandths / 1000) + "ms";
}

/// @param word  in small letters
/// @return      the meant unit of octets, one of parse_amount()'s; empty: unknown
std::string likely_unit(std::string_view word) {
    struct Power {
        std::string_view unit, name;
    };
    static constexpr std::array kPowers{Power{"k", "kilobyte"},  Power{"M", "megabyte"},
                                        Power{"G", "gigabyte"},  Power{"T", "terabyte"},
                                        Power{"Ki", "kibibyte"}, Power{"Mi", "mebibyte"},
                                        Power{"Gi", "gibibyte"}, Power{"Ti", "tebibyte"}};
    for (const auto& [unit, name] : kPowers) {
        const std::string small = in_small_letters(unit);
        if (word == small) {
            return std::string(unit);
        }
        if (word == small + "b" || word == name || word == std::string(name) + "s") {
            return std::string(unit) + "B";
        }
    }
    return {};
}

/// Without blanks and separators of thousands.
std::string without_marks(std::string_view text) {
    std::string bare(text);
    std::erase_if(bare, [](char c) { return c == ' ' || c == ',' || c == '_'; });
    return bare;
}

}  // namespace

std::optional<std::uint64_t> parse_whole(std::string_view text) {
    std::uint64_t value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        return std::nullopt;
    }
    return value;
}

std::optional<std::chrono::milliseconds> parse_seconds(std::string_view text) {
    constexpr std::uint64_t kMostSeconds = 1'000'000'000'000;
    const std::size_t dot = text.find('.');
    const auto seconds = parse_whole(text.substr(0, dot));
    if (!seconds || *seconds > kMostSeconds) {
        return std::nullopt;
    }
    std::string decimals(dot == std::string_view::npos ? "0" : text.substr(dot + 1));
    if (decimals.empty() || decimals.size() > 3) {
        return std::nullopt;
    }
    decimals.resize(3, '0');
    const auto milliseconds = parse_whole(decimals);
    if (!milliseconds) {
        return std::nullopt;
    }
    return std::chrono::milliseconds(*seconds * 1000 + *milliseconds);
}

std::optional<std::chrono::milliseconds> parse_time(std::string_view text) {
    constexpr std::array kUnits{Unit{"", 1000},    Unit{"ms", 1},        Unit{"s", 1000},
                                Unit{"m", 60'000}, Unit{"h", 3'600'000}, Unit{"d", 86'400'000}};
    const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    const auto number = parse_seconds(text.substr(0, end));
    const Unit* const unit = find_unit(kUnits, text.substr(end));
    if (!number || unit == nullptr) {
        return std::nullopt;
    }
    const auto thousandths = static_cast<std::uint64_t>(number->count());
    const auto times = product(thousandths, unit->factor);
    if (!times || *times % 1000 != 0) {
        return std::nullopt;
    }
    return std::chrono::milliseconds(*times / 1000);
}

std::optional<std::uint64_t> parse_amount(std::string_view text) {
    constexpr std::uint64_t kKibi = 1024;
    constexpr std::array kUnits{Unit{"", 1},
                                Unit{"k", 1000},
                                Unit{"K", 1000},
                                Unit{"M", 1'000'000},
                                Unit{"G", 1'000'000'000},
                                Unit{"T", 1'000'000'000'000},
                                Unit{"Ki", kKibi},
                                Unit{"Mi", kKibi * kKibi},
                                Unit{"Gi", kKibi * kKibi * kKibi},
                                Unit{"Ti", kKibi * kKibi * kKibi * kKibi}};
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    std::string_view word = text.substr(end);
    if (word.size() > 1 && word.back() == 'B') {
        word.remove_suffix(1);
    }
    const auto number = parse_whole(text.substr(0, end));
    const Unit* const unit = find_unit(kUnits, word);
    return number && unit != nullptr ? product(*number, unit->factor) : std::nullopt;
}

std::string likely_time(std::string_view text) {
    const std::string bare = without_marks(text);
    std::string first;
    std::uint64_t sum = 0;
    std::size_t parts = 0;
    for (std::string_view rest = bare; !rest.empty(); ++parts) {
        const auto part = take_time_part(rest);
        if (!part) {
            return {};
        }
        const auto time = parse_seconds(part->number);
        const auto all =
            time ? product(static_cast<std::uint64_t>(time->count()), part->factor) : std::nullopt;
        if (!all || *all > std::numeric_limits<std::uint64_t>::max() - sum) {
            return {};
        }
        sum += *all;
        first = std::string(part->number) + std::string(part->unit);
        rest.remove_prefix(part->size);
    }
    return parts == 1 && !first.ends_with('w') ? first : time_of_thousandths(sum);
}

std::string likely_number(std::string_view text) {
    const std::string bare = without_marks(text);
    if (const auto number = parse_amount(bare)) {
        return std::to_string(*number);
    }
    const std::size_t end = std::min(bare.find_first_not_of("0123456789"), bare.size());
    const std::string unit = likely_unit(in_small_letters(bare.substr(end)));
    return end == 0 || unit.empty() ? std::string() : bare.substr(0, end) + unit;
}

std::string likely_flag(std::string_view text) {
    constexpr std::array<std::string_view, 4> kTrue{"true", "yes", "on", "1"};
    constexpr std::array<std::string_view, 4> kFalse{"false", "no", "off", "0"};
    const std::string word = in_small_letters(text);
    if (std::ranges::find(kTrue, word) != kTrue.end()) {
        return "true";
    }
    return std::ranges::find(kFalse, word) != kFalse.end() ? "false" : "";
}

std::string seconds_text(std::chrono::milliseconds time) {
    const std::string whole = std::to_string(time.count() / 1000);
    std::string decimals = std::to_string(1000 + time.count() % 1000).substr(1);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    return decimals.empty() ? whole : whole + "." + decimals;
}

std::optional<bool> parse_flag(std::string_view text) {
    if (text == "true" || text == "yes") {
        return true;
    }
    if (text == "false" || text == "no") {
        return false;
    }
    return std::nullopt;
}

std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += c;
    }
    return result + "\"";
}

std::size_t count_text_bytes(std::string_view bytes) {
    std::size_t count = 0;
    while (count < bytes.size()) {
        const std::size_t length = character_length(bytes.substr(count));
        if (length == 0) {
            break;
        }
        count += length;
    }
    return count;
}

std::optional<HostAndPort> split_host_and_port(std::string_view text) {
    HostAndPort result;
    std::string_view rest;
    if (text.starts_with('[')) {
        const std::size_t bracket = text.find(']');
        if (bracket == std::string_view::npos) {
            return std::nullopt;
        }
        result.host = text.substr(1, bracket - 1);
        rest = text.substr(bracket + 1);
    } else if (std::count(text.begin(), text.end(), ':') > 1) {
        result.host = text;
    } else {
        const std::size_t colon = std::min(text.find(':'), text.size());
        result.host = text.substr(0, colon);
        rest = text.substr(colon);
    }
    if (result.host.empty() || rest == ":" || (!rest.empty() && rest.front() != ':')) {
        return std::nullopt;
    }
    result.port = rest.empty() ? rest : rest.substr(1);
    return result;
}

}  // namespace tributary
