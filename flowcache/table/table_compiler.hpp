// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flowcache/table/compiled_table.hpp"

namespace tributary {

/// Makes a CompiledTable of its declaration: reads the entries, and lays out key and values. Used
/// by that class alone.
class TableCompiler {
public:
    TableCompiler(CompiledTable& table, std::span<const OwnField> own) noexcept
        : table_(table), own_(own) {}

    /// @errors  TableError
    void compile();

private:
    /// An entry of the key.
    struct Entry {
        std::string text;
        FieldReference field;
    };
    /// What lies in the group behind the key, until it has its place there.
    struct Part {
        std::size_t octets;
        std::size_t alignment;
        std::size_t at;
    };
    static constexpr std::size_t kNoPart = ~std::size_t{0};
    /// An element whose offset is not known yet.
    struct Pending {
        FieldElement element;
        std::size_t part;  ///< offset is within it; kNoPart: within the group
    };

    void check_name() const;
    void read_key();
    void use(const FieldReference& field);
    void check_direction() const;
    void set_member(const Entry& entry);
    void lay_out_key();
    void lay_out_part(const Entry& entry, std::size_t& at);
    [[nodiscard]] std::size_t extension_place(std::string_view name) const;
    void pair_sides();
    void add_key_elements(const Entry& entry, std::size_t at);
    void add_prefix_lengths(const Entry& entry);
    void read_values();
    void add_value(const std::string& text, const ValueReference& value);
    void place_parts();
    void place_parts_of(std::size_t alignment, std::size_t& at);
    void list_own_readers();
    void finish_group();

    [[nodiscard]] FieldReader reader_of(const FieldReference& field, std::size_t record_octets);
    [[nodiscard]] const char* keep(std::string text);
    [[nodiscard]] std::size_t new_part(std::size_t octets, std::size_t alignment);
    void add_element(const FieldElement& element, std::size_t part);

    CompiledTable& table_;
    std::span<const OwnField> own_;
    std::vector<Entry> entries_;
    std::vector<std::size_t> extension_at_;  ///< by entry; kNoPart: in KeyDescriptor
    std::vector<Part> parts_;
    std::vector<std::size_t> part_of_value_;
    std::vector<std::size_t> part_of_constant_;
    std::vector<Pending> pending_;
};

}  // namespace tributary
