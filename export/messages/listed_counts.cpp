// SPDX-License-Identifier: Apache-2.0
#include "export/messages/listed_counts.hpp"

#include <algorithm>

namespace tributary {

ListedCounts::ListedCounts() noexcept {
    lasting_groups().for_each([this](FieldGroupId id) {
        for (const FieldElement& element : field_group(id).elements) {
            add(field_group(id), element);
        }
    });
}

void ListedCounts::add(const FieldGroup& group, const FieldElement& element) noexcept {
    if (element.measure == nullptr || size_ == counts_.size()) {
        return;
    }
    const auto* const by = std::find_if(begin(), end(), [&group](const ListedCount& count) {
        return group.measured_by == count.element->name;
    });
    const auto place = static_cast<std::size_t>(by - begin());  // its own place if there is none
    counts_.at(size_) = {.element = &element, .measured_by = place};
    ++size_;
}

bool ListedCounts::has_column(std::size_t place) const noexcept {
    return std::none_of(begin(), end(), [&](const ListedCount& count) {
        return &count != begin() + place && count.measured_by == place;
    });
}

std::optional<std::size_t> ListedCounts::find(std::string_view measure) const noexcept {
    const auto* const found = std::find_if(begin(), end(), [measure](const ListedCount& count) {
        return measure == count.element->measure;
    });
    return found != end() ? std::optional(static_cast<std::size_t>(found - begin())) : std::nullopt;
}

std::optional<std::size_t> ListedCounts::find(ElementOwner owner,
                                              std::uint16_t number) const noexcept {
    const auto* const found = std::find_if(begin(), end(), [&](const ListedCount& count) {
        return count.element->owner == owner && count.element->number == number;
    });
    return found != end() ? std::optional(static_cast<std::size_t>(found - begin())) : std::nullopt;
}

}  // namespace tributary
