// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <vector>

#include "export/outgoing_message.hpp"

namespace tributary {

/// The closed messages of one collector that are in memory, by how far they have come: oldest
/// first, `sent` before `staged` before `waiting`. CollectorSession moves them.
/// @thread  the export thread
class MessageStages {
public:
    using Stage = std::deque<OutgoingMessage>;

    Stage waiting;
    Stage staged;
    Stage sent;

    /// Octets of all of them.
    [[nodiscard]] std::size_t octets() const noexcept { return octets_; }
    /// In the order of their messages.
    [[nodiscard]] std::array<Stage*, 3> oldest_first() noexcept {
        return {&sent, &staged, &waiting};
    }

    /// An empty message, to be filled and added.
    [[nodiscard]] OutgoingMessage fresh() noexcept;
    void add_last(Stage& stage, OutgoingMessage message);
    void add_first(Stage& stage, OutgoingMessage message);
    void drop_first(Stage& stage) noexcept;
    /// Lets the flow records of a later stage wait again, in the old order.
    void put_back(Stage& stage) noexcept;
    /// Drops templates and options that wait: they were made for another session.
    void drop_made_anew() noexcept;
    /// All messages of flow records, which are the caller's then.
    [[nodiscard]] std::vector<OutgoingMessage> take_all();
    void clear() noexcept;

private:
    void recycle(OutgoingMessage& message) noexcept;

    std::size_t octets_ = 0;
    std::vector<OutgoingMessage> spare_;  ///< whose memory is used again
};

}  // namespace tributary
