// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "export/ipfix/record_shape.hpp"
#include "export/ipfix/record_template.hpp"
#include "export/messages/json_value.hpp"
#include "export/messages/record_encoder.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"

namespace tributary {

/// A record as one JSON object, in the form of IPFIXcol2's JSON output: a member for each element
/// that the record has in IPFIX, in the same order, and then the stream's identity.
///
/// The record is first written as an IPFIX data record. So field groups, elements and keys appear
/// here as they do in IPFIX, and nowhere else is a list of them.
/// @thread  the export thread
class JsonEncoder final : public RecordEncoder {
public:
    /// @param options   of the collector, by encoder_options()
    /// @param metering  as the collector gets it, by metering_as_sent()
    JsonEncoder(const ExportOptions& options, const MeteringProcess& metering,
                const StreamIdentity& identity);

    [[nodiscard]] std::size_t most_octets() const noexcept override { return most_octets_; }
    [[nodiscard]] std::size_t encode(std::size_t layout, const std::byte* record,
                                     std::uint64_t sequence,
                                     std::span<std::byte> out) noexcept override;
    [[nodiscard]] std::unique_ptr<Tables> prepare_tables(const MeteringProcess& metering,
                                                         const TakenTables& staying) override;
    void take_tables(std::unique_ptr<Tables> prepared) noexcept override;
    [[nodiscard]] std::optional<std::uint64_t> stream() const noexcept override { return stream_; }
    [[nodiscard]] std::optional<RecordNumber> number_of(
        MessageView encoded) const noexcept override;

private:
    /// A member of the object.
    struct Member {
        std::string_view name;   ///< in Layout::names
        std::uint16_t octets{};  ///< of the value; kVariableLength: it begins with its length
        JsonForm form{};
    };
    struct Shape {
        RecordTemplate made;
        std::vector<Member> members;  ///< of its fields
    };
    struct Layout {
        RecordShapes shapes;
        std::set<std::string> names{};  ///< ",\"iana:octetDeltaCount\":", each once, in blocks
        std::vector<Shape> by_shape{};
        std::size_t most_octets = 0;    ///< of its members
        std::size_t record_octets = 0;  ///< of a data record
    };
    using Layouts = std::vector<std::unique_ptr<Layout>>;
    struct NextTables;

    [[nodiscard]] std::unique_ptr<Layout> make_layout(const MeteringProcess& metering,
                                                      std::size_t table) const;
    [[nodiscard]] std::size_t most_octets_of(const Layouts& layouts) const noexcept;

    ExportOptions options_;
    Layouts layouts_;  ///< by table; nullptr: the place is free
    std::uint64_t stream_;
    std::string identity_;           ///< of the stream, up to the sequence number, in blocks
    std::size_t identity_octets_;    ///< without what fills the last block
    std::vector<std::byte> octets_;  ///< a data record
    std::size_t most_octets_{};
};

}  // namespace tributary
