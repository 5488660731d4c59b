// SPDX-License-Identifier: Apache-2.0
#include "export/spool/spool_fingerprints.hpp"

#include <xxhash.h>

#include <algorithm>

namespace tributary {
namespace {

std::uint64_t in_version(const SpoolContent& content, std::uint64_t fingerprint,
                         std::uint32_t version) {
    if (content.format.empty()) {
        return fingerprint;
    }
    const std::uint64_t of_format =
        XXH3_64bits_withSeed(content.format.data(), content.format.size(), fingerprint);
    return XXH3_64bits_withSeed(&version, sizeof version, of_format);
}

}  // namespace

SpoolFingerprints::SpoolFingerprints(const SpoolContent& content)
    : layouts_{{.fingerprint = content.fingerprint, .record_bytes = content.record_bytes}},
      is_message_(content.is_message),
      visit_numbers_(content.visit_numbers) {
    layouts_.insert(layouts_.end(), content.further.begin(), content.further.end());
    for (std::size_t layout = 0; layout < layouts_.size(); ++layout) {
        const std::uint64_t plain = layouts_[layout].fingerprint;
        for (std::uint32_t each = content.oldest_version; each < content.version; ++each) {
            former_.push_back({.fingerprint = in_version(content, plain, each), .layout = layout});
        }
        layouts_[layout].fingerprint = in_version(content, plain, content.version);
    }
}

bool SpoolFingerprints::reads_file(std::uint64_t fingerprint) const noexcept {
    return fingerprint == of_files() ||
           std::ranges::any_of(former_, [fingerprint](const Former& each) {
               return each.layout == 0 && each.fingerprint == fingerprint;
           });
}

std::optional<std::size_t> SpoolFingerprints::layout_of_mark(std::uint32_t mark) const noexcept {
    for (std::size_t layout = 0; layout < layouts_.size(); ++layout) {
        if (layouts_[layout].is_there && mark_of(layout) == mark) {
            return layout;
        }
    }
    for (const Former& each : former_) {
        if (static_cast<std::uint32_t>(each.fingerprint) == mark) {
            return each.layout;
        }
    }
    return std::nullopt;
}

bool SpoolFingerprints::is_content(const OutgoingMessage& read) const noexcept {
    const std::size_t record_bytes = layouts_[read.layout].record_bytes;
    return record_bytes == 0 ? is_message_(read.octets)
                             : read.octets.size() == read.data_records * record_bytes;
}

void SpoolFingerprints::read_numbers(MessageView message, std::vector<NumberRange>& ranges) const {
    ranges.clear();
    if (!visit_numbers_) {
        return;
    }
    const auto add = [&ranges](const NumberRange& range) { ranges.push_back(range); };
    if (visit_numbers_(message, std::ref(add)) > 0) {
        ranges.clear();
    }
}

}  // namespace tributary
