// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "export/message.hpp"
#include "export/metering_process.hpp"
#include "export/number_ranges.hpp"
#include "export/taken_tables.hpp"
#include "parsers/units.hpp"

namespace tributary {

/// What every record of a stream says of its origin.
struct StreamIdentity {
    std::string probe_name;     ///< export.probe.name
    std::string probe_address;  ///< export.probe.address: IPv4 or IPv6; empty: it is not known
    std::uint32_t observation_domain{};
    /// One for each start of the process and collector, at random: records with the same stream
    /// and sequence number are the same record.
    std::uint64_t stream{};
};

/// Encodes flow records one by one, each as a message or line of its own that needs no other to be
/// read. A framing (RecordFormat) makes messages of them.
/// @thread  the export thread
class RecordEncoder {
public:
    RecordEncoder() = default;
    RecordEncoder(const RecordEncoder&) = delete;
    RecordEncoder& operator=(const RecordEncoder&) = delete;
    virtual ~RecordEncoder() = default;

    /// Octets that no encoded record exceeds.
    [[nodiscard]] virtual std::size_t most_octets() const noexcept = 0;
    /// @param layout    of the record: its index in MeteringProcess
    /// @param record    as the collector gets it: of a biflow that is split, one of its uniflows.
    ///                  Aligned to 8
    /// @param sequence  number of the record in its stream
    /// @param out       at least most_octets()
    /// @return  octets written, without line end or length before them
    /// @cost    no memory
    [[nodiscard]] virtual std::size_t encode(std::size_t layout, const std::byte* record,
                                             std::uint64_t sequence,
                                             std::span<std::byte> out) noexcept = 0;

    /// What prepare_tables() has made, and take_tables() takes.
    struct Tables {
        explicit Tables(std::size_t most) noexcept : most_octets(most) {}
        Tables(const Tables&) = delete;
        Tables& operator=(const Tables&) = delete;
        virtual ~Tables() = default;

        std::size_t most_octets;  ///< from then on
    };
    /// As those of MessageFormat. An encoder that has none of this encodes the records of the main
    /// table alone.
    ///
    /// @param metering  as the collector gets it
    /// @param staying   tables that stay as they are
    [[nodiscard]] virtual std::unique_ptr<Tables> prepare_tables(
        const MeteringProcess& /*metering*/, const TakenTables& /*staying*/) {
        return std::make_unique<Tables>(most_octets());
    }
    virtual void take_tables(std::unique_ptr<Tables> /*prepared*/) noexcept {}

    /// The wall clock as the last message left, for encoders whose records have such a time.
    virtual void set_time(Timestamp /*wall*/) noexcept {}

    /// StreamIdentity::stream, where records have it; nothing: they have no numbers.
    [[nodiscard]] virtual std::optional<std::uint64_t> stream() const noexcept {
        return std::nullopt;
    }
    /// Reads the stream and the number of a record that encode() wrote, here or in a former
    /// process.
    ///
    /// @return  nothing: it has none
    [[nodiscard]] virtual std::optional<RecordNumber> number_of(
        MessageView /*encoded*/) const noexcept {
        return std::nullopt;
    }
};

}  // namespace tributary
