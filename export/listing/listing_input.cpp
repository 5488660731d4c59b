// SPDX-License-Identifier: Apache-2.0
#include "export/listing/listing_input.hpp"

#include <archive.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <streambuf>
#include <string_view>
#include <system_error>

#include "export/listing/ipfix_reader.hpp"
#include "export/listing/printable_text.hpp"

namespace tributary {
namespace {

[[noreturn]] void fail(const std::string& name, const std::string& what) {
    throw IpfixInputError(printable(name) + ": " + what);
}

std::string words_of(int error) {
    return std::generic_category().message(error != 0 ? error : EIO);
}

/// A descriptor that libarchive reads as one file, unpacked if it is compressed.
class ArchiveBuffer final : public std::streambuf {
public:
    /// @param descriptor  is closed in the end unless it is standard input
    ArchiveBuffer(int descriptor, std::string name)
        : descriptor_(descriptor), name_(std::move(name)), archive_(archive_read_new()) {
        // Archive formats are not tried: the one file in a .gz has no format.
        archive_read_support_format_raw(archive_);
        archive_read_support_format_empty(archive_);
        archive_read_support_filter_gzip(archive_);
        archive_read_support_filter_xz(archive_);
        archive_read_support_filter_zstd(archive_);
    }
    ArchiveBuffer(const ArchiveBuffer&) = delete;
    ArchiveBuffer& operator=(const ArchiveBuffer&) = delete;
    ~ArchiveBuffer() override {
        archive_read_free(archive_);
        if (descriptor_ != STDIN_FILENO) {
            ::close(descriptor_);
        }
    }

protected:
    /// @errors  IpfixInputError
    int_type underflow() override {
        if (!opened_ && !open()) {
            return traits_type::eof();
        }
        const la_ssize_t got = archive_read_data(archive_, room_.data(), room_.size());
        if (got < 0) {
            refuse();
        }
        setg(room_.data(), room_.data(), room_.data() + got);
        return got == 0 ? traits_type::eof() : traits_type::to_int_type(room_.front());
    }

private:
    /// Here and not at the beginning, so that a fault is one of reading.
    /// @return  false: the input is empty
    bool open() {
        constexpr std::size_t kBlock = 1U << 16U;
        opened_ = true;
        if (archive_ == nullptr) {
            fail(name_, "cannot read: " + words_of(ENOMEM));
        }
        if (archive_read_open_fd(archive_, descriptor_, kBlock) != ARCHIVE_OK) {
            refuse();
        }
        archive_entry* entry = nullptr;
        const int found = archive_read_next_header(archive_, &entry);
        if (found != ARCHIVE_OK && found != ARCHIVE_EOF) {
            refuse();
        }
        return found == ARCHIVE_OK;
    }
    [[noreturn]] void refuse() {
        const char* const reason = archive_error_string(archive_);
        const std::string text = reason != nullptr ? reason : "";
        const bool is_of_system = text.empty() || text.starts_with("Error reading");
        fail(name_, "cannot read: " + (is_of_system ? words_of(archive_errno(archive_)) : text));
    }

    int descriptor_;
    std::string name_;
    archive* archive_;
    bool opened_{};
    std::array<char, 1U << 16U> room_{};
};

class OpenedInput final : public ListingInput {
public:
    OpenedInput(int descriptor, const std::string& name)
        : name_(name), buffer_(descriptor, name), stream_(&buffer_) {
        stream_.exceptions(std::ios::badbit);  // a fault is thrown on unchanged
    }
    [[nodiscard]] std::istream& stream() noexcept override { return stream_; }
    [[nodiscard]] const std::string& name() const noexcept override { return name_; }

private:
    std::string name_;
    ArchiveBuffer buffer_;
    std::istream stream_;
};

/// The suffixes that compressors add to a file's name.
constexpr std::array<std::string_view, 3> kCompressed{".gz", ".xz", ".zst"};

/// A compressor removes its input when its output is whole: until then both are there.
///
/// @param names  sorted
bool is_being_compressed(const std::string& name, const std::vector<std::string>& names) {
    return std::ranges::any_of(kCompressed, [&](std::string_view suffix) {
        return name.ends_with(suffix) &&
               std::ranges::binary_search(names, name.substr(0, name.size() - suffix.size()));
    });
}

int open_file(const std::string& path) { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }

}  // namespace

std::unique_ptr<ListingInput> ListingInput::open(const std::string& path) {
    if (path == "-") {
        return std::make_unique<OpenedInput>(STDIN_FILENO, "standard input");
    }
    const int descriptor = open_file(path);
    if (descriptor < 0) {
        fail(path, "cannot open: " + words_of(errno));
    }
    return std::make_unique<OpenedInput>(descriptor, path);
}

std::unique_ptr<ListingInput> ListingInput::open_of_directory(const std::string& path) {
    int descriptor = open_file(path);
    const int reason = errno;
    std::string name = path;
    for (const std::string_view suffix : kCompressed) {
        if (descriptor < 0 && reason == ENOENT) {
            name = path + std::string(suffix);
            descriptor = open_file(name);
        }
    }
    if (descriptor < 0) {
        fail(path, "cannot open: " + words_of(reason));
    }
    return std::make_unique<OpenedInput>(descriptor, name);
}

std::vector<std::string> files_of(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (path == "-" || !fs::is_directory(path, error)) {
        return {path};
    }
    std::vector<std::string> files;
    bool has_part = false;
    bool has_directory = false;
    fs::directory_iterator entry(path, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        std::error_code gone;
        has_directory = has_directory || entry->is_directory(gone);
        if (name.starts_with('.') || !entry->is_regular_file(gone)) {
            continue;
        }
        if (name.ends_with(".part")) {
            has_part = true;
        } else {
            files.push_back(entry->path().string());
        }
    }
    if (error) {
        fail(path, "cannot read: " + error.message());
    }
    if (files.empty()) {
        fail(path, std::string("no finished file is in this directory") +
                       (has_part ? ", but one that is being written (.part)" : "") +
                       (has_directory ? "; directories in it are listed by their own names" : ""));
    }
    std::sort(files.begin(), files.end());
    const std::vector<std::string> all = files;
    std::erase_if(files,
                  [&all](const std::string& name) { return is_being_compressed(name, all); });
    return files;
}

}  // namespace tributary
