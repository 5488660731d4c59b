// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "export/ipfix/ipfix_template.hpp"
#include "export/ipfix/record_shape.hpp"
#include "export/ipfix/record_template.hpp"
#include "export/messages/flow_csv.hpp"
#include "export/messages/listed_counts.hpp"
#include "export/messages/record_encoder.hpp"
#include "export/messages/sent_elements.hpp"
#include "export/metering_process.hpp"
#include "export/options.hpp"

namespace tributary {

/// A record as one line of CSV: the line that `tributary flows --csv` prints of it as IPFIX. It has
/// neither the stream's identity nor the sequence number.
///
/// The record is first written as an IPFIX data record, and read by view_flow().
/// @thread  the export thread
class CsvEncoder final : public RecordEncoder {
public:
    /// @param options   of the collector, by encoder_options()
    /// @param metering  as the collector gets it, by metering_as_sent()
    CsvEncoder(const ExportOptions& options, const MeteringProcess& metering);

    [[nodiscard]] std::size_t most_octets() const noexcept override { return kMostCsvOctets; }
    [[nodiscard]] std::size_t encode(std::size_t layout, const std::byte* record,
                                     std::uint64_t sequence,
                                     std::span<std::byte> out) noexcept override;

private:
    struct Shape {
        RecordTemplate made;
        IpfixTemplate read;  ///< the same, for view_flow()
    };
    struct Layout {
        RecordShapes shapes;
        std::vector<Shape> by_shape;
    };

    void add_layout(const ExportOptions& options, const MeteringProcess& metering,
                    std::size_t index, const RecordLayout& layout);
    [[nodiscard]] const IpfixElement* element_of(const SentElement& sent);

    ListedCounts counts_;
    std::list<IpfixElement> elements_;
    std::vector<Layout> layouts_;
    std::vector<std::byte> octets_;                   ///< a data record
    std::vector<std::span<const std::byte>> values_;  ///< of its fields
};

}  // namespace tributary
