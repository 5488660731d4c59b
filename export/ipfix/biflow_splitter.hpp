// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowcache/record/flow_record.hpp"

namespace tributary {

/// Makes the two uniflows of a biflow, for collectors that require those.
/// @thread  one
class BiflowSplitter {
public:
    /// Valid until the next split(). A direction without packets has no record.
    struct Uniflows {
        const std::byte* first{};   ///< that of the initiator, or the only one
        const std::byte* second{};  ///< nullptr: there is none
    };

    /// @param biflows  of biflows; its groups are the uniflows' too
    explicit BiflowSplitter(const RecordLayout& biflows);

    /// Of the uniflows.
    [[nodiscard]] const RecordLayout& layout() const noexcept { return uniflows_; }
    /// @param record  of a biflow, aligned to 8
    [[nodiscard]] Uniflows split(const std::byte* record) noexcept;

private:
    /// Where a group lies in the biflow's two halves, and in a uniflow.
    struct Group {
        std::uint16_t forward{};
        std::uint16_t reverse{};
        std::uint16_t uniflow{};
        std::uint16_t octets{};
    };
    struct alignas(8) Uniflow {
        std::array<std::byte, kLargestRecord> bytes{};
    };

    void take_groups(Uniflow& to, const std::byte* record,
                     std::uint16_t Group::*half) const noexcept;

    RecordLayout biflows_;
    RecordLayout uniflows_;
    std::vector<Group> groups_;
    Uniflow forward_;
    Uniflow reverse_;
};

}  // namespace tributary
