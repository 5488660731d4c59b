// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowcache/record/flow_record.hpp"
#include "flowcache/table/burst_keys.hpp"
#include "flowcache/table/compiled_table.hpp"
#include "flowcache/table/table_text.hpp"
#include "parsers/parse_packet.hpp"
#include "tests/fuzz/fuzzed_frame.hpp"

// Input: an octet, biflow if it is odd; an octet whose lowest two bits are the number of own
// fields; these, five octets each: base, offset (two octets), octets, type; lines, up to the first
// NUL: an entry of the key each, or behind '=' a value; the rest as fuzzed_frame.hpp says.

namespace tributary::fuzz {

namespace {

constexpr std::size_t kOwnOctets = 5;

std::vector<OwnField> own_fields(const std::uint8_t* data, std::size_t count) {
    constexpr std::array kNames{"alpha", "beta", "gamma"};
    std::vector<OwnField> fields;
    for (std::size_t index = 0; index < count; ++index) {
        const std::uint8_t* const at = data + kOwnOctets * index;
        fields.push_back({.name = kNames[index],
                          .from = static_cast<OwnFieldBase>(at[0] % 4),
                          .offset = static_cast<std::uint16_t>(at[1] << 8U | at[2]),
                          .octets = at[3],
                          .as = static_cast<OwnFieldType>(at[4] % 9)});
    }
    return fields;
}

TableDeclaration declaration_of(std::string_view lines, bool is_biflow) {
    TableDeclaration declaration{.name = "fuzzed", .filter = {}, .key = {}, .values = {}};
    declaration.direction = is_biflow ? FlowDirection::biflow : FlowDirection::uniflow;
    while (!lines.empty()) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        const std::string_view line = lines.substr(0, end);
        if (line.starts_with('=')) {
            declaration.values.emplace_back(line.substr(1));
        } else {
            declaration.key.emplace_back(line);
        }
        lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    return declaration;
}

std::unique_ptr<CompiledTable> compiled(const TableDeclaration& declaration,
                                        const std::vector<OwnField>& own,
                                        const ParseOptions& parse) {
    if (fault_of(own)) {
        return nullptr;
    }
    try {
        return std::make_unique<CompiledTable>(declaration, own, TableUse{parse, 1});
    } catch (const TableError& error) {
        const std::string_view why = error.what();
        demand(!why.empty() && std::ranges::all_of(why, is_printable));
        return nullptr;
    }
}

void check_row(const CompiledTable& table) {
    demand(table.record_octets() <= kLargestRecord);
    demand((table.extractor() == nullptr) == (table.key().extension == KeyExtension::none));
    if (const FieldGroup* const group = table.group()) {
        demand(is_valid(*group));
        demand(table.extractor() == nullptr || table.extractor()->octets() == group->key_octets);
    }
}

/// Memory of just these octets, aligned to 8: the sanitizers see what is written around it.
class GroupMemory {
public:
    GroupMemory(std::size_t octets, std::byte value)
        : words_(std::make_unique<std::uint64_t[]>(octets / 8)), octets_(octets) {
        std::fill_n(data(), octets, value);
    }
    [[nodiscard]] std::byte* data() { return reinterpret_cast<std::byte*>(words_.get()); }
    [[nodiscard]] bool is_same(GroupMemory& other) {
        return std::equal(data(), data() + octets_, other.data());
    }

private:
    std::unique_ptr<std::uint64_t[]> words_;
    std::size_t octets_;
};

/// A key is the same wherever it is written, and the other direction's other direction.
void check_key(const KeyExtractor& extractor, const PacketView& packet,
               const PacketFields& fields) {
    GroupMemory one(extractor.octets(), std::byte{0x00});
    GroupMemory other(extractor.octets(), std::byte{0xee});
    extractor.extract(packet, fields, one.data());
    extractor.extract(packet, fields, other.data());
    demand(one.is_same(other));
    extractor.swap_sides(other.data());
    demand(extractor.has_sides() || one.is_same(other));
    extractor.swap_sides(other.data());
    demand(one.is_same(other));
}

/// Several packets' keys, read at once, are those of each alone.
void check_burst(const CompiledTable& table, const PacketView& packet, const PacketFields& fields) {
    BurstKeys keys(table);
    keys.clear();
    keys.add(std::array{PacketAtHand(packet, fields), PacketAtHand(packet, fields)});
    const bool has_fields = table.has_fields(packet, fields);
    demand(keys.read() == (has_fields ? PacketMask{3} : PacketMask{0}));
    if (table.extractor() == nullptr || !has_fields) {
        return;
    }
    GroupMemory one(table.extractor()->octets(), std::byte{0xee});
    table.extractor()->extract(packet, fields, one.data());
    for (const std::size_t place : {0U, 1U}) {
        demand(std::equal(one.data(), one.data() + keys.stride(), keys.octets(place)));
    }
}

void check_group(const CompiledTable& table, const PacketView& packet, const PacketFields& fields) {
    const FieldGroup& row = *table.group();
    GroupMemory group(row.octets, std::byte{0});
    if (table.extractor() != nullptr) {
        table.extractor()->extract(packet, fields, group.data());
    }
    if (row.begin != nullptr) {
        row.begin(row.context, group.data(), packet, fields);
    }
    for (int packets = 0; packets < 2 && row.add != nullptr; ++packets) {
        row.add(row.context, group.data(), packet, fields);
    }
    if (row.finish != nullptr) {
        row.finish(row.context, group.data());
    }
    demand(row.variant_of == nullptr || row.variant_of(group.data(), 0) < row.variants);
}

void check_packet(const CompiledTable& table, const FuzzedFrame& input) {
    const FrameCopy frame(input.packet.captured);
    PacketView packet = input.packet;
    packet.captured = frame.bytes();
    PacketFields fields = old_fields();
    if (parse_packet(packet, input.options, fields) != ParseStatus::ok) {
        return;
    }
    demand(table.has_fields(packet, fields) || table.has_own_fields());
    if (table.extractor() != nullptr) {
        check_key(*table.extractor(), packet, fields);
    }
    check_burst(table, packet, fields);
    if (table.group() != nullptr) {
        check_group(table, packet, fields);
    }
}

void check(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kChoices = 2;
    const std::size_t count = size < kChoices ? 0 : data[1] % 4U;
    const std::size_t own_end = kChoices + kOwnOctets * count;
    if (size < own_end) {
        return;
    }
    const std::vector<OwnField> own = own_fields(data + kChoices, count);
    const std::string_view rest(reinterpret_cast<const char*>(data + own_end), size - own_end);
    const std::size_t text = std::min(rest.find('\0'), rest.size());
    const std::size_t frame_at = std::min(own_end + text + 1, size);
    const auto input = read_input(data + frame_at, size - frame_at);
    const auto table = compiled(declaration_of(rest.substr(0, text), data[0] % 2 != 0), own,
                                input ? input->options : ParseOptions{});
    if (table == nullptr) {
        return;
    }
    check_row(*table);
    if (input) {
        check_packet(*table, *input);
    }
}

}  // namespace

}  // namespace tributary::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tributary::fuzz::check(data, size);
    return 0;
}
