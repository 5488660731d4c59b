// SPDX-License-Identifier: Apache-2.0
#include "export/messages/raw_flow.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "export/export_error.hpp"
#include "export/messages/protobuf_writer.hpp"
#include "tests/support/encoder_pair.hpp"
#include "tests/support/protobuf_fields.hpp"

using namespace tributary;
using namespace tributary::test;

namespace {

Octets frame_of(const std::string& address, const Octets& payload, Timestamp received) {
    const RawFlow raw(address);
    Octets out(payload.size() + RawFlow::kMostAround);
    out.resize(raw.write(payload, received, out));
    return out;
}

}  // namespace

// common/pb/rawflow.proto: 1 time_received, 2 payload, 3 source_address, 5 decoder.
TEST_CASE("RawFlow: the octets of a frame", "[export][unit]") {
    const Timestamp received{std::chrono::milliseconds{1'600'000'001'999}};
    CHECK(frame_of("192.0.2.1", octets({0, 10, 1}), received) ==
          octets({0x08, 0x81, 0xA0, 0xF8, 0xFA, 0x05,                       // seconds
                  0x12, 3,    0,    10,   1,                                // payload
                  0x1A, 16,   0,    0,    0,    0,    0, 0, 0,    0,        // address
                  0,    0,    0xFF, 0xFF, 192,  0,    2, 1, 0x28, 0x01}));  // decoder
}

TEST_CASE("RawFlow: an IPv6 address, and the longest message", "[export][unit]") {
    const Octets payload(65'535, std::byte{7});
    const Octets frame = frame_of("2001:db8::1", payload, kLastTimestamp);
    const ProtobufFields got = protobuf_fields(frame);
    CHECK(number_of(got, 1) == 0xFFFF'FFFE);
    CHECK(test::octets_of(got, 2) == payload);
    CHECK(test::octets_of(got, 3) ==
          octets({0x20, 1, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
    CHECK(number_of(got, 5) == 1);
    CHECK(got.size() == 4);
    CHECK(frame.size() + ProtobufWriter::kSlack <= payload.size() + RawFlow::kMostAround);
}

TEST_CASE("RawFlow: a probe without an address is refused", "[export][unit]") {
    CHECK_THROWS_AS(RawFlow(""), ExportError);
    CHECK_THROWS_AS(RawFlow("probe.example.org"), ExportError);
}
