// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/compiled_table.hpp"

#include <algorithm>
#include <cstring>

#include "flowcache/record/flow_record.hpp"
#include "flowcache/table/distinct_counter.hpp"
#include "flowcache/table/table_compiler.hpp"

namespace tributary {

namespace {

const CompiledTable& table_of(const void* context) noexcept {
    return *static_cast<const CompiledTable*>(context);
}

std::uint64_t load_sum(const std::byte* from) noexcept {
    std::uint64_t sum = 0;
    std::memcpy(&sum, from, sizeof sum);
    return sum;
}

DistinctCounter& counter_at(std::byte* at) noexcept {
    return *reinterpret_cast<DistinctCounter*>(at);
}

}  // namespace

/// The extension of a table's key.
class CompiledTable::Extractor final : public KeyExtractor {
public:
    explicit Extractor(const CompiledTable& table) noexcept : table_(table) {}

    [[nodiscard]] std::size_t octets() const noexcept override { return table_.key_octets_; }
    void extract(const PacketView& packet, const PacketFields& fields,
                 std::byte* to) const noexcept override {
        for (std::size_t at = 0; at < table_.key_octets_; at += sizeof(std::uint64_t)) {
            std::memset(to + at, 0, sizeof(std::uint64_t));
        }
        const PacketAtHand at_hand = table_.at_hand(table_.key_need_, packet, fields);
        for (const KeyPart& part : table_.key_parts_) {
            part.reader.write(at_hand, to + part.to);
        }
    }
    [[nodiscard]] bool has_sides() const noexcept override { return !table_.sides_.empty(); }
    void swap_sides(std::byte* octets) const noexcept override {
        for (const SidePair& pair : table_.sides_) {
            std::swap_ranges(octets + pair.source, octets + pair.source + pair.octets,
                             octets + pair.destination);
        }
    }

private:
    const CompiledTable& table_;
};

CompiledTable::CompiledTable(const TableDeclaration& declaration, std::span<const OwnField> own,
                             const TableUse& use)
    : declaration_(declaration), parse_(use.parse), seed_(use.seed) {
    TableCompiler(*this, own).compile();
    if (key_octets_ != 0) {
        extractor_ = std::make_unique<Extractor>(*this);
        key_.extension = KeyExtension::declared;
        key_.extractor = extractor_.get();
    }
}

CompiledTable::~CompiledTable() = default;

const KeyExtractor* CompiledTable::extractor() const noexcept { return extractor_.get(); }

std::size_t CompiledTable::record_octets() const noexcept {
    constexpr std::size_t kOfBiflows = sizeof(ReverseGroup) + sizeof(PacketSpan);
    return declaration_.direction == FlowDirection::biflow
               ? sizeof(FlowRecordCore) + kOfBiflows + std::size_t{2} * group_.octets
               : sizeof(FlowRecordCore) + group_.octets;
}

bool CompiledTable::has_fields(const PacketView& packet,
                               const PacketFields& fields) const noexcept {
    const PacketAtHand at_hand = this->at_hand(own_need_, packet, fields);
    return std::ranges::all_of(
        own_readers_, [&at_hand](const FieldReader& reader) { return reader.is_there(at_hand); });
}

void CompiledTable::begin(const void* context, std::byte* group, const PacketView& packet,
                          const PacketFields& fields) noexcept {
    const CompiledTable& table = table_of(context);
    const PacketAtHand at_hand = table.at_hand(table.values_need_, packet, fields);
    for (const Value& value : table.values_) {
        if (value.function == ValueFunction::minimum) {
            value.reader.put(value.reader.largest(), group + value.to);
        } else if (value.function == ValueFunction::first) {
            value.reader.put(value.reader.number(at_hand), group + value.to);
        }
    }
}

void CompiledTable::add(const void* context, std::byte* group, const PacketView& packet,
                        const PacketFields& fields) noexcept {
    const CompiledTable& table = table_of(context);
    const PacketAtHand at_hand = table.at_hand(table.values_need_, packet, fields);
    for (const Value& value : table.values_) {
        table.add(value, group, at_hand);
    }
}

void CompiledTable::add(const Value& value, std::byte* group,
                        const PacketAtHand& packet) const noexcept {
    std::byte* const at = group + value.to;
    const FieldReader& reader = value.reader;
    switch (value.function) {
        case ValueFunction::sum: {
            const std::uint64_t sum = load_sum(at) + reader.number(packet);
            std::memcpy(at, &sum, sizeof sum);
            return;
        }
        case ValueFunction::minimum:
            reader.put(std::min(reader.get(at), reader.number(packet)), at);
            return;
        case ValueFunction::maximum:
            reader.put(std::max(reader.get(at), reader.number(packet)), at);
            return;
        case ValueFunction::last:
            reader.put(reader.number(packet), at);
            return;
        case ValueFunction::bits:
            reader.put(reader.get(at) | reader.number(packet), at);
            return;
        case ValueFunction::distinct:
            if (const auto hash = reader.hash(packet, seed_)) {
                counter_at(at).add(*hash);
            }
            return;
        case ValueFunction::none:
        case ValueFunction::first:
            return;
    }
}

void CompiledTable::finish(const void* context, std::byte* group) noexcept {
    const CompiledTable& table = table_of(context);
    // Here and not in begin(): a direction of a biflow without a packet has them too.
    for (const Constant& constant : table.constants_) {
        group[constant.to] = std::byte{constant.value};
    }
    for (const Value& value : table.values_) {
        if (value.function == ValueFunction::distinct) {
            counter_at(group + value.to).finish();
        }
    }
}

}  // namespace tributary
