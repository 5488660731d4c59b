// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tributary::test {

/// Big-endian octets of an IPFIX file, composed by hand: tests of a reader must not use our own
/// encoder.
class IpfixBytes {
public:
    IpfixBytes& u8(std::uint64_t value) { return integer(value, 1); }
    IpfixBytes& u16(std::uint64_t value) { return integer(value, 2); }
    IpfixBytes& u32(std::uint64_t value) { return integer(value, 4); }
    IpfixBytes& u64(std::uint64_t value) { return integer(value, 8); }
    IpfixBytes& text(const std::string& octets) {
        octets_ += octets;
        return *this;
    }
    /// A set around `body`.
    IpfixBytes& set(std::uint16_t id, const IpfixBytes& body) {
        return u16(id).u16(4 + body.octets_.size()).text(body.octets_);
    }
    /// A message around `sets`; export time 1700000000, sequence 7.
    IpfixBytes& message(const IpfixBytes& sets, std::uint32_t domain = 1) {
        u16(10).u16(16 + sets.octets_.size()).u32(1'700'000'000).u32(7).u32(domain);
        return text(sets.octets_);
    }
    [[nodiscard]] const std::string& octets() const { return octets_; }

private:
    IpfixBytes& integer(std::uint64_t value, unsigned octets) {
        while (octets-- > 0) {
            octets_ += static_cast<char>(value >> (8 * octets));
        }
        return *this;
    }

    std::string octets_;
};

struct Specifier {
    std::uint16_t element;
    std::uint16_t length;
    std::uint32_t enterprise = 0;
};

/// A template record; with `scope` fields of scope, an options template record.
inline IpfixBytes template_record(std::uint16_t id, const std::vector<Specifier>& fields,
                                  std::uint16_t scope = 0) {
    IpfixBytes bytes;
    bytes.u16(id).u16(fields.size());
    if (scope != 0) {
        bytes.u16(scope);
    }
    for (const Specifier& field : fields) {
        bytes.u16(field.enterprise == 0 ? field.element : field.element | 0x8000U)
            .u16(field.length);
        if (field.enterprise != 0) {
            bytes.u32(field.enterprise);
        }
    }
    return bytes;
}

/// Whether export time and sequence number in a message's header are 0.
inline bool has_no_stamp(std::span<const std::byte> message) {
    return std::ranges::all_of(message.subspan(4, 8),
                               [](std::byte octet) { return octet == std::byte{}; });
}

}  // namespace tributary::test
