// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>

#include "export/export_time.hpp"
#include "export/options.hpp"
#include "flowcache/record/flow_record.hpp"
#include "flowcache/record/record_stream.hpp"

// Shared by the tests of export/: records, queues of them, and time.
namespace tributary::test {

using Record = FlowRecord<kRecordSizes.back()>;

/// An ended record of 10 packets and 1000 octets, of time 1'600'000'000.25 to .75 s; `number` makes
/// flows differ.
inline Record record_of(std::uint16_t number, std::uint8_t ip_version = 4) {
    using std::chrono::milliseconds;
    Record record{};
    record.core.key.source[0] = std::byte{192};
    record.core.key.source[3] = std::byte{1};
    record.core.key.destination[0] = std::byte{198};
    record.core.key.destination[3] = std::byte{2};
    record.core.key.source_port = {number};
    record.core.key.destination_port = {53};
    record.core.key.protocol = 17;
    record.core.key.ip_version = ip_version;
    record.core.key.ingress_interface = {7};
    record.core.end_reason = FlowEndReason::idle_timeout;
    record.core.packets = 10;
    record.core.octets = 1000;
    record.core.start = Timestamp{milliseconds{1'600'000'000'250}};
    record.core.end = Timestamp{milliseconds{1'600'000'000'750}};
    return record;
}

/// A record with group mpls only: packets with one label. Its template is not sent before the first
/// such record.
inline Record labelled_record(std::uint16_t number) {
    const RecordLayout layout = RecordLayout::of(groups_of<MplsGroup>());
    Record record = record_of(number);
    record.group<MplsGroup>(layout.at<MplsGroup>()).labels = 1;
    return record;
}

inline const std::byte* bytes_of(const Record& record) {
    return reinterpret_cast<const std::byte*>(&record);
}

/// The queue of a worker, with as many records as a test puts into it.
class RecordQueue final : public RecordSource {
public:
    /// @param table  the index of the layout in the MeteringProcess
    explicit RecordQueue(const RecordLayout& layout = {}, std::size_t table = 0)
        : layout_(layout), table_(table), record_bytes_(record_size(layout)) {}

    void put(const Record& record) { records_.push_back(record); }
    void put_many(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            put(record_of(static_cast<std::uint16_t>(i)));
        }
    }
    [[nodiscard]] std::size_t left() const { return records_.size(); }

    [[nodiscard]] std::size_t drain(std::span<std::byte> out,
                                    std::size_t max_records) noexcept override {
        const std::size_t count = std::min(max_records, records_.size());
        for (std::size_t i = 0; i < count; ++i) {
            std::memcpy(out.data() + i * record_bytes_, &records_.front(), record_bytes_);
            records_.pop_front();
        }
        return count;
    }
    [[nodiscard]] const RecordLayout& layout() const noexcept override { return layout_; }
    [[nodiscard]] std::size_t table() const noexcept override { return table_; }

private:
    RecordLayout layout_;
    std::size_t table_;
    std::size_t record_bytes_;
    std::deque<Record> records_;
};

/// For tests that count messages.
inline ExportOptions without_options_records() {
    ExportOptions options;
    options.options_interval = {};
    return options;
}

/// `uptime` after the start of a test, which is a second after the records' end.
inline ExportTime at(std::chrono::milliseconds uptime) {
    return {.wall = Timestamp{std::chrono::seconds{1'600'000'001}} + uptime, .uptime = uptime};
}

}  // namespace tributary::test
