// SPDX-License-Identifier: Apache-2.0
#include "export/listing/flow_window.hpp"

#include <chrono>
#include <cstddef>

#include "export/listing/filter_values.hpp"
#include "export/messages/ip_text.hpp"

namespace tributary {
namespace {

using std::chrono::nanoseconds;

/// Takes digits and separators from the front of a text.
class Scanner {
public:
    explicit Scanner(std::string_view text) noexcept : rest_(text) {}

    /// @return  nothing: there are not as many digits
    std::optional<unsigned> digits(std::size_t count) {
        const std::string_view word = rest_.substr(0, count);
        if (word.size() != count) {
            return std::nullopt;
        }
        const auto number = parse_number(word, 9999);
        rest_.remove_prefix(number ? count : 0);
        return number;
    }
    bool accept(char separator) {
        if (!rest_.starts_with(separator)) {
            return false;
        }
        rest_.remove_prefix(1);
        return true;
    }
    /// Up to nine digits of a fraction of a second.
    std::optional<nanoseconds> fraction() {
        constexpr std::size_t kMost = 9;
        std::int64_t value = 0;
        std::size_t count = 0;
        while (count < kMost) {
            const auto digit = digits(1);
            if (!digit) {
                break;
            }
            value = value * 10 + *digit;
            ++count;
        }
        if (count == 0) {
            return std::nullopt;
        }
        for (; count < kMost; ++count) {
            value *= 10;
        }
        return nanoseconds(value);
    }
    [[nodiscard]] bool is_done() const noexcept { return rest_.empty(); }

private:
    std::string_view rest_;
};

/// The beginning of a day that has a time of packets; any other day is none, as 64 bits of
/// nanoseconds end in 2262.
std::optional<nanoseconds> take_date(Scanner& text) {
    const auto year = text.digits(4);
    const bool has_month = year && text.accept('-');
    const auto month = has_month ? text.digits(2) : std::nullopt;
    const bool has_day = month && text.accept('-');
    const auto day = has_day ? text.digits(2) : std::nullopt;
    if (!day) {
        return std::nullopt;
    }
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year.value_or(0))),
                                           std::chrono::month(month.value_or(0)),
                                           std::chrono::day(*day)};
    if (!date.ok()) {
        return std::nullopt;
    }
    using std::chrono::days;
    constexpr auto kFirst = std::chrono::floor<days>(kFirstTimestamp.time_since_epoch());
    constexpr auto kLast = std::chrono::floor<days>(kLastTimestamp.time_since_epoch());
    const days day_number = std::chrono::sys_days(date).time_since_epoch();
    return day_number >= kFirst && day_number <= kLast ? std::optional<nanoseconds>(day_number)
                                                       : std::nullopt;
}

/// HH:MM, with :SS and its fraction where they are there.
std::optional<nanoseconds> take_time(Scanner& text) {
    const auto hour = text.digits(2);
    const bool has_minute = hour && text.accept(':');
    const auto minute = has_minute ? text.digits(2) : std::nullopt;
    const bool has_second = minute && text.accept(':');
    const auto second = has_second ? text.digits(2) : std::optional(0U);
    if (!minute || !second || hour.value_or(0) > 23 || *minute > 59 || *second > 60) {
        return std::nullopt;
    }
    const bool has_fraction = has_second && text.accept('.');
    const auto fraction = has_fraction ? text.fraction() : std::optional(nanoseconds(0));
    if (!fraction) {
        return std::nullopt;
    }
    return std::chrono::hours(hour.value_or(0)) + std::chrono::minutes(*minute) +
           std::chrono::seconds(*second) + *fraction;
}

std::optional<nanoseconds> calendar_time(std::string_view text) {
    Scanner rest(text);
    const auto date = take_date(rest);
    if (!date) {
        return std::nullopt;
    }
    std::optional<nanoseconds> time = nanoseconds(0);
    if (rest.accept('T') || rest.accept(' ')) {
        time = take_time(rest);
        rest.accept('Z');
    }
    return time && rest.is_done() ? std::optional(*date + *time) : std::nullopt;
}

}  // namespace

std::optional<Timestamp> parse_time(std::string_view text, Timestamp now) {
    if (const auto calendar = calendar_time(text)) {
        const Timestamp time{*calendar};
        return time >= kFirstTimestamp && time <= kLastTimestamp ? std::optional(time)
                                                                 : std::nullopt;
    }
    const bool has_unit = text.find_first_not_of("0123456789") != std::string_view::npos;
    const auto ago = has_unit ? parse_quantity(text, MeasureUnit::nanoseconds) : std::nullopt;
    const auto most = static_cast<std::uint64_t>((now - kFirstTimestamp).count());
    return ago && *ago <= most ? std::optional(now - nanoseconds(static_cast<std::int64_t>(*ago)))
                               : std::nullopt;
}

}  // namespace tributary
