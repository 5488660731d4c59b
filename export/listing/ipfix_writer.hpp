// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "export/ipfix/ipfix_template.hpp"

namespace tributary {

/// Writes records of any exporter as an IPFIX file (RFC 5655): each with its elements, observation
/// domain and export time. Templates have ids of their own, and stand before the first record that
/// needs them; sequence numbers count the records that are written.
/// @thread  one
class IpfixWriter {
public:
    /// @param out  outlives the writer; whether it takes what is written is the caller's to test
    explicit IpfixWriter(std::ostream& out);

    /// @errors  IpfixDataError: an observation domain has more templates than there are ids
    void add(const IpfixRecord& record);
    /// Writes what is left.
    void finish();

private:
    void begin_message(const IpfixRecord& record);
    void end_set();
    void end_message();
    [[nodiscard]] std::uint16_t id_for(const IpfixRecord& record);
    void add_template(const IpfixRecord& record, std::uint16_t id, const std::string& fields);
    void add_set(std::uint16_t id, const std::string& octets);

    std::ostream& out_;
    std::string message_;       ///< open, header included; empty: there is none
    std::size_t set_at_{};      ///< of the open set in it; 0: none is open
    std::uint16_t open_set_{};  ///< its id
    std::uint32_t domain_{};    ///< of the open message, as the next two
    std::uint32_t export_time_{};
    std::uint32_t records_{};
    std::map<std::uint32_t, std::uint32_t> sequences_;  ///< data records, by domain
    /// By domain and the octets of its fields: the id of each template.
    std::map<std::pair<std::uint32_t, std::string>, std::uint16_t> ids_;
    std::map<std::uint32_t, std::uint32_t> next_ids_;  ///< by domain
};

}  // namespace tributary
