// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conf/address_rules.hpp"
#include "conf/key.hpp"
#include "conf/scalars.hpp"

// Rules for values, by kind. Limits and members are in the key tables (keys.cpp).

namespace tributary {

inline constexpr std::chrono::milliseconds kHour{3'600'000};

// Limits used in several sections.
inline constexpr std::uint64_t kMost16 = std::numeric_limits<std::uint16_t>::max();
inline constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::uint64_t kLongestTimeout = 1U << 31U;  ///< seconds
/// @source  unix(7): sun_path has room for 108 octets, the last one being 0
inline constexpr std::size_t kLongestSocketPath = 107;

/// A word of the configuration and its value.
template <class T>
struct Word {
    std::string_view text;
    T meaning;
};

/// The target of or_inherit()'s rule.
template <class T>
struct OneValue {
    T value{};
};

inline bool is_scalar(const YamlNode& node) { return node.kind == YamlNode::Kind::scalar; }

/// Whether text is digits followed by something, perhaps a unit.
inline bool is_number_of_something(std::string_view text) {
    const std::size_t end = text.find_first_not_of("0123456789., _");
    return end != 0 && end != std::string_view::npos;
}

inline std::string time_advice(std::string_view text) {
    return is_number_of_something(text) ? "units are ms, s, m, h and d" : "";
}

inline std::string range_text(std::uint64_t low, std::uint64_t high) {
    return "from " + std::to_string(low) + " to " + std::to_string(high);
}

template <class Owner, std::unsigned_integral T>
Rule<Owner> whole_number(T Owner::*member, std::uint64_t low, std::uint64_t high) {
    return {.limits = "a whole number " + range_text(low, high),
            .accept =
                [=](const YamlNode& node, Owner& owner) {
                    // Numbers that are never in thousands, such as a port, take no "k".
                    const auto number =
                        high > kMost16 ? parse_amount(node.text) : parse_whole(node.text);
                    if (!is_scalar(node) || !number || *number < low || *number > high) {
                        return false;
                    }
                    owner.*member = static_cast<T>(*number);
                    return true;
                },
            .yaml = [=](const Owner& owner) { return std::to_string(owner.*member); },
            .hint = likely_number,
            .advice =
                [=](std::string_view text) {
                    return high > kMost16 && is_number_of_something(text)
                               ? "units are k, M, G, T, Ki, Mi, Gi and Ti, with or without B"
                               : "";
                }};
}

/// A number, or `auto`, which the member holds as 0.
template <class Owner, std::unsigned_integral T>
Rule<Owner> whole_number_or_auto(T Owner::*member, std::uint64_t low, std::uint64_t high) {
    const Rule<Owner> number = whole_number(member, low, high);
    return {.limits = "auto or " + number.limits,
            .accept =
                [=](const YamlNode& node, Owner& owner) {
                    if (is_scalar(node) && node.text == "auto") {
                        owner.*member = 0;
                        return true;
                    }
                    return number.accept(node, owner);
                },
            .yaml =
                [=](const Owner& owner) {
                    return owner.*member == 0 ? std::string("auto") : number.yaml(owner);
                },
            .hint = number.hint,
            .advice = number.advice};
}

template <class Owner>
Rule<Owner> whole_seconds(std::chrono::seconds Owner::*member, std::uint64_t low,
                          std::uint64_t high) {
    return {.limits = "a whole number of seconds " + range_text(low, high),
            .accept =
                [=](const YamlNode& node, Owner& owner) {
                    const auto time = parse_time(node.text);
                    if (!is_scalar(node) || !time || time->count() % 1000 != 0) {
                        return false;
                    }
                    const auto number = static_cast<std::uint64_t>(time->count() / 1000);
                    if (number < low || number > high) {
                        return false;
                    }
                    owner.*member = std::chrono::seconds(number);
                    return true;
                },
            .yaml = [=](const Owner& owner) { return std::to_string((owner.*member).count()); },
            .hint = likely_time,
            .advice = time_advice};
}

template <class Owner>
Rule<Owner> seconds(std::chrono::milliseconds Owner::*member, std::chrono::milliseconds low,
                    std::chrono::milliseconds high) {
    return {.limits = "seconds from " + seconds_text(low) + " to " + seconds_text(high) +
                      ", with at most three decimals",
            .accept =
                [=](const YamlNode& node, Owner& owner) {
                    const auto time = parse_time(node.text);
                    if (!is_scalar(node) || !time || *time < low || *time > high) {
                        return false;
                    }
                    owner.*member = *time;
                    return true;
                },
            .yaml = [=](const Owner& owner) { return seconds_text(owner.*member); },
            .hint = likely_time,
            .advice = time_advice};
}

/// A flag that is no member of its own.
///
/// @param get  bool(const Owner&)
/// @param set  void(Owner&, bool)
template <class Owner, class Get, class Set>
Rule<Owner> flag(Get get, Set set) {
    return {.limits = "true or false",
            .accept =
                [=](const YamlNode& node, Owner& owner) {
                    const auto value = parse_flag(node.text);
                    if (!is_scalar(node) || !value) {
                        return false;
                    }
                    set(owner, *value);
                    return true;
                },
            .yaml = [=](const Owner& owner) { return get(owner) ? "true" : "false"; },
            .hint = likely_flag};
}
template <class Owner>
Rule<Owner> flag(bool Owner::*member) {
    return flag<Owner>([=](const Owner& owner) { return owner.*member; },
                       [=](Owner& owner, bool value) { owner.*member = value; });
}

/// "a", "a or b", "a, b or c".
template <class T>
std::string words_text(const std::vector<Word<T>>& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const bool is_last = i + 1 == words.size();
        text += (i == 0 ? "" : is_last ? " or " : ", ") + std::string(words[i].text);
    }
    return text;
}

/// @return  nullptr: none of them
template <class T>
const Word<T>* find_word(const std::vector<Word<T>>& words, std::string_view text) {
    const auto word = std::find_if(words.begin(), words.end(),
                                   [text](const Word<T>& w) { return w.text == text; });
    return word == words.end() ? nullptr : &*word;
}

/// One of several words.
template <class Owner, class T>
Rule<Owner> choice(T Owner::*member, const std::vector<Word<T>>& words) {
    return {.limits = words_text(words),
            .accept =
                [=](const YamlNode& node, Owner& owner) {
                    const auto* word = find_word(words, node.text);
                    if (!is_scalar(node) || word == nullptr) {
                        return false;
                    }
                    owner.*member = word->meaning;
                    return true;
                },
            .yaml =
                [=](const Owner& owner) {
                    const auto word = std::find_if(words.begin(), words.end(), [&](const auto& w) {
                        return w.meaning == owner.*member;
                    });
                    return std::string(word->text);
                },
            .hint =
                [=](std::string_view text) {
                    std::vector<std::string> names;
                    names.reserve(words.size());
                    for (const Word<T>& word : words) {
                        names.emplace_back(word.text);
                    }
                    return closest(text, names);
                }};
}

/// `rule` for an optional member, or a word that leaves it empty.
template <class Owner, class T>
Rule<Owner> or_word(const std::string& word, std::optional<T> Owner::*member,
                    const Rule<OneValue<T>>& rule) {
    return {.limits = word + " or " + rule.limits,
            .accept =
                [=](const YamlNode& node, Owner& owner) {
                    if (is_scalar(node) && node.text == word) {
                        (owner.*member).reset();
                        return true;
                    }
                    OneValue<T> read;
                    const bool is_good = rule.accept(node, read);
                    owner.*member = read.value;
                    return is_good;
                },
            .yaml =
                [=](const Owner& owner) {
                    const std::optional<T>& value = owner.*member;
                    return value ? rule.yaml({*value}) : word;
                },
            .hint = rule.hint,
            .advice = rule.advice};
}

/// `rule` for an optional member, or `inherit`, which leaves it empty: a wider section decides.
///
/// @param rule  of a struct with one member `value`, the target
template <class Owner, class T>
Rule<Owner> or_inherit(std::optional<T> Owner::*member, const Rule<OneValue<T>>& rule) {
    return or_word("inherit", member, rule);
}

/// `rule` for an optional member, or `auto`, which leaves it empty: the program decides.
///
/// @param rule  of a struct with one member `value`, the target
template <class Owner, class T>
Rule<Owner> or_auto(std::optional<T> Owner::*member, const Rule<OneValue<T>>& rule) {
    return or_word("auto", member, rule);
}

/// Text that satisfies `is_good`, which gets only printable text of at most `longest` octets.
template <class Owner>
Rule<Owner> text(std::string Owner::*member, const std::string& limits,
                 bool (*is_good)(std::string_view), std::size_t longest = kLongestText) {
    return {
        .limits = limits,
        .accept =
            [=](const YamlNode& node, Owner& owner) {
                if (!is_scalar(node) || !is_printable(node.text, longest) || !is_good(node.text)) {
                    return false;
                }
                owner.*member = node.text;
                return true;
            },
        .yaml = [=](const Owner& owner) { return quoted(owner.*member); },
        .advice = [=](std::string_view text) { return unprintable_in(text, longest); }};
}

/// A pcap filter. libpcap checks it later (daemon/filter/filter_check.hpp).
template <class Owner>
Rule<Owner> filter_text(std::string Owner::*member) {
    constexpr std::size_t kLongestFilter = 4096;
    return text(member, "a filter expression in pcap syntax or \"\"", is_any_text, kLongestFilter);
}

/// The texts of a list.
///
/// @return  nothing: it is no list, or one of them is not printable, or longer than kLongestText
inline std::optional<std::vector<std::string>> texts_of(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::list) {
        return std::nullopt;
    }
    std::vector<std::string> texts;
    for (const YamlEntry& entry : node.entries) {
        if (!is_scalar(entry.value) || !is_printable(entry.value.text)) {
            return std::nullopt;
        }
        texts.push_back(entry.value.text);
    }
    return texts;
}

/// A list of texts that satisfies `is_good`.
template <class Owner>
Rule<Owner> text_list(std::vector<std::string> Owner::*member, const std::string& limits,
                      bool (*is_good)(const std::vector<std::string>&)) {
    return {.limits = limits,
            .accept =
                [=](const YamlNode& node, Owner& owner) {
                    auto texts = texts_of(node);
                    if (!texts || !is_good(*texts)) {
                        return false;
                    }
                    owner.*member = *std::move(texts);
                    return true;
                },
            .yaml =
                [=](const Owner& owner) {
                    std::string list;
                    for (const std::string_view each : owner.*member) {
                        list += (list.empty() ? "" : ", ") + quoted(each);
                    }
                    return "[" + list + "]";
                }};
}

/// `auto` (no core in the list), one core, or a list of at most `most` of them.
template <class Owner>
Rule<Owner> cores(std::vector<std::uint32_t> Owner::*member, std::size_t most,
                  const std::string& limits) {
    return {.limits = limits,
            .accept =
                [=](const YamlNode& node, Owner& owner) {
                    const auto list = parse_cores(node);
                    if (!list || list->size() > most) {
                        return false;
                    }
                    owner.*member = *list;
                    return true;
                },
            .yaml =
                [=](const Owner& owner) {
                    std::string text;
                    for (const std::uint32_t core : owner.*member) {
                        text += (text.empty() ? "" : ", ") + std::to_string(core);
                    }
                    return text.empty() ? "auto" : "[" + text + "]";
                }};
}

}  // namespace tributary
