// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "export/ipfix_template.hpp"

namespace tributary {

/// The input is no IPFIX, is cut, or contradicts itself. The text names file, message and offset.
struct IpfixDataError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The input cannot be read.
struct IpfixInputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Reads the records of an IPFIX file (RFC 5655: messages one after the other) of any exporter.
///
/// Messages, sets, templates and records are taken apart here, with every length checked, because
/// libfixbuf's decoder trusts its input too much and does not say where a fault lies. libfixbuf is
/// the element registry.
/// @thread  one
class IpfixReader {
public:
    /// @param input  binary, at the first message; outlives the reader
    /// @param name   of the input, for messages to the user
    IpfixReader(std::istream& input, std::string name);
    IpfixReader(const IpfixReader&) = delete;
    IpfixReader& operator=(const IpfixReader&) = delete;
    ~IpfixReader();

    /// Finds the next record; options records are among them.
    ///
    /// @return  good until the next call; nullptr at the end of the input
    /// @errors  IpfixDataError, IpfixInputError; all records before the fault have been returned by
    /// then
    /// @cost    memory for one message and the templates
    [[nodiscard]] const IpfixRecord* next();

    /// Sets skipped so far because their template has not been seen.
    [[nodiscard]] std::uint64_t sets_without_template() const noexcept {
        return sets_without_template_;
    }

private:
    class Elements;

    [[nodiscard]] bool read_message();
    void open_set();
    void read_templates(std::size_t end, bool options);
    void read_template(std::size_t end, bool options);
    [[nodiscard]] IpfixField read_field(std::size_t end);
    void withdraw(std::uint16_t id, bool options);
    void read_record();
    [[nodiscard]] std::size_t take_length(const IpfixField& field);
    void need(std::size_t octets, std::size_t end, const char* what) const;
    [[nodiscard]] std::uint16_t take_u16() noexcept;
    [[nodiscard]] std::uint32_t take_u32() noexcept;
    [[noreturn]] void fail(const std::string& what) const;

    std::istream& input_;
    std::string name_;
    std::unique_ptr<Elements> elements_;
    std::map<std::pair<std::uint32_t, std::uint16_t>, IpfixTemplate>
        templates_;  ///< by domain and id
    std::vector<std::byte> message_;
    std::uint64_t messages_{};        ///< begun so far
    std::uint64_t message_offset_{};  ///< of the current message in the input
    std::size_t at_{};                ///< read position in message_
    std::size_t set_end_{};           ///< of the open data set
    std::vector<std::span<const std::byte>> values_;
    IpfixRecord record_;  ///< record_.layout: the template of the open data set, if there is one
    std::uint64_t sets_without_template_{};
};

}  // namespace tributary
