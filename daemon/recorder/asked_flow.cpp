// SPDX-License-Identifier: Apache-2.0
#include "daemon/recorder/asked_flow.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "daemon/recorder/packet_hashes.hpp"
#include "parsers/packet_fields.hpp"

namespace tributary {
namespace {

enum class Side : std::uint8_t { either, source, destination };

/// The addresses, or the ports, that a filter names, each with the side that it is to be on.
template <class Value>
struct TwoEnds {
    std::vector<std::pair<Value, Side>> values;

    /// Whether the filter fixes the value of both ends of a flow. `port 5 and port 5` does not: a
    /// packet matches that has port 5 at one end alone.
    [[nodiscard]] bool are_both() const {
        return values.size() == 2 &&
               (values[0].first != values[1].first ||
                (values[0].second != values[1].second && values[0].second != Side::either &&
                 values[1].second != Side::either));
    }
};

struct Address {
    std::uint8_t ip_version;
    IpAddress octets;
    friend bool operator==(const Address&, const Address&) = default;
};

std::optional<Address> address_of(const std::string& text) {
    Address address{.ip_version = 4, .octets = {}};
    if (::inet_pton(AF_INET, text.c_str(), address.octets.data()) == 1) {
        return address;
    }
    address.ip_version = 6;
    return ::inet_pton(AF_INET6, text.c_str(), address.octets.data()) == 1 ? std::optional(address)
                                                                           : std::nullopt;
}

std::optional<std::uint16_t> port_of(std::string_view text) {
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, port);
    const bool is_octal = text.size() > 1 && text.front() == '0';  // as libpcap reads it
    return error == std::errc() && at == end && !is_octal ? std::optional(port) : std::nullopt;
}

/// Reads a filter word by word.
class AskedFlow {
public:
    /// @return  false: it is a filter of another kind
    bool read(const std::string& filter) {
        std::istringstream text(filter);
        std::vector<std::string> term;
        std::string word;
        while (text >> word) {
            if (word != "and" && word != "&&") {
                term.push_back(word);
            } else if (!take(std::exchange(term, {}))) {
                return false;
            }
        }
        return take(term) && addresses_.are_both() && ports_.are_both() &&
               addresses_.values[0].first.ip_version == addresses_.values[1].first.ip_version;
    }
    [[nodiscard]] std::vector<std::uint32_t> hashes(const FlowHasher& hasher) const {
        std::vector<std::uint32_t> hashes;
        for (const std::uint8_t protocol : protocols_) {
            for (const std::size_t first : {0U, 1U}) {
                PacketFields fields;
                fields.ip_version = addresses_.values[0].first.ip_version;
                fields.protocol = protocol;
                fields.source = addresses_.values[0].first.octets;
                fields.destination = addresses_.values[1].first.octets;
                fields.source_port = L4Port{ports_.values[first].first};
                fields.destination_port = L4Port{ports_.values[1 - first].first};
                hashes.push_back(symmetric_hash(hasher, fields));
            }
        }
        return hashes;
    }

private:
    /// @param words  of a term, without `and`
    bool take(std::vector<std::string> words) {
        Side side = Side::either;
        if (!words.empty() && (words[0] == "src" || words[0] == "dst")) {
            side = words[0] == "src" ? Side::source : Side::destination;
            words.erase(words.begin());
        } else if (!words.empty() && take_protocol(words[0])) {
            words.erase(words.begin());
            if (words.empty()) {
                return true;
            }
        }
        if (words.size() != 2) {
            return false;
        }
        if (words[0] == "host") {
            const std::optional<Address> address = address_of(words[1]);
            addresses_.values.emplace_back(address.value_or(Address{}), side);
            return address.has_value();
        }
        const std::optional<std::uint16_t> port = port_of(words[1]);
        ports_.values.emplace_back(port.value_or(0), side);
        return words[0] == "port" && port.has_value();
    }
    bool take_protocol(const std::string& word) {
        constexpr std::array<std::pair<std::string_view, std::uint8_t>, 3> kNames{
            {{"tcp", ip_protocol::kTcp}, {"udp", ip_protocol::kUdp}, {"sctp", ip_protocol::kSctp}}};
        const auto* const name = std::ranges::find(
            kNames, std::string_view(word), &std::pair<std::string_view, std::uint8_t>::first);
        if (name == kNames.end()) {
            return false;
        }
        protocols_ = {name->second};  // two of them match nothing
        return true;
    }

    TwoEnds<Address> addresses_;
    TwoEnds<std::uint16_t> ports_;
    // Those that `port` means.
    std::vector<std::uint8_t> protocols_{ip_protocol::kTcp, ip_protocol::kUdp, ip_protocol::kSctp};
};

}  // namespace

std::vector<std::uint32_t> hashes_of_asked_flow(const std::string& filter,
                                                const FlowHasher& hasher) {
    AskedFlow flow;
    return flow.read(filter) ? flow.hashes(hasher) : std::vector<std::uint32_t>{};
}

}  // namespace tributary
