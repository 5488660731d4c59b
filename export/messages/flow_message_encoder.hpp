// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "export/ipfix/record_elements.hpp"
#include "export/ipfix/record_shape.hpp"
#include "export/messages/protobuf_writer.hpp"
#include "export/messages/record_encoder.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// Encodes uniflows as protobuf messages with the field numbers of goflow2's `FlowMessage`, filled
/// as goflow2 fills them from IPFIX messages with the same elements. What `FlowMessage` has no
/// field for is in the fields of docs/tributary_flow.proto, in the same message: a decoder of
/// `FlowMessage` skips these. flow_message_fields() is the table.
///
/// The elements of a record follow from its shape (RecordShape). For each shape there is a plan, a
/// step for each element, which is made at construction.
/// @source  goflow2 v2.2.6: pb/flow.proto, producer/proto/producer_nf.go
class FlowMessageEncoder final : public RecordEncoder {
public:
    /// @param options   of the collector's encoders (encoder_options())
    /// @param metering  keys and sampling of the records
    /// @param layouts   of the records, by index: metering's, or of biflows those of the uniflows
    ///                  that a BiflowSplitter makes
    /// @errors  ExportError: a layout is of biflows, the probe's address is no IP address, or its
    ///          name is no UTF-8 of at most 255 octets
    FlowMessageEncoder(const StreamIdentity& identity, const ExportOptions& options,
                       const MeteringProcess& metering, std::span<const RecordLayout> layouts);

    [[nodiscard]] std::size_t most_octets() const noexcept override { return most_octets_; }
    [[nodiscard]] std::size_t encode(std::size_t layout, const std::byte* record,
                                     std::uint64_t sequence,
                                     std::span<std::byte> out) noexcept override;
    /// For time_received_ns, which is never before a record's end, so that records have one before
    /// the first call too.
    void set_time(Timestamp wall) noexcept override { time_ = wall; }
    [[nodiscard]] std::optional<std::uint64_t> stream() const noexcept override { return stream_; }
    [[nodiscard]] std::optional<RecordNumber> number_of(
        MessageView encoded) const noexcept override;

    /// Names of elements that records have and messages do not, sorted.
    [[nodiscard]] const std::vector<std::string>& not_carried() const noexcept {
        return not_carried_;
    }

private:
    /// What a step does: FlowMessageForm, and how the value lies in the record.
    enum class Action : std::uint8_t {
        unsigned1,  ///< unsigned1 .. unsigned8: integers of so many octets
        unsigned2,
        unsigned4,
        unsigned8,
        mac,
        address4,
        address16,
        ether_type,
        vlan,
        icmp,
        fragment_flags,
        vxlan_segment,
        mpls,
    };
    struct Step {
        Action action{};
        bool has_presence{};
        ProtobufTag tag{};
        std::uint16_t from{};      ///< offset in the record; of `mpls` that of the top section
        std::uint16_t sections{};  ///< with `mpls`: the exported ones, the top's bit lowest
    };
    using Plan = std::vector<Step>;
    struct Layout {
        RecordShapes shapes;
        std::vector<Plan> plans;  ///< by shape
    };
    struct Sampling {
        std::uint32_t interface {};
        std::uint32_t one_in{};
    };

    void take_identity(const StreamIdentity& identity);
    void take_sampling(const MeteringProcess& metering);
    void add_layout(const RecordLayout& layout, const ElementChoice& choice);
    [[nodiscard]] Plan plan_of(std::span<const TemplateField> fields);
    [[nodiscard]] std::uint32_t sampling_of(const std::byte* record) const noexcept;

    [[nodiscard]] static Action action_of(const TemplateField& field) noexcept;
    static void add_section(Plan& plan, const TemplateField& field);
    [[nodiscard]] static std::size_t most_octets_of(const Step& step) noexcept;
    static void take(const Step& step, const std::byte* from, ProtobufWriter& to) noexcept;
    static void put_labels(std::uint16_t sections, const std::byte* from,
                           ProtobufWriter& to) noexcept;

    std::uint64_t stream_;
    std::vector<Layout> layouts_;
    std::vector<std::byte> constants_;  ///< whole fields, at the front of each message
    /// Where inputs differ in sampling: each of them, sorted.
    std::vector<Sampling> sampling_;
    std::uint32_t one_in_ = 1;  ///< of all inputs, where they do not
    std::vector<std::string> not_carried_;
    Timestamp time_{};
    std::size_t most_octets_{};
};

}  // namespace tributary
