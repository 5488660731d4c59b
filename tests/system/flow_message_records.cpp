// SPDX-License-Identifier: Apache-2.0
// Writes the same records as IPFIX and as FlowMessages, for flow_messages.py: uniflows with all
// field groups, of every kind of packet, with any other values.
//
//   flow_message_records IPFIX MESSAGES RECORDS
//
// Before each FlowMessage stands its length, a varint.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "export/ipfix/ipfix_encoder.hpp"
#include "export/message.hpp"
#include "export/messages/flow_message_encoder.hpp"
#include "export/messages/protobuf_writer.hpp"
#include "tests/support/export_harness.hpp"

namespace tributary::test {
namespace {

constexpr Timestamp kNow{std::chrono::seconds{1'700'000'000}};
constexpr std::size_t kMessageLimit = 65'000;

const RecordLayout& layout() {
    static const RecordLayout all = RecordLayout::of(kEveryGroup);
    return all;
}

/// Uniflows whose groups have any octets, save where these say what the packets were.
class RecordMaker {
public:
    Record next() {
        Record record;
        auto* const octets = reinterpret_cast<std::byte*>(&record);
        for (std::size_t at = 0; at < sizeof record; ++at) {
            octets[at] = static_cast<std::byte>(random_());
        }
        FlowRecordCore& core = record.core;
        core.key.ip_version = one_of<std::uint8_t>({4, 6});
        core.key.protocol = one_of<std::uint8_t>({1, 6, 6, 17, 58});
        core.key.vlan = {one_of<std::uint16_t>({0, 1, 4094})};
        core.end_reason = one_of({FlowEndReason::idle_timeout, FlowEndReason::lack_of_resources});
        core.packets = one_of<std::uint64_t>({0, 1, 127, 128, core.packets});
        core.start = kNow - std::chrono::nanoseconds{random_() % 1'000'000'000'000};
        core.end = core.start + std::chrono::nanoseconds{random_() % 1'000'000'000};
        auto& layer2 = record.group<Layer2Group>(layout().at<Layer2Group>());
        layer2.vlan_tags = one_of<std::uint8_t>({0, 1, 2, 7});
        layer2.has_mac_addresses = random_() % 2 != 0;
        auto& label = record.group<FlowLabelGroup>(layout().at<FlowLabelGroup>());
        label.flow_label = one_of<std::uint32_t>({0, 0xFFFFF});
        set_labels(record.group<MplsGroup>(layout().at<MplsGroup>()));
        auto& tunnel = record.group<TunnelGroup>(layout().at<TunnelGroup>());
        tunnel.kind = one_of({TunnelKind::none, TunnelKind::gre, TunnelKind::vxlan});
        tunnel.ip_version = one_of<std::uint8_t>({4, 6});
        auto& tcp = record.group<TcpAnalysisGroup>(layout().at<TcpAnalysisGroup>());
        tcp.flow_size = one_of({TcpAnalysisGroup::kNoSize, 7U});
        tcp.duration = one_of<std::int64_t>({0, 1'000'000'000'000});
        return record;
    }

private:
    template <class Value>
    Value one_of(std::initializer_list<Value> values) {
        return values.begin()[random_() % values.size()];
    }
    void set_labels(MplsGroup& mpls) {
        constexpr std::uint64_t kDepths = 13;
        constexpr std::byte kBottom{1};
        mpls.labels = static_cast<std::uint8_t>(random_() % kDepths);
        for (std::size_t place = 0; place < MplsGroup::kSections; ++place) {
            auto& section = mpls.sections.at(place);
            section[2] = place + 1 == mpls.labels ? section[2] | kBottom : section[2] & ~kBottom;
            section = place < mpls.labels ? section : std::array<std::byte, 3>{};
        }
    }

    std::mt19937_64 random_{1};
};

void write(std::ofstream& to, std::span<const std::byte> octets) {
    to.write(reinterpret_cast<const char*>(octets.data()),
             static_cast<std::streamsize>(octets.size()));
}

class IpfixFile {
public:
    explicit IpfixFile(const char* path) : to_(path, std::ios::binary) {}

    void add(const Record& record) {
        if (encoder_.append(bytes_of(record)) != AppendResult::added) {
            close();
            static_cast<void>(encoder_.append(bytes_of(record)));
        }
    }
    bool close() {
        for (; written_ < encoder_.template_messages(); ++written_) {
            send(encoder_.template_message(written_), 0, {});
        }
        const EncodedMessage closed = encoder_.close();
        send(closed.octets, closed.records, closed.latest_end);
        return to_.flush().good();
    }

private:
    void send(MessageView message, std::uint32_t records, Timestamp latest_end) {
        std::vector<std::byte> octets(message.begin(), message.end());
        numbering_.stamp(octets, records, kNow, latest_end);
        write(to_, octets);
    }

    IpfixEncoder encoder_{{.observation_domain = 42,
                           .probe = {},
                           .timestamps = TimestampUnit::nanoseconds,
                           .fields = kEveryGroup,
                           .collectors = {}},
                          layout(),
                          kMessageLimit};
    MessageNumbering numbering_;
    std::size_t written_ = 0;
    std::ofstream to_;
};

class MessageFile {
public:
    explicit MessageFile(const char* path) : to_(path, std::ios::binary) {
        encoder_.set_time(kNow);
    }
    void add(const Record& record, std::uint64_t sequence) {
        std::vector<std::byte> message(encoder_.most_octets());
        message.resize(encoder_.encode(0, bytes_of(record), sequence, message));
        std::array<std::byte, kLongestVarint + ProtobufWriter::kSlack> length;
        ProtobufWriter before(length.data());
        before.put_raw_varint(message.size());
        write(to_, std::span(length).first(before.size()));
        write(to_, message);
    }
    bool close() { return to_.flush().good(); }

private:
    FlowMessageEncoder encoder_{{.probe_name = "K\xC3\xB6ln 1",
                                 .probe_address = "2001:db8::1",
                                 .observation_domain = 42,
                                 .stream = 0xFEDC'BA98'7654'3210},
                                {},
                                {},
                                std::array{layout()}};
    std::ofstream to_;
};

int run(std::span<const char* const> arguments) {
    RecordMaker maker;
    IpfixFile ipfix(arguments[1]);
    MessageFile messages(arguments[2]);
    const std::uint64_t first = 0xFFFF'FF00;  // sequence_num begins anew on the way
    const std::uint64_t records = std::stoull(arguments[3]);
    for (std::uint64_t number = 0; number < records; ++number) {
        const Record record = maker.next();
        ipfix.add(record);
        messages.add(record, first + number);
    }
    return ipfix.close() && messages.close() ? 0 : 1;
}

}  // namespace
}  // namespace tributary::test

int main(int count, char** arguments) {
    constexpr int kArguments = 4;
    if (count != kArguments) {
        std::cerr << "flow_message_records IPFIX MESSAGES RECORDS\n";
        return 64;
    }
    try {
        return tributary::test::run({arguments, static_cast<std::size_t>(count)});
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}
