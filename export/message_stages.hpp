// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <list>

#include "export/outgoing_message.hpp"

namespace tributary {

/// The closed messages of one collector in memory, by stage: oldest first, `sent` before `staged`
/// before `waiting`. MessageCollector moves them. Adding a message takes memory; moving it to
/// another stage takes none.
/// @thread  the export thread
class MessageStages {
public:
    using Stage = std::list<OutgoingMessage>;

    Stage waiting;
    Stage staged;
    Stage sent;

    /// Octets of all of them.
    [[nodiscard]] std::size_t octets() const noexcept { return octets_; }
    /// In the order of their messages.
    [[nodiscard]] std::array<Stage*, 3> oldest_first() noexcept {
        return {&sent, &staged, &waiting};
    }

    /// Makes sure that the next message can be added without memory.
    ///
    /// @return  false: there is none
    [[nodiscard]] bool make_room() noexcept;
    /// Adds a message, which is then an empty one of the same layout, with the memory of an earlier
    /// one.
    ///
    /// @errors  std::bad_alloc: nothing has changed
    void add_last(Stage& stage, OutgoingMessage& message);
    void add_first(Stage& stage, OutgoingMessage& message);
    /// Moves the first message of a stage behind those of a later one.
    static void move_first(Stage& from, Stage& to) noexcept {
        to.splice(to.end(), from, from.begin());
    }
    void drop_first(Stage& stage) noexcept { drop(stage, stage.begin()); }
    void drop(Stage& stage, Stage::iterator message) noexcept { recycle(stage, message); }
    /// Keeps the first octets of a message of any stage.
    void shorten(OutgoingMessage& message, std::size_t octets) noexcept {
        octets_ -= message.octets.size() - octets;
        message.octets.resize(octets);
    }
    /// Moves the flow records of a later stage back to `waiting`, in the old order.
    void put_back(Stage& stage) noexcept;
    /// Drops messages that wait and were made for another session.
    void drop_made_anew() noexcept;
    /// All messages of flow records; the caller owns them then.
    [[nodiscard]] Stage take_all() noexcept;
    void clear() noexcept;

private:
    void add(Stage& stage, Stage::iterator before, OutgoingMessage& message);
    void recycle(Stage& stage, Stage::iterator message) noexcept;

    std::size_t octets_ = 0;
    Stage spare_;  ///< its memory is used again
};

}  // namespace tributary
