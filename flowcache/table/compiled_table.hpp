// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flowcache/fields/field_group.hpp"
#include "flowcache/record/key_descriptor.hpp"
#include "flowcache/record/key_extractor.hpp"
#include "flowcache/record/options.hpp"
#include "flowcache/table/field_reader.hpp"
#include "flowcache/table/field_reference.hpp"
#include "flowcache/table/own_field.hpp"
#include "flowcache/table/table_declaration.hpp"
#include "parsers/packet.hpp"
#include "parsers/packet_fields.hpp"
#include "parsers/parse_options.hpp"

namespace tributary {

/// What a table's key and values are read from.
enum class TablePackets : std::uint8_t {
    whole,     ///< packets, as an input path has them
    gathered,  ///< what gather() has taken of them: `captured` of their views are its octets
};

/// What a table is compiled for.
struct TableUse {
    ParseOptions parse{};  ///< of the packets that it accounts
    /// Of the hashes by which distinct values are counted: random, so that a sender cannot choose
    /// values that are not counted.
    std::uint64_t seed{};
    TablePackets packets = TablePackets::whole;
};

// Numbers of elements under export.enterprise-number. Those of the rows of groups and catalogue are
// below 1024. A value that IANA has no element for is numbered by its function and its field's id
// in the catalogue, or by its function and the slot of a field of the user's own. So a number means
// the same in each configuration, and stays over restarts and reloads. The bit 0x4000 is free for
// the other direction of a biflow (RFC 5103 §6.2).
//
//     1024 + 64 * function + id     1088 .. 1535    function of a field of the catalogue
//     2048 + 8 * slot + function    2048 .. 16383   a field of the user's own: function 0 is
//                                                   itself, in a key
inline constexpr std::uint16_t kFirstDerivedElement = 1024;
inline constexpr std::uint16_t kFirstOwnElement = 2048;
static_assert(kFirstOwnElement + OwnField::kSlots * kValueFunctions == 0x4000);

/// The number of the element that a function of a field has.
[[nodiscard]] std::uint16_t derived_number(ValueFunction function,
                                           const FieldReference& field) noexcept;
/// Its name: of min and sourceTransportPort minSourceTransportPort.
[[nodiscard]] std::string derived_name(ValueFunction function, std::string_view field);

/// A declared table, compiled: what its key takes of a packet, and what a packet adds to a record.
/// Nothing is looked up by name, and nothing allocated, once it is made.
///
///     octets of its field group
///     | key: outer IP version? fields ... padding | values, wide ones first | prefix lengths |
///     padding |
///
/// A table whose packets other threads account gets what it reads of them from gather(), while the
/// octets of the packet are still there. Key and records are the same either way.
///
///     octets that are gathered
///     | key, as in the group | of each value 8: a number, or a hash and whether it is there |
///
/// @thread  any: it does not change
class CompiledTable {
public:
    /// @param own  all fields of the user's own, without a fault (fault_of()); need not outlive it
    /// @errors     TableError: names the entry, and what is wrong with it
    CompiledTable(const TableDeclaration& declaration, std::span<const OwnField> own,
                  const TableUse& use);
    CompiledTable(const CompiledTable&) = delete;
    CompiledTable& operator=(const CompiledTable&) = delete;
    ~CompiledTable();

    [[nodiscard]] const TableDeclaration& declaration() const noexcept { return declaration_; }
    /// The key; where it has an extension, `extension_group` is for the caller to set, once it has
    /// added the group.
    [[nodiscard]] const KeyDescriptor& key() const noexcept { return key_; }
    /// What the key has beyond FlowKey; nullptr: nothing.
    [[nodiscard]] const KeyExtractor* extractor() const noexcept;
    /// The row of the table's field group; nullptr: records have none. It lives as long as this.
    [[nodiscard]] const FieldGroup* group() const noexcept {
        return group_.octets != 0 ? &group_ : nullptr;
    }
    /// A value of the declaration, without blanks, and the element that records have for it: what
    /// `distinct(sourceAddress)` is exported as.
    struct ValueElement {
        std::string value;
        const char* element;
    };
    [[nodiscard]] const std::vector<ValueElement>& value_elements() const noexcept {
        return value_elements_;
    }
    /// Octets of a record, in FlowRecord's layout.
    [[nodiscard]] std::size_t record_octets() const noexcept;

    /// Whether it has fields of the user's own.
    [[nodiscard]] bool has_own_fields() const noexcept { return !own_readers_.empty(); }
    /// Those that it has, by their index in the list of all. A packet that the `when` of one of
    /// them refuses does not match.
    [[nodiscard]] const std::vector<std::size_t>& own_fields() const noexcept {
        return own_fields_;
    }
    /// Whether a packet has all of these fields. A packet that ends before one, or whose captured
    /// octets do, does not match.
    [[nodiscard]] bool has_fields(const PacketView& packet,
                                  const PacketFields& fields) const noexcept;
    /// Finds the headers that read_keys() needs.
    ///
    /// @param packets  whole ones, also if the table is compiled for gathered ones
    void locate(std::span<PacketAtHand> packets) const noexcept;
    /// has_fields() of several packets, and the octets that extractor() takes, field by field.
    ///
    /// @param packets  at most kBurstPackets, behind locate()
    /// @param to       the octets of each packet behind those of the one before, aligned to 8;
    ///                 nothing is written without an extractor
    /// @return         a bit for each packet: has_fields(). Where it is 0, the octets mean nothing
    [[nodiscard]] PacketMask read_keys(std::span<const PacketAtHand> packets,
                                       std::byte* to) const noexcept;
    /// Octets that gather() writes: a multiple of 8, perhaps 0.
    [[nodiscard]] std::size_t gathered_octets() const noexcept {
        return key_octets_ + kGatheredValue * values_.size();
    }
    /// Takes what key and values read of a packet, beyond its FlowKey, counts and times.
    ///
    /// @param packet  a whole one, also if the table is compiled for gathered ones
    /// @param to      gathered_octets(), aligned to 8
    void gather(const PacketView& packet, const PacketFields& fields, std::byte* to) const noexcept;
    /// Names of the fields that unified headers do not carry.
    [[nodiscard]] const std::vector<std::string>& fields_beyond_unified_headers() const noexcept {
        return beyond_unified_headers_;
    }

    // Of the group, with this as context.
    static void begin(const void* context, std::byte* group, const PacketView& packet,
                      const PacketFields& fields) noexcept;
    static void add(const void* context, std::byte* group, const PacketView& packet,
                    const PacketFields& fields) noexcept;
    // The same with gathered packets.
    static void begin_gathered(const void* context, std::byte* group, const PacketView& packet,
                               const PacketFields& fields) noexcept;
    static void add_gathered(const void* context, std::byte* group, const PacketView& packet,
                             const PacketFields& fields) noexcept;
    static void finish(const void* context, std::byte* group) noexcept;

private:
    friend class TableCompiler;
    class Extractor;
    static constexpr std::size_t kGatheredValue = sizeof(std::uint64_t);

    /// A field of the key's extension.
    struct KeyPart {
        FieldReader reader;
        std::uint16_t to;  ///< in the group
    };
    /// Octets of the two sides, which change places in the other direction.
    struct SidePair {
        std::uint16_t source;
        std::uint16_t destination;
        std::uint16_t octets;
    };
    struct Value {
        ValueFunction function;
        FieldReader reader;
        std::uint16_t to;  ///< in the group
    };
    /// An octet that all records have.
    struct Constant {
        std::uint16_t to;
        std::uint8_t value;
    };

    [[nodiscard]] PacketAtHand at_hand(HeaderNeed need, const PacketView& packet,
                                       const PacketFields& fields) const noexcept {
        if (need == HeaderNeed::none) {
            return {packet, fields};
        }
        return {packet, fields, locate_headers(packet, fields, parse_, last_header(need))};
    }
    [[nodiscard]] static LastHeader last_header(HeaderNeed need) noexcept {
        return need == HeaderNeed::payload ? LastHeader::payload : LastHeader::transport;
    }
    PacketMask write_keys(std::span<const PacketAtHand> packets, std::byte* to) const noexcept;
    PacketMask begin_words(const KeyPart& part, std::span<const PacketAtHand> packets,
                           std::byte* to) const noexcept;
    PacketMask write_numbers(const KeyPart& part, std::span<const PacketAtHand> packets,
                             std::byte* to) const noexcept;
    void write_key(const PacketView& packet, const PacketFields& fields,
                   std::byte* to) const noexcept;
    /// Begins the values of a record.
    ///
    /// @param number_of  of a place in values_, what the record's first packet has
    template <class NumberOf>
    void begin_values(std::byte* group, NumberOf number_of) const noexcept;

    TableDeclaration declaration_;
    ParseOptions parse_;
    std::uint64_t seed_;
    TablePackets packets_;
    KeyDescriptor key_{};
    std::unique_ptr<Extractor> extractor_;
    std::size_t key_octets_{};
    std::size_t used_key_octets_{};     ///< without padding
    std::vector<KeyPart> key_numbers_;  ///< by their places
    std::vector<KeyPart> key_octet_parts_;
    std::vector<SidePair> sides_;
    std::vector<Value> values_;
    std::vector<Constant> constants_;
    std::vector<FieldReader> own_readers_;
    std::vector<FieldReader> own_readers_beside_key_;  ///< without those in key_numbers_
    std::vector<std::size_t> own_fields_;
    std::vector<std::string> beyond_unified_headers_;
    HeaderNeed key_need_{};
    HeaderNeed values_need_{};
    HeaderNeed own_need_{};
    std::deque<AddressMasks> masks_;  ///< readers point to them
    std::deque<std::string> texts_;   ///< names and meanings of the elements
    std::vector<FieldElement> elements_;
    std::vector<ValueElement> value_elements_;
    FieldGroup group_{};
};

}  // namespace tributary
