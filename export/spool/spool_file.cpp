// SPDX-License-Identifier: Apache-2.0
#include "export/spool/spool_file.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace tributary {
namespace {

constexpr std::string_view kSuffix = ".spool";

}  // namespace

std::string spool_file_name(std::uint64_t number) {
    constexpr std::size_t kDigits = 20;
    const std::string digits = std::to_string(number);
    return std::string(kDigits - digits.size(), '0') + digits + std::string(kSuffix);
}

bool is_spool_file_name(const std::string& name) noexcept {
    return name.size() > kSuffix.size() && name.ends_with(kSuffix) &&
           std::all_of(name.begin(), name.end() - static_cast<std::ptrdiff_t>(kSuffix.size()),
                       [](char each) { return each >= '0' && each <= '9'; });
}

std::optional<std::uint64_t> spool_file_number(const std::string& name) {
    std::uint64_t number = 0;
    const auto [stopped, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return is_spool_file_name(name) && error == std::errc{} ? std::optional(number) : std::nullopt;
}

std::vector<std::string> spool_files_in(const std::string& directory) {
    std::vector<std::tuple<bool, std::uint64_t, std::string>> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        std::string name = entry.path().filename().string();
        if (is_spool_file_name(name)) {
            const std::uint64_t number = spool_file_number(name).value_or(0);
            const bool is_usual =
                number > 0 && number <= kMostSpoolFile && name == spool_file_name(number);
            found.emplace_back(!is_usual, number, std::move(name));
        }
    }
    std::ranges::sort(found);
    std::vector<std::string> names;
    names.reserve(found.size());
    for (auto& each : found) {
        names.push_back(std::move(std::get<std::string>(each)));
    }
    return names;
}

}  // namespace tributary
