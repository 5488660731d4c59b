// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "export/listing/flow_json.hpp"
#include "export/listing/flow_listing.hpp"
#include "export/listing/ipfix_reader.hpp"
#include "export/listing/printable_text.hpp"

// Input: an octet that chooses the listing, and the IPFIX.

using nlohmann::json;

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

/// A line of JSON is an object whose members have different names, and shows on a terminal as it
/// is.
void check_json(const std::string& line) {
    std::vector<std::set<std::string>> objects;
    const json value = json::parse(line, [&objects](int, json::parse_event_t event, json& part) {
        if (event == json::parse_event_t::object_start) {
            objects.emplace_back();
        } else if (event == json::parse_event_t::key) {
            require(objects.back().insert(part.get<std::string>()).second);
        }
        return true;
    });
    require(value.is_object() && objects.size() == 1);
    require(tributary::printable(line) == line);
}

/// Records of an input whose JSON is looked at: that takes most of the time, and a record of one
/// octet is like the next.
constexpr std::size_t kJsonChecks = 8;

using Registry = std::shared_ptr<const tributary::ElementRegistry>;

/// @return  records read
std::size_t check_records(const std::string& octets, const Registry& registry) {
    std::istringstream input(octets);
    tributary::IpfixReader reader(input, "x\n", registry);
    std::size_t records = 0;
    std::size_t covered = 0;
    try {
        while (const tributary::IpfixRecord* record = reader.next()) {
            ++records;
            require(record->values.size() == record->layout->fields.size());
            for (const auto& value : record->values) {
                covered += value.size();
            }
            require(tributary::printable(record->table) == record->table);
            require(record->table.empty() || !reader.tables().empty());
            if (records <= kJsonChecks) {
                check_json(tributary::record_json(*record));
            }
        }
    } catch (const tributary::IpfixDataError& error) {
        const std::string text = error.what();
        require(text.starts_with("x\\x0a: message ") && tributary::printable(text) == text);
    }
    require(covered <= octets.size());  // no octet is a value twice
    return records;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Registry registry = std::make_shared<tributary::ElementRegistry>();
    if (size == 0) {
        return 0;
    }
    const std::string octets(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::size_t records = check_records(octets, registry);
    tributary::FlowListingOptions options;
    options.registry = registry;
    options.format = static_cast<tributary::ListingFormat>((data[0] >> 2U & 3U) % 3);
    options.order = static_cast<tributary::FlowOrder>(data[0] & 3U);
    if ((data[0] & 8U) != 0) {
        options.top = data[0] >> 4U;
    }
    if ((data[0] & 0x80U) != 0) {
        options.by = tributary::parse_group_fields("src-net/24,dst-port,reason,tunnel");
    }
    if ((data[0] & 0x40U) != 0) {
        options.table = "main";
    }
    if ((data[0] & 0x20U) != 0) {
        options.filter = tributary::FlowFilter(
            "not net 10.0.0.0/8 or sourceIPv4Prefix == 10.0.0.0/8 or protocolIdentifier > 5");
    }
    std::istringstream input(octets);
    std::ostringstream out;
    const auto result = tributary::list_flow_stream(input, "x", options, out, [](const auto& text) {
        require(tributary::printable(text) == text);
    });
    require(result.message.empty() == (result.status == tributary::ListingStatus::ok));
    require(options.table || result.status != tributary::ListingStatus::usage ||
            result.message.find(" table") != std::string::npos);
    const std::string listing = std::move(out).str();
    require(tributary::printable_lines(listing) == listing);
    require(std::size_t(std::ranges::count(listing, '\n')) <= 2 * records + 3);
    return 0;
}
