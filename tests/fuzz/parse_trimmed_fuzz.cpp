// SPDX-License-Identifier: Apache-2.0
#include "parsers/parse_packet.hpp"
#include "tests/fuzz/fuzzed_frame.hpp"

// The trimmed parser at any cut of a frame, by its own limit and by what its source delivers.
namespace tributary::fuzz {

namespace {

struct Parsed {
    ParseStatus status;
    PacketFields fields;
};

Parsed parse(const PacketView& packet, const ParseOptions& options) {
    Parsed parsed{.status = {}, .fields = old_fields()};
    parsed.status = parse_packet(packet, options, parsed.fields);
    return parsed;
}

/// A cut parser finds what the full one finds, or says what was cut.
void check_against_full(const Parsed& full, const Parsed& trimmed) {
    if (trimmed.status != ParseStatus::ok || trimmed.fields.cut_header != CutHeader::none) {
        return;
    }
    demand(full.status == ParseStatus::ok && same(full.fields, trimmed.fields));
}

void check(const FuzzedFrame& input) {
    const Parsed full = parse(input.packet, input.options);
    ParseOptions options = input.options;
    options.keep_cut_headers = true;
    options.most_bytes = input.cut;
    const Parsed by_limit = parse(input.packet, options);
    check_against_full(full, by_limit);

    const std::size_t captured = input.packet.captured.size();
    const FrameCopy frame(input.packet.captured.first(std::min(input.cut, captured)));
    PacketView delivered = input.packet;
    delivered.captured = frame.bytes();
    options.most_bytes = captured;
    const Parsed by_source = parse(delivered, options);
    demand(by_source.status == by_limit.status);
    demand(by_source.status != ParseStatus::ok || same(by_source.fields, by_limit.fields));
}

}  // namespace

}  // namespace tributary::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (auto input = tributary::fuzz::read_input(data, size)) {
        // No source delivers more than there was on the wire.
        const auto captured = static_cast<std::uint32_t>(input->packet.captured.size());
        input->packet.wire_bytes = std::max(input->packet.wire_bytes, captured);
        tributary::fuzz::check(*input);
    }
    return 0;
}
