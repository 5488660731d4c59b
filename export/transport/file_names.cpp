// SPDX-License-Identifier: Apache-2.0
#include "export/transport/file_names.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "export/export_error.hpp"
#include "export/file_descriptor.hpp"
#include "export/transport/open_output.hpp"
#include "export/transport/rename_file.hpp"

namespace tributary {
namespace {

/// Whether it is a time in the form of utc_text(), perhaps with a number.
bool is_date(std::string_view text) noexcept {
    constexpr std::string_view kPattern = "00000000T000000Z";
    const auto is_digit = [](char each) { return each >= '0' && each <= '9'; };
    if (text.size() < kPattern.size()) {
        return false;
    }
    for (std::size_t i = 0; i < kPattern.size(); ++i) {
        if (kPattern[i] == '0' ? !is_digit(text[i]) : text[i] != kPattern[i]) {
            return false;
        }
    }
    text.remove_prefix(kPattern.size());
    return text.empty() || (text.size() > 1 && text.front() == '_' &&
                            std::all_of(text.begin() + 1, text.end(), is_digit));
}

/// A stream that the program was started with: its file is not the program's.
bool is_given_stream(const std::string& path) noexcept {
    return path.starts_with("/dev/std") || path.starts_with("/dev/fd/") ||
           path.starts_with("/proc/");
}

}  // namespace

std::string utc_text(std::time_t time) {
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    std::array<char, 32> text{};
    const std::size_t length = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
    return {text.data(), length};
}

std::string dated_name(const std::string& path, const std::string& utc, int number) {
    const std::filesystem::path whole(path);
    std::array<char, 16> text{};
    if (number > 1) {
        static_cast<void>(std::snprintf(text.data(), text.size(), "_%03d", number));
    }
    return (whole.parent_path() / whole.stem()).string() + "-" + utc + text.data() +
           whole.extension().string();
}

std::vector<std::string> parts_of(const std::string& path) {
    const std::filesystem::path whole(path);
    const std::string begin = whole.stem().string() + "-";
    const std::string end = whole.extension().string() + kPartSuffix;
    const std::filesystem::path directory =
        whole.has_parent_path() ? whole.parent_path() : std::filesystem::path(".");
    std::vector<std::string> parts;
    std::error_code unknown;  // creating a file there reports why
    for (std::filesystem::directory_iterator entry(directory, unknown);
         !unknown && entry != std::filesystem::directory_iterator(); entry.increment(unknown)) {
        const std::string name = entry->path().filename().string();
        if (name.size() > begin.size() + end.size() && name.starts_with(begin) &&
            name.ends_with(end) &&
            is_date(std::string_view(name).substr(begin.size(),
                                                  name.size() - begin.size() - end.size()))) {
            parts.push_back((whole.parent_path() / name).string());
        }
    }
    std::ranges::sort(parts);
    return parts;
}

std::string move_former_file_aside(const std::string& path) {
    struct stat status {};
    if (is_given_stream(path) || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size == 0) {
        return {};
    }
    std::error_code unknown;  // a link stays, and leads to the new file
    const std::filesystem::path real = std::filesystem::canonical(path, unknown);
    const std::string former = unknown ? path : real.string();
    const std::string utc = utc_text(status.st_mtime);
    const FileDescriptor file(::open(former.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file && !lock_file(file.get())) {
        throw ExportError(path + ": another process writes it" + locking_process(file.get()));
    }
    for (int number = 1;; ++number) {
        std::string name = dated_name(former, utc, number);
        const int refusal = rename_without_replacing(former, name);
        if (refusal == 0) {
            return name;
        }
        if (refusal != EEXIST) {
            std::string fault = path;
            fault.append(": holds records of a former run, and cannot be renamed ");
            throw ExportError(fault.append(name).append(": ").append(words_for_rename(refusal)));
        }
    }
}

}  // namespace tributary
