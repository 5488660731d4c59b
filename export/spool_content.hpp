// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "export/message.hpp"
#include "export/number_ranges.hpp"

namespace tributary {

/// What the records of one layout are on a disk.
struct SpoolLayout {
    std::uint64_t fingerprint{};   ///< of all that a reader of them has to know
    std::size_t record_bytes = 0;  ///< of each record; 0: the frames hold messages
    bool is_there = true;  ///< false: no table has this place, and no frame is of this layout
};

/// The content of a spool's frames: messages of one format, or records. Files of a former process
/// are sent if they were written for the same content: in the header of a file is the fingerprint
/// of the first layout, and in each frame that of the frame's layout. A frame of a layout that is
/// not here is unusable, and so is a file of another first layout. Layouts whose messages need
/// nothing of a reader may have one fingerprint in common: then those of former tables are sent,
/// too.
struct SpoolContent {
    std::uint64_t fingerprint{};   ///< of the first layout
    std::size_t record_bytes = 0;  ///< likewise, as in SpoolLayout
    std::vector<SpoolLayout> further{};
    /// Name and version of the messages' format. They are a part of each fingerprint, except where
    /// the name is empty: IPFIX and the cache's records, whose fingerprints say all.
    std::string_view format{};
    std::uint32_t version = 0;         ///< of messages that are written; raise it with any change
    std::uint32_t oldest_version = 0;  ///< that collectors still take: it is sent as it is
    /// Whether octets of a disk are one whole message.
    bool (*is_message)(MessageView octets) noexcept = is_data_message;
    /// MessageFormat::visit_numbers() of a format whose records have numbers; the format outlives
    /// the spool. Not set: they have none.
    std::function<std::uint64_t(MessageView octets, const NumberRangeHandler& handler)>
        visit_numbers{};
};

}  // namespace tributary
