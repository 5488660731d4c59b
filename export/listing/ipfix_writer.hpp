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
/// needs them, with the name of their table behind them if it has one; sequence numbers count the
/// records that are written.
///
/// An options record about a template gets this template's new id. What names tables is written
/// anew, and what is about a template that is not known is left out.
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
    /// A template as it is written: what is in front of its fields is made for each record.
    struct Template {
        std::string key;     ///< equal for templates that are one
        std::string fields;  ///< RFC 7011 §3.4.1, §3.4.2.2: what stands behind the id
        bool options{};
        const std::string* table{};
    };
    [[nodiscard]] static Template template_of(const IpfixTemplate& layout);
    [[nodiscard]] static Template name_template();

    [[nodiscard]] std::uint16_t id_for(const IpfixRecord& record, const Template& wanted);
    void add_template(const IpfixRecord& record, std::uint16_t id, const Template& made);
    void add_name(const IpfixRecord& record, std::uint16_t id, const std::string& table);
    void add_data(const IpfixRecord& record, std::uint16_t id, const std::string& octets);
    void add_set(std::uint16_t id, const std::string& octets);

    std::ostream& out_;
    std::string message_;       ///< open, header included; empty: there is none
    std::size_t set_at_{};      ///< of the open set in it; 0: none is open
    std::uint16_t open_set_{};  ///< its id
    std::uint32_t domain_{};    ///< of the open message, as the next two
    std::uint32_t export_time_{};
    std::uint32_t records_{};
    std::map<std::uint32_t, std::uint32_t> sequences_;  ///< data records, by domain
    /// By domain and key: the id of each template.
    std::map<std::pair<std::uint32_t, std::string>, std::uint16_t> ids_;
    std::map<std::uint32_t, std::uint32_t> next_ids_;  ///< by domain
};

}  // namespace tributary
