// SPDX-License-Identifier: Apache-2.0
#include "export/collector/record_writer.hpp"

#include <chrono>
#include <utility>

#include "export/collector/message_collector.hpp"
#include "export/ipfix/ipfix_format.hpp"
#include "export/transport/transport.hpp"

namespace tributary {
namespace {

constexpr std::size_t kMessageOctets = 16'384;

/// Hands messages to a function, until it takes no more.
class FunctionTransport final : public Transport {
public:
    /// @param is_over  set when the function takes no more; outlives the transport
    FunctionTransport(RecordWriter::Write write, bool& is_over)
        : write_(std::move(write)), is_over_(is_over) {}

    void advance(std::chrono::nanoseconds) noexcept override {}
    [[nodiscard]] std::uint64_t session() const noexcept override { return 1; }
    [[nodiscard]] SendResult send(std::span<const MessageView> messages,
                                  std::chrono::nanoseconds) noexcept override {
        SendResult result{.taken = 0, .rest = SendStatus::taken};
        for (const MessageView message : messages) {
            is_over_ = is_over_ || !write_(message);
            if (is_over_) {
                result.rest = SendStatus::would_block;
                break;
            }
            ++result.taken;
        }
        delivered_ += result.taken;
        return result;
    }
    [[nodiscard]] SendOutcomes collect_outcomes(std::chrono::nanoseconds) noexcept override {
        return {.delivered = std::exchange(delivered_, 0)};
    }

private:
    RecordWriter::Write write_;
    bool& is_over_;
    std::size_t delivered_{};
};

/// For one reader, which is told of the flows of one table alone.
ExportOptions for_one_reader(ExportOptions options, const std::string& table) {
    options.mode = ExportMode::copy;
    options.options_interval = {};
    options.collectors.resize(1);
    CollectorOptions& reader = options.collectors.front();
    reader = {};
    reader.transport = TransportKind::file;
    reader.tables = {table};
    return options;
}

/// The same, and of the types of the elements that a declaration has made.
ExportOptions with_types(ExportOptions options) {
    options.options_interval = std::chrono::hours(1);  // they are sent once, at the beginning
    CollectorOptions& reader = options.collectors.front();
    reader.sampling = SamplingForm::none;
    reader.options = {.reliability = false,
                      .statistics = false,
                      .interfaces = false,
                      .flow_keys = false,
                      .types = true};
    return options;
}

}  // namespace

RecordWriter::RecordWriter(const ExportOptions& options, const RecordLayout& layout, Write write)
    : RecordWriter(for_one_reader(options, std::string(kMainTable)), {.layout = layout}, 0,
                   std::move(write)) {}

RecordWriter::RecordWriter(const ExportOptions& options, const FurtherTable& table, Write write)
    : RecordWriter(with_types(for_one_reader(options, table.name)),
                   {.layout = {}, .further = {table}}, 1, std::move(write)) {}

RecordWriter::RecordWriter(ExportOptions options, MeteringProcess metering, std::size_t table,
                           Write write)
    : options_(std::move(options)),
      metering_(std::move(metering)),
      table_(table),
      layout_(metering_.layouts()[table]),
      collector_(std::make_unique<MessageCollector>(
          CollectorParts{.options = options_,
                         .metering = metering_,
                         .accounting = accounting_,
                         .handler = no_handler_},
          std::make_unique<IpfixFormat>(options_, options_.collectors.front(), metering_,
                                        kMessageOctets),
          [&](const CollectorOptions&, CollectorEvents&) {
              return std::make_unique<FunctionTransport>(std::move(write), is_over_);
          })) {}

bool RecordWriter::add(std::span<const std::byte> records, Timestamp now) {
    const ExportTime time{.wall = now};
    const std::size_t octets = record_size(layout_);
    for (; !records.empty() && !is_over_; records = records.subspan(octets)) {
        const RecordTally tally = tally_of(records.data(), layout_);
        collector_->add(
            {.bytes = records.data(),
             .entry = {.queue = kNoQueue, .packets = tally.packets, .octets = tally.octets},
             .layout = table_},
            time);
    }
    if (!is_over_) {
        collector_->advance(time);
    }
    return !is_over_;
}

void RecordWriter::end(Timestamp now) {
    if (add({}, now)) {
        static_cast<void>(collector_->flush({.wall = now}));
    }
}

}  // namespace tributary
