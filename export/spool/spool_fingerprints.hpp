// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "export/number_ranges.hpp"
#include "export/outgoing_message.hpp"
#include "export/spool/spool_frame.hpp"
#include "export/spool_content.hpp"

namespace tributary {

/// The fingerprints of a spool's content, ready to compare with those of files and frames.
class SpoolFingerprints {
public:
    explicit SpoolFingerprints(const SpoolContent& content);

    /// In the header of files that are written.
    [[nodiscard]] std::uint64_t of_files() const noexcept { return layouts_.front().fingerprint; }
    /// Of files that are written.
    [[nodiscard]] SpoolFileHeader header() const noexcept {
        return {.magic = has_numbers() ? SpoolFileHeader::kNumberedMagic : SpoolFileHeader::kMagic,
                .fingerprint = of_files()};
    }
    /// In the frames of a layout that are written.
    [[nodiscard]] std::uint32_t mark_of(std::size_t layout) const noexcept {
        return static_cast<std::uint32_t>(layouts_[layout].fingerprint);
    }
    /// Whether files with this fingerprint can be sent, of former versions too.
    [[nodiscard]] bool reads_file(std::uint64_t fingerprint) const noexcept;
    /// The layout of frames with this mark, the first where several have it in common; nothing:
    /// they cannot be sent.
    [[nodiscard]] std::optional<std::size_t> layout_of_mark(std::uint32_t mark) const noexcept;
    /// Whether the octets that were read are a message, or whole records of its layout.
    [[nodiscard]] bool is_content(const OutgoingMessage& read) const noexcept;
    /// Whether records have numbers.
    [[nodiscard]] bool has_numbers() const noexcept { return static_cast<bool>(visit_numbers_); }
    /// The numbers of a message's records.
    ///
    /// @param ranges  gets them; without any if they have none, or if one cannot be read
    /// @errors  std::bad_alloc
    void read_numbers(MessageView message, std::vector<NumberRange>& ranges) const;
    /// Of the first layout; 0: the frames hold messages.
    [[nodiscard]] std::size_t record_bytes() const noexcept {
        return layouts_.front().record_bytes;
    }

private:
    struct Former {
        std::uint64_t fingerprint;
        std::size_t layout;
    };

    std::vector<SpoolLayout> layouts_;  ///< in the version that is written
    std::vector<Former> former_;        ///< of the earlier versions that can be sent
    bool (*is_message_)(MessageView octets) noexcept;
    std::function<std::uint64_t(MessageView, const NumberRangeHandler&)> visit_numbers_;
};

}  // namespace tributary
