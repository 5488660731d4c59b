// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "export/message.hpp"

namespace tributary {

/// Makes IPFIX messages that can be read without any other: in front of its data sets a message
/// has the templates of these, and no others.
/// @thread  one
class TemplatesAhead {
public:
    /// Takes the templates of a message of an encoder (IpfixEncoder::template_message()). A
    /// template that is known is not taken again.
    ///
    /// @errors  std::bad_alloc
    void learn(MessageView templates);

    /// Of the message with its templates; 0: it has a set of no known template, or both together
    /// are longer than an IPFIX message can be.
    ///
    /// @param data  a whole message of data sets
    [[nodiscard]] std::size_t octets_with_templates(MessageView data) noexcept;
    /// @param data  for which octets_with_templates() is not 0
    /// @param out   of so many octets
    void write(MessageView data, std::span<std::byte> out) noexcept;

private:
    struct Template {
        std::vector<std::byte> record;   ///< RFC 7011 §3.4.1
        std::uint64_t last_message = 0;  ///< in which it was used
    };

    template <class Use>
    [[nodiscard]] bool for_each_template(MessageView data, Use use) noexcept;

    std::map<std::uint16_t, Template> templates_;  ///< by id
    std::uint64_t messages_ = 0;
};

}  // namespace tributary
