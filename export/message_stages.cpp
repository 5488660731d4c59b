// SPDX-License-Identifier: Apache-2.0
#include "export/message_stages.hpp"

#include <utility>

namespace tributary {

OutgoingMessage MessageStages::fresh() noexcept {
    if (spare_.empty()) {
        return {};
    }
    OutgoingMessage message = std::move(spare_.back());
    spare_.pop_back();
    return message;
}

void MessageStages::add_last(Stage& stage, OutgoingMessage message) {
    octets_ += message.octets.size();
    stage.push_back(std::move(message));
}

void MessageStages::add_first(Stage& stage, OutgoingMessage message) {
    octets_ += message.octets.size();
    stage.push_front(std::move(message));
}

void MessageStages::drop_first(Stage& stage) noexcept {
    recycle(stage.front());
    stage.pop_front();
}

void MessageStages::put_back(Stage& stage) noexcept {
    for (; !stage.empty(); stage.pop_back()) {
        if (stage.back().is_made_anew) {
            recycle(stage.back());
        } else {
            waiting.push_front(std::move(stage.back()));
        }
    }
}

void MessageStages::drop_made_anew() noexcept {
    while (!waiting.empty() && waiting.front().is_made_anew) {
        drop_first(waiting);
    }
}

std::vector<OutgoingMessage> MessageStages::take_all() {
    std::vector<OutgoingMessage> messages;
    for (Stage* const stage : oldest_first()) {
        for (OutgoingMessage& message : *stage) {
            messages.push_back(std::move(message));
        }
        stage->clear();
    }
    octets_ = 0;
    std::erase_if(messages, [](const OutgoingMessage& message) { return message.is_made_anew; });
    return messages;
}

void MessageStages::clear() noexcept {
    for (Stage* const stage : oldest_first()) {
        while (!stage->empty()) {
            drop_first(*stage);
        }
    }
}

void MessageStages::recycle(OutgoingMessage& message) noexcept {
    constexpr std::size_t kSpare = 64;
    octets_ -= message.octets.size();
    message.clear();
    if (spare_.size() < kSpare) {
        spare_.push_back(std::move(message));
    }
}

}  // namespace tributary
