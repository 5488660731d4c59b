// SPDX-License-Identifier: Apache-2.0
#include "flowcache/table/compiled_table.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/load_word.hpp"
#include "flowcache/table/distinct_counter.hpp"
#include "flowcache/table/table_compiler.hpp"

namespace tributary {

namespace {

const CompiledTable& table_of(const void* context) noexcept {
    return *static_cast<const CompiledTable*>(context);
}

constexpr std::size_t kWord = sizeof(std::uint64_t);

void store_word(std::uint64_t word, std::byte* to) noexcept { std::memcpy(to, &word, sizeof word); }

/// A gathered value of distinct(): a hash, and whether the packet has one.
constexpr std::uint64_t kHasHash = std::uint64_t{1} << 32U;

DistinctCounter& counter_at(std::byte* at) noexcept {
    return *reinterpret_cast<DistinctCounter*>(at);
}

/// @param hash  nothing: the packet has no value
void count_distinct(std::optional<std::uint32_t> hash, std::byte* at) noexcept {
    if (hash) {
        counter_at(at).add(*hash);
    }
}

/// Adds what a packet has to a value.
void add_number(ValueFunction function, const FieldReader& reader, std::byte* at,
                std::uint64_t number) noexcept {
    switch (function) {
        case ValueFunction::sum:
            store_word(load_word(at) + number, at);
            return;
        case ValueFunction::minimum:
            reader.put(std::min(reader.get(at), number), at);
            return;
        case ValueFunction::maximum:
            reader.put(std::max(reader.get(at), number), at);
            return;
        case ValueFunction::last:
            reader.put(number, at);
            return;
        case ValueFunction::bits:
            reader.put(reader.get(at) | number, at);
            return;
        case ValueFunction::none:
        case ValueFunction::first:
        case ValueFunction::distinct:
            return;
    }
}

}  // namespace

/// The extension of a table's key.
class CompiledTable::Extractor final : public KeyExtractor {
public:
    explicit Extractor(const CompiledTable& table) noexcept : table_(table) {}

    [[nodiscard]] std::size_t octets() const noexcept override { return table_.key_octets_; }
    [[nodiscard]] std::size_t used_octets() const noexcept override {
        return table_.used_key_octets_;
    }
    void extract(const PacketView& packet, const PacketFields& fields,
                 std::byte* to) const noexcept override {
        if (table_.packets_ == TablePackets::gathered) {
            std::memcpy(to, packet.captured.data(), table_.key_octets_);
        } else {
            table_.write_key(packet, fields, to);
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
    : declaration_(declaration), parse_(use.parse), seed_(use.seed), packets_(use.packets) {
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
    const std::size_t of_groups =
        group_.octets + (declaration_.dump_files ? sizeof(PacketDumpGroup) : std::size_t{0});
    return declaration_.direction == FlowDirection::biflow
               ? sizeof(FlowRecordCore) + kOfBiflows + 2 * of_groups
               : sizeof(FlowRecordCore) + of_groups;
}

bool CompiledTable::has_fields(const PacketView& packet,
                               const PacketFields& fields) const noexcept {
    const PacketAtHand at_hand = this->at_hand(own_need_, packet, fields);
    return std::ranges::all_of(
        own_readers_, [&at_hand](const FieldReader& reader) { return reader.is_there(at_hand); });
}

void CompiledTable::locate(std::span<PacketAtHand> packets) const noexcept {
    // What the key needs, the table's own fields need.
    if (own_need_ == HeaderNeed::none) {
        return;
    }
    const LastHeader last = last_header(own_need_);
    for (PacketAtHand& packet : packets) {
        if (last == LastHeader::payload ||
            !locate_transport_of_plain_ipv4(*packet.packet, *packet.fields, packet.places)) {
            packet.places = locate_headers(*packet.packet, *packet.fields, parse_, last);
        }
    }
}

PacketMask CompiledTable::read_keys(std::span<const PacketAtHand> packets,
                                    std::byte* to) const noexcept {
    PacketMask with_fields = write_keys(packets, to);
    for (const FieldReader& reader : own_readers_beside_key_) {
        PacketMask with_field = 0;
        for (std::size_t place = 0; place < packets.size(); ++place) {
            with_field |= PacketMask{reader.is_there(packets[place])} << place;
        }
        with_fields &= with_field;
    }
    return with_fields;
}

/// @return  a bit for each packet: whether it has those own fields that are numbers of the key
PacketMask CompiledTable::write_keys(std::span<const PacketAtHand> packets,
                                     std::byte* to) const noexcept {
    constexpr std::size_t kMaskBits = std::numeric_limits<PacketMask>::digits;
    PacketMask with_fields = packets.empty() ? 0 : ~PacketMask{0} >> (kMaskBits - packets.size());
    // A single word without octets is stored whole with its first number.
    const bool is_word = key_octets_ == kWord && key_octet_parts_.empty() && !key_numbers_.empty();
    if (!is_word) {
        std::fill_n(to, packets.size() * key_octets_, std::byte{0});  // nullptr: of 0 octets
    }
    for (const KeyPart& part : key_numbers_) {
        const bool begins_word = is_word && &part == key_numbers_.data();
        with_fields &=
            begins_word ? begin_words(part, packets, to) : write_numbers(part, packets, to);
    }
    for (const KeyPart& part : key_octet_parts_) {
        for (std::size_t index = 0; index < packets.size(); ++index) {
            part.reader.write(packets[index], to + index * key_octets_ + part.to);
        }
    }
    return with_fields;
}

/// Writes keys of one word, with their first number.
PacketMask CompiledTable::begin_words(const KeyPart& part, std::span<const PacketAtHand> packets,
                                      std::byte* to) const noexcept {
    constexpr std::size_t kBits = 8;
    const std::size_t shift = part.to * kBits;
    return part.reader.numbers(packets, [=](std::size_t index, std::uint64_t number) {
        store_word(number << shift, to + index * kWord);
    });
}

/// Writes whole words, since a load of a word that spans narrower stores waits for them.
///
/// @param to  of the first key, where the number is 0
/// @return    as FieldReader::numbers()
PacketMask CompiledTable::write_numbers(const KeyPart& part, std::span<const PacketAtHand> packets,
                                        std::byte* to) const noexcept {
    constexpr std::size_t kBits = 8;
    const std::size_t octets = key_octets_;
    const auto add = [octets](std::byte* at, std::size_t index, std::uint64_t bits) {
        at += index * octets;
        store_word(load_word(at) | bits, at);
    };
    std::byte* const first = to + part.to / kWord * kWord;
    const std::size_t shift = part.to % kWord * kBits;
    if (part.to % kWord + part.reader.record_octets() > kWord) {  // the rest is in the next word
        part.reader.numbers(packets, [=](std::size_t index, std::uint64_t number) {
            add(first + kWord, index, number >> (kWord * kBits - shift));
        });
    }
    return part.reader.numbers(packets, [=](std::size_t index, std::uint64_t number) {
        add(first, index, number << shift);
    });
}

void CompiledTable::write_key(const PacketView& packet, const PacketFields& fields,
                              std::byte* to) const noexcept {
    const PacketAtHand at_hand = this->at_hand(key_need_, packet, fields);
    write_keys({&at_hand, 1}, to);
}

void CompiledTable::gather(const PacketView& packet, const PacketFields& fields,
                           std::byte* to) const noexcept {
    if (key_octets_ != 0) {
        write_key(packet, fields, to);
    }
    if (values_.empty()) {
        return;
    }
    std::byte* at = to + key_octets_;
    const PacketAtHand at_hand = this->at_hand(values_need_, packet, fields);
    for (const Value& value : values_) {
        if (value.function == ValueFunction::distinct) {
            const auto hash = value.reader.hash(at_hand, seed_);
            store_word(hash ? kHasHash | *hash : 0, at);
        } else {
            store_word(value.reader.number(at_hand), at);
        }
        at += kGatheredValue;
    }
}

template <class NumberOf>
void CompiledTable::begin_values(std::byte* group, NumberOf number_of) const noexcept {
    for (std::size_t place = 0; place < values_.size(); ++place) {
        const Value& value = values_[place];
        if (value.function == ValueFunction::minimum) {
            value.reader.put(value.reader.largest(), group + value.to);
        } else if (value.function == ValueFunction::first) {
            value.reader.put(number_of(place), group + value.to);
        }
    }
}

void CompiledTable::begin(const void* context, std::byte* group, const PacketView& packet,
                          const PacketFields& fields) noexcept {
    const CompiledTable& table = table_of(context);
    const PacketAtHand at_hand = table.at_hand(table.values_need_, packet, fields);
    table.begin_values(group, [&table, &at_hand](std::size_t place) {
        return table.values_[place].reader.number(at_hand);
    });
}

void CompiledTable::begin_gathered(const void* context, std::byte* group, const PacketView& packet,
                                   const PacketFields& /*fields*/) noexcept {
    const CompiledTable& table = table_of(context);
    const std::byte* const values = packet.captured.data() + table.key_octets_;
    table.begin_values(
        group, [values](std::size_t place) { return load_word(values + place * kGatheredValue); });
}

void CompiledTable::add(const void* context, std::byte* group, const PacketView& packet,
                        const PacketFields& fields) noexcept {
    const CompiledTable& table = table_of(context);
    const PacketAtHand at_hand = table.at_hand(table.values_need_, packet, fields);
    for (const Value& value : table.values_) {
        std::byte* const at = group + value.to;
        if (value.function == ValueFunction::distinct) {
            count_distinct(value.reader.hash(at_hand, table.seed_), at);
        } else if (value.function != ValueFunction::first) {
            add_number(value.function, value.reader, at, value.reader.number(at_hand));
        }
    }
}

void CompiledTable::add_gathered(const void* context, std::byte* group, const PacketView& packet,
                                 const PacketFields& /*fields*/) noexcept {
    const CompiledTable& table = table_of(context);
    const std::byte* from = packet.captured.data() + table.key_octets_;
    for (const Value& value : table.values_) {
        std::byte* const at = group + value.to;
        const std::uint64_t word = load_word(from);
        from += kGatheredValue;
        if (value.function != ValueFunction::distinct) {
            add_number(value.function, value.reader, at, word);
        } else if ((word & kHasHash) != 0) {
            counter_at(at).add(static_cast<std::uint32_t>(word));
        }
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
