// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "export/ipfix/record_shape.hpp"
#include "export/ipfix/record_template.hpp"
#include "export/messages/json_value.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"

namespace tributary {

/// The value of one element of records, as JSON output writes it, but without quotes and escapes.
/// Where in a record it is follows from the record's shape, and is looked up at construction.
/// @thread  the export thread
class ElementText {
public:
    /// @param name      of field_names()
    /// @param options   of the collector, by encoder_options()
    /// @param metering  as the collector gets it, by metering_as_sent()
    ElementText(const std::string& name, const ExportOptions& options,
                const MeteringProcess& metering);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Whether a record of a table that does not end has the element.
    [[nodiscard]] bool is_in_records() const noexcept { return is_in_records_; }
    /// Octets that no text exceeds.
    [[nodiscard]] std::size_t most_octets() const noexcept { return text_.size(); }
    /// @param layout  of the record: its index in MeteringProcess
    /// @param record  as the collector gets it, aligned to 8
    /// @param out     at least most_octets()
    /// @return  octets written; 0: the record does not have the element, or its value is empty
    /// @cost    no memory
    [[nodiscard]] std::size_t put(std::size_t layout, const std::byte* record,
                                  std::span<std::byte> out) noexcept;

private:
    /// One way to get a value: several shapes have it in common.
    struct Source {
        RecordTemplate made;     ///< of the one field
        std::uint16_t octets{};  ///< of the value; kVariableLength: it begins with its length
        JsonForm form{};
    };
    struct Layout {
        RecordShapes shapes;
        /// By shape; kNone: it does not have the element. Empty: the place is free.
        std::vector<std::uint16_t> sources;
    };

    void add_layout(const ExportOptions& options, const MeteringProcess& metering,
                    std::size_t index);
    [[nodiscard]] std::uint16_t source_of(const TemplateField& field, const FieldGroups& groups);

    std::string name_;
    bool is_in_records_{};
    std::vector<Source> sources_;
    std::vector<Layout> layouts_;
    std::vector<std::byte> octets_;  ///< a value as in an IPFIX data record
    std::vector<char> text_;         ///< the same as JSON
};

}  // namespace tributary
