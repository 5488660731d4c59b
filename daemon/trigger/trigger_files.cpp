// SPDX-License-Identifier: Apache-2.0
#include "daemon/trigger/trigger_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "daemon/base/spdlog.hpp"
#include "daemon/base/startup_error.hpp"
#include "daemon/recorder/whole_file.hpp"

namespace tributary {
namespace {

constexpr std::string_view kEnding = ".pcapng";

/// What the name of a trigger's file says.
struct FileName {
    std::string_view trigger;
    std::uint32_t number;
};

/// @return  nothing: it is no file of a trigger
std::optional<FileName> parts_of(std::string_view file) {
    const std::size_t dash = file.rfind('-');
    if (dash == std::string_view::npos || !file.ends_with(kEnding)) {
        return std::nullopt;
    }
    FileName parts{.trigger = file.substr(0, dash), .number = 0};
    const char* const end = file.data() + file.size() - kEnding.size();
    const auto [rest, error] = std::from_chars(file.data() + dash + 1, end, parts.number);
    return error == std::errc{} && rest == end ? std::optional(parts) : std::nullopt;
}

[[noreturn]] void refuse(const std::string& directory, const std::string& words) {
    throw StartupError(EX_CANTCREAT, "triggers: directory " + directory + ": " + words);
}

/// Makes a directory that its owner alone may enter.
void make_directory(const std::string& directory) {
    constexpr mode_t kOwner = S_IRWXU;
    const std::filesystem::path path(directory);
    std::error_code error;
    if (path.has_parent_path()) {
        std::filesystem::create_directories(path.parent_path(), error);
    }
    if (::mkdir(directory.c_str(), kOwner) != 0 && errno != EEXIST) {
        refuse(directory, std::generic_category().message(errno));
    }
    struct stat status {};
    if (::stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
        refuse(directory, "it is no directory");
    }
    if (::access(directory.c_str(), R_OK | W_OK | X_OK) != 0) {
        refuse(directory, std::generic_category().message(errno));
    }
}

void warn_about(const std::string& directory, mode_t mode) {
    if ((mode & (S_IRWXG | S_IRWXO)) != 0) {
        spdlog::warn(
            "triggers: directory {} can be entered by others than its owner (mode {:o}); "
            "files there have the content of conversations",
            directory, mode & (S_IRWXU | S_IRWXG | S_IRWXO));
    }
}

}  // namespace

std::string trigger_directory(const std::string& option) {
    if (option != "auto") {
        return option;
    }
    const char* const state = std::getenv("STATE_DIRECTORY");  // NOLINT(concurrency-mt-unsafe)
    const std::string_view directories = state != nullptr ? state : "/var/lib/tributary";
    return std::string(directories.substr(0, directories.find(':'))) + "/triggers";
}

void LockedDirectories::add(const std::string& path) {
    make_directory(path);
    FileDescriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat status {};
    if (!directory || ::fstat(directory.get(), &status) != 0) {
        refuse(path, std::generic_category().message(errno));
    }
    const std::pair place(status.st_dev, status.st_ino);
    if (directories_.contains(place)) {
        return;
    }
    warn_about(path, status.st_mode);
    // A file system without locks has none to refuse.
    if (::flock(directory.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        refuse(path, "another process writes files of triggers there");
    }
    directories_.emplace(place, std::move(directory));
}

TriggerFiles::TriggerFiles(std::string directory, std::string name, std::uint64_t most_octets)
    : directory_(std::move(directory)), name_(std::move(name)), most_octets_(most_octets) {
    find();
}

void TriggerFiles::find() {
    std::error_code error;
    for (auto entry = std::filesystem::directory_iterator(directory_, error);
         !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
        const std::string file = entry->path().filename().string();
        const std::string_view suffix = WholeFile::kSuffix;
        const bool is_part = file.ends_with(suffix);
        const std::string_view whole =
            std::string_view(file).substr(0, file.size() - (is_part ? suffix.size() : 0));
        const std::optional<FileName> parts = parts_of(whole);
        const bool is_own = parts && parts->trigger == name_;
        last_ = parts && !is_part ? std::max(last_, parts->number) : last_;
        if (is_own && is_part) {
            spdlog::info("triggers: removed {}, which did not become whole", file);
            ::unlink(entry->path().c_str());
        } else if (is_own) {
            std::error_code unknown;
            const std::uint64_t octets = entry->file_size(unknown);
            files_[parts->number] = unknown ? 0 : octets;
            octets_ += files_[parts->number];
        }
    }
    if (error) {
        refuse(directory_, error.message());
    }
}

std::string TriggerFiles::path_of(std::uint32_t number) const {
    return fmt::format("{}/{}-{:06}{}", directory_, name_, number, kEnding);
}

bool TriggerFiles::give_room(std::uint64_t octets, std::uint64_t& removed) {
    const std::lock_guard lock(mutex_);
    if (given_ + octets > most_octets_) {  // also without any other file
        return false;
    }
    while (octets_ + given_ + octets > most_octets_ && !files_.empty()) {
        const auto oldest = files_.begin();
        if (::unlink(path_of(oldest->first).c_str()) != 0 && errno != ENOENT) {
            return false;
        }
        octets_ -= oldest->second;
        files_.erase(oldest);
        ++removed;
    }
    const bool has_room = octets_ + given_ + octets <= most_octets_;
    given_ += has_room ? octets : 0;
    return has_room;
}

void TriggerFiles::take_back(std::uint64_t octets) noexcept {
    const std::lock_guard lock(mutex_);
    given_ -= octets;
}

void TriggerFiles::keep(std::uint32_t number, std::uint64_t octets, std::uint64_t room) {
    const std::lock_guard lock(mutex_);  // so that no other file is removed for both
    files_[number] = octets;
    octets_ += octets;
    given_ -= room;
}

}  // namespace tributary
