// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "export/ipfix/ipfix_encoder.hpp"
#include "flowcache/record/record_stream.hpp"
#include "perf/support/in_turn.hpp"
#include "perf/support/this_thread.hpp"

namespace tributary::perf {

/// The export thread's work without its thread: drains a ring, encodes, and counts the messages'
/// octets. Measures its time.
class ExportSide {
public:
    explicit ExportSide(const ExportOptions& options = {}, const RecordLayout& layout = {})
        : encoder_(options, layout, kMessageBytes),
          record_bytes_(record_size(layout)),
          batch_(std::make_unique<std::byte[]>(kBatchRecords * record_bytes_)) {}

    /// Drains the ring.
    void drain(RecordSource& ring) {
        const double start = cpu_time_of_this_thread();
        while (const std::size_t count =
                   ring.drain({batch_.get(), kBatchRecords * record_bytes_}, kBatchRecords)) {
            for (std::size_t i = 0; i < count; ++i) {
                add(batch_.get() + i * record_bytes_);
            }
            records_ += count;
        }
        seconds_ += cpu_time_of_this_thread() - start;
    }
    /// @param record  of the layout, aligned to 8
    void add(const std::byte* record) {
        if (on_record) {
            on_record(*reinterpret_cast<const FlowRecordCore*>(record));
        }
        if (encoder_.append(record) == AppendResult::added) {
            return;
        }
        flush();
        demand(encoder_.append(record) == AppendResult::added, "the encoder refused a record");
    }
    /// Closes the open message.
    void flush() { octets_ += encoder_.close().octets.size(); }

    [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
    [[nodiscard]] std::uint64_t octets() const noexcept { return octets_; }
    [[nodiscard]] double nanoseconds() const noexcept { return seconds_ * 1e9; }

    /// For checks: gets each record.
    std::function<void(const FlowRecordCore&)> on_record;

private:
    static constexpr std::size_t kMessageBytes = 1400;
    static constexpr std::size_t kBatchRecords = 256;

    IpfixEncoder encoder_;
    std::size_t record_bytes_;
    std::unique_ptr<std::byte[]> batch_;
    std::uint64_t records_ = 0;
    std::uint64_t octets_ = 0;
    double seconds_ = 0;
};

}  // namespace tributary::perf
