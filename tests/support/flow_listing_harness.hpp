// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "export/listing/flow_listing.hpp"
#include "tests/support/ipfix_bytes.hpp"

namespace tributary::test {

/// A file for one test.
class TemporaryFile {
public:
    explicit TemporaryFile(const std::string& octets) {
        const int descriptor = mkstemp(path_.data());
        REQUIRE(descriptor >= 0);
        close(descriptor);
        std::ofstream(path_, std::ios::binary) << octets;
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { std::remove(path_.c_str()); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_ = "/tmp/tributary-listing-XXXXXX";
};

struct Listed {
    ListingResult result;
    std::string text;
    std::vector<std::string> lines;  ///< the same, split
    std::vector<std::string> warnings;
};

inline Listed list(const FlowListingOptions& options) {
    std::stringstream out;
    Listed listed;
    listed.result = list_flows(
        options, out, [&listed](const std::string& text) { listed.warnings.push_back(text); });
    listed.text = out.str();
    for (std::string line; std::getline(out, line);) {
        listed.lines.push_back(line);
    }
    return listed;
}

inline Listed list_octets(const std::string& octets, FlowListingOptions options = {}) {
    const TemporaryFile file(octets);
    options.files = {file.path()};
    return list(options);
}

/// Protocol, source and destination address and port, packets, octets, start and end in
/// milliseconds, flags, ToS, end reason, VLAN.
inline const std::vector<Specifier> flow_fields{{4, 1}, {8, 4},   {7, 2},   {12, 4},  {11, 2},
                                                {2, 4}, {1, 4},   {152, 8}, {153, 8}, {6, 2},
                                                {5, 1}, {136, 1}, {58, 2}};

struct Flow {
    std::uint8_t protocol = 17;
    std::uint32_t source = 0x0A000001;
    std::uint16_t source_port = 5000;
    std::uint16_t destination_port = 53;
    std::uint32_t packets = 1;
    std::uint32_t octets = 100;
    std::uint16_t flags = 0;
    std::uint16_t vlan = 0;
};

inline IpfixBytes flow_data(const std::vector<Flow>& flows) {
    IpfixBytes data;
    for (const Flow& flow : flows) {
        data.u8(flow.protocol).u32(flow.source).u16(flow.source_port).u32(0x0A000002);
        data.u16(flow.destination_port).u32(flow.packets).u32(flow.octets);
        data.u64(1'700'000'000'123)
            .u64(1'700'000'001'500)
            .u16(flow.flags)
            .u8(8)
            .u8(1)
            .u16(flow.vlan);
    }
    return data;
}

inline std::string flow_file(const std::vector<Flow>& flows) {
    return IpfixBytes()
        .message(IpfixBytes().set(2, template_record(256, flow_fields)).set(256, flow_data(flows)))
        .octets();
}

}  // namespace tributary::test
