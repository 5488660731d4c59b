// SPDX-License-Identifier: Apache-2.0
// The time per record of FlowMessages, beside protobuf's own generated code, which fills objects of
// the same fields and writes those. Records are of IPv4 flows with the default fields, in memory.
//
//   flow_message_rate           JSON on standard output
//   flow_message_rate --check   only checks that both make the same messages
//                               (--help: all options)

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "export/messages/flow_message_encoder.hpp"
#include "perf/flow.pb.h"
#include "perf/support/ended_records.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/report_failure.hpp"
#include "perf/tributary_flow.pb.h"

namespace tributary::perf {
namespace {

using Record = FlowRecord<kPlainRecord>;

constexpr std::uint32_t kRecords = 1024;  ///< repeated
constexpr std::size_t kRoom = 1024;
constexpr std::uint32_t kDomain = 42;
constexpr std::uint64_t kStream = 0x0123'4567'89AB'CDEF;
const std::string probe_name = "probe-1.example.org";
const std::string probe_octets("\xC0\x00\x02\x01", 4);

const std::byte* bytes_of(const Record& record) {
    return reinterpret_cast<const std::byte*>(&record);
}

std::uint64_t nanoseconds(Timestamp time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
}

std::string_view address_of(const IpAddress& address) {
    return {reinterpret_cast<const char*>(address.data()), 4};
}

/// Ours.
class Encoder {
public:
    [[nodiscard]] std::size_t encode(const Record& record, std::uint64_t sequence) {
        return encoder_.encode(0, bytes_of(record), sequence, out_);
    }
    [[nodiscard]] std::string_view octets(std::size_t size) const {
        return {reinterpret_cast<const char*>(out_.data()), size};
    }

private:
    FlowMessageEncoder encoder_{{.probe_name = probe_name,
                                 .probe_address = "192.0.2.1",
                                 .observation_domain = kDomain,
                                 .stream = kStream},
                                {},
                                {},
                                std::array{RecordLayout{}}};
    std::array<std::byte, kRoom> out_{};
};

/// What protoc has made of the two schemas. The objects are used again for each record, which is
/// their fastest use.
class GeneratedCode {
public:
    [[nodiscard]] std::size_t encode(const Record& record, std::uint64_t sequence) {
        fill(record, sequence);
        const auto first = static_cast<std::size_t>(flow_.ByteSizeLong());
        const auto second = static_cast<std::size_t>(ours_.ByteSizeLong());
        demand(first + second <= out_.size(), "room for a message");
        flow_.SerializeWithCachedSizesToArray(out_.data());
        ours_.SerializeWithCachedSizesToArray(out_.data() + first);
        return first + second;
    }
    /// Whether octets are a message of the same fields as the last one encoded.
    [[nodiscard]] bool has_same(std::string_view octets) const {
        return is_same(flow_, octets) && is_same(ours_, octets);
    }

private:
    void fill(const Record& record, std::uint64_t sequence) {
        const FlowRecordCore& core = record.core;
        flow_.set_type(flowpb::FlowMessage::IPFIX);
        flow_.set_time_received_ns(nanoseconds(core.end));
        flow_.set_sequence_num(static_cast<std::uint32_t>(sequence));
        flow_.set_sampling_rate(1);
        flow_.set_sampler_address(probe_octets);
        flow_.set_time_flow_start_ns(nanoseconds(core.start));
        flow_.set_time_flow_end_ns(nanoseconds(core.end));
        flow_.set_bytes(core.octets);
        flow_.set_packets(core.packets);
        flow_.mutable_src_addr()->assign(address_of(core.key.source));
        flow_.mutable_dst_addr()->assign(address_of(core.key.destination));
        flow_.set_etype(0x0800);
        flow_.set_proto(core.key.protocol);
        flow_.set_src_port(core.key.source_port.value);
        flow_.set_dst_port(core.key.destination_port.value);
        flow_.set_in_if(core.key.ingress_interface.value);
        flow_.set_ip_tos(core.ip_class_of_service);
        flow_.set_tcp_flags(core.tcp_control_bits);
        flow_.set_observation_domain_id(kDomain);
        ours_.set_probe_name(probe_name);
        ours_.set_stream(kStream);
        ours_.set_stream_sequence(sequence);
        ours_.set_flow_end_reason(static_cast<std::uint32_t>(core.end_reason));
    }
    /// Of a message's fields those that its type has, written in the one order of the generated
    /// code.
    template <class Message>
    [[nodiscard]] static bool is_same(const Message& expected, std::string_view octets) {
        Message parsed;
        demand(parsed.ParseFromArray(octets.data(), static_cast<int>(octets.size())),
               "the generated code parses the message");
        parsed.DiscardUnknownFields();
        return parsed.SerializeAsString() == expected.SerializeAsString();
    }

    flowpb::FlowMessage flow_;
    TributaryFlow ours_;
    std::array<std::uint8_t, kRoom> out_{};
};

template <class Subject>
void work(Subject& subject, const std::vector<Record>& records, std::uint64_t count) {
    for (std::uint64_t done = 0; done < count; ++done) {
        keep(subject.encode(records[done % kRecords], done));
    }
}

void check(const std::vector<Record>& records) {
    Encoder encoder;
    GeneratedCode generated;
    for (std::uint64_t number = 0; number < records.size(); ++number) {
        const std::size_t octets = encoder.encode(records[number], number);
        demand(generated.encode(records[number], number) == octets, "both have as many octets");
        demand(generated.has_same(encoder.octets(octets)), "both have the same fields");
    }
}

int run(int argc, char** argv) {
    bool check_only = false;
    int rounds = 5;
    std::uint64_t records = 5'000'000;
    CLI::App app("What a FlowMessage costs");
    app.add_flag("--check", check_only, "only check that both make the same messages");
    app.add_option("--rounds", rounds, "of which the median is taken");
    app.add_option("--records", records, "per round");
    CLI11_PARSE(app, argc, argv);
    const std::vector<Record> ended = ended_records(kRecords);
    check(ended);
    if (check_only) {
        return EXIT_SUCCESS;
    }
    Encoder encoder;
    GeneratedCode generated;
    const std::vector<Subject> subjects{
        {.name = "FlowMessage, the encoder",
         .work = [&](std::uint64_t count) { work(encoder, ended, count); }},
        {.name = "FlowMessage, protobuf's generated code",
         .work = [&](std::uint64_t count) { work(generated, ended, count); }},
    };
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Figure& figure : measure_in_turn(subjects, rounds, records)) {
        json.push_back({{"name", figure.name},
                        {"ns", figure.median},
                        {"ns_least", figure.least},
                        {"ns_most", figure.most}});
    }
    std::cout << json.dump(2) << "\n";
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tributary::perf

int main(int argc, char** argv) {
    return tributary::perf::report_failure([=] { return tributary::perf::run(argc, argv); });
}
