// SPDX-License-Identifier: Apache-2.0
#include "export/message_stages.hpp"

#include <iterator>
#include <new>
#include <type_traits>
#include <utility>

namespace tributary {

void MessageStages::add_last(Stage& stage, OutgoingMessage& message) {
    add(stage, stage.end(), message);
}

void MessageStages::add_first(Stage& stage, OutgoingMessage& message) {
    add(stage, stage.begin(), message);
}

bool MessageStages::make_room() noexcept {
    try {
        if (spare_.empty()) {
            spare_.emplace_back();
        }
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void MessageStages::add(Stage& stage, Stage::iterator before, OutgoingMessage& message) {
    static_assert(std::is_nothrow_swappable_v<OutgoingMessage>);
    if (spare_.empty()) {
        spare_.emplace_back();
    }
    octets_ += message.octets.size();
    spare_.front().layout = message.layout;
    std::swap(spare_.front(), message);
    stage.splice(before, spare_, spare_.begin());
}

void MessageStages::put_back(Stage& stage) noexcept {
    while (!stage.empty()) {
        const auto last = std::prev(stage.end());
        if (last->is_made_anew()) {
            recycle(stage, last);
        } else {
            waiting.splice(waiting.begin(), stage, last);
        }
    }
}

void MessageStages::drop_made_anew() noexcept {
    while (!waiting.empty() && waiting.front().is_made_anew()) {
        drop_first(waiting);
    }
}

MessageStages::Stage MessageStages::take_all() noexcept {
    Stage messages;
    for (Stage* const stage : oldest_first()) {
        messages.splice(messages.end(), *stage);
    }
    octets_ = 0;
    std::erase_if(messages, [](const OutgoingMessage& message) { return message.is_made_anew(); });
    return messages;
}

void MessageStages::clear() noexcept {
    for (Stage* const stage : oldest_first()) {
        while (!stage->empty()) {
            drop_first(*stage);
        }
    }
}

void MessageStages::recycle(Stage& stage, Stage::iterator message) noexcept {
    constexpr std::size_t kSpare = 64;
    octets_ -= message->octets.size();
    message->clear();
    if (spare_.size() < kSpare) {
        spare_.splice(spare_.begin(), stage, message);
    } else {
        stage.erase(message);
    }
}

}  // namespace tributary
