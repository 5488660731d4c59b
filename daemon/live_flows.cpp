// SPDX-License-Identifier: Apache-2.0
#include "daemon/live_flows.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <variant>

#include "daemon/input_order.hpp"
#include "export/ipfix_encoder.hpp"

namespace tributary {
namespace {

constexpr std::size_t kMessageOctets = 16'384;
constexpr std::size_t kRecordsAtATime = 2048;

/// Has a queue's thread do one order.
template <class Order>
Order done(Pipeline& pipeline, std::size_t queue, const Order& order) {
    InputOrder given = order;
    if (!pipeline.give_order(queue, given)) {
        throw ThreadHangs("thread " + pipeline.threads()[queue]->thread + " does not answer");
    }
    return std::get<Order>(given);
}

/// Has a queue's thread go on with an order until it is through.
template <class Order>
void carry_out(Pipeline& pipeline, std::size_t queue) {
    Order order;
    while (!order.is_through) {
        order = done(pipeline, queue, order);
    }
}

/// Encodes records, and hands each message on when it is full.
class MessageWriter {
public:
    MessageWriter(const ExportOptions& options, const RecordLayout& layout,
                  const std::function<bool(MessageView)>& write)
        : encoder_(options, layout, kMessageOctets), write_(write) {}

    /// @return  false: nobody wants more
    [[nodiscard]] bool add(const std::byte* record) {
        const AppendResult result = encoder_.append(record);
        if (result == AppendResult::message_full) {
            return close() && encoder_.append(record) == AppendResult::added;
        }
        if (result == AppendResult::failed) {
            throw ExportError("a flow cannot be encoded");
        }
        return true;
    }
    [[nodiscard]] bool close() {
        const EncodedMessage closed = encoder_.close();
        while (templates_ < encoder_.template_messages()) {
            if (!send(encoder_.template_message(templates_++), 0, {})) {
                return false;
            }
        }
        return closed.octets.empty() || send(closed.octets, closed.records, closed.latest_end);
    }

private:
    bool send(MessageView made, std::uint32_t records, Timestamp latest_end) {
        message_.assign(made.begin(), made.end());
        const Timestamp now{std::chrono::duration_cast<Timestamp::duration>(
            std::chrono::system_clock::now().time_since_epoch())};
        numbering_.stamp(message_, records, now, latest_end);
        return write_(message_);
    }

    IpfixEncoder encoder_;
    MessageNumbering numbering_;
    const std::function<bool(MessageView)>& write_;
    std::size_t templates_ = 0;  ///< written
    std::vector<std::byte> message_;
};

}  // namespace

void write_live_flows(Pipeline& pipeline, const ExportOptions& options, const RecordLayout& layout,
                      const std::function<bool(MessageView)>& write) {
    MessageWriter messages(options, layout, write);
    const std::size_t record_bytes = record_size(layout);
    const std::size_t room = kRecordsAtATime * record_bytes;
    const auto records = std::make_unique<std::byte[]>(room);
    for (std::size_t queue = 0; queue < pipeline.queue_count(); ++queue) {
        CopyFlows order;
        while (!order.is_through) {
            order.room = {records.get(), room};
            order.records = 0;
            order = done(pipeline, queue, order);
            for (std::size_t record = 0; record < order.records; ++record) {
                if (!messages.add(records.get() + record * record_bytes)) {
                    return;
                }
            }
        }
    }
    static_cast<void>(messages.close());
}

void end_live_flows(Pipeline& pipeline) {
    for (std::size_t queue = 0; queue < pipeline.queue_count(); ++queue) {
        carry_out<EndFlows>(pipeline, queue);
    }
}

void set_live_timeouts(Pipeline& pipeline, const Timeouts& timeouts) {
    for (std::size_t queue = 0; queue < pipeline.queue_count(); ++queue) {
        static_cast<void>(done(pipeline, queue, SetTimeouts{timeouts}));
        carry_out<ScheduleFlows>(pipeline, queue);
    }
}

void set_live_filter(Pipeline& pipeline, QueueRange queues, PacketSelector* filter) {
    for (std::size_t queue = queues.first; queue < queues.first + queues.count; ++queue) {
        static_cast<void>(done(pipeline, queue, SetFilter{filter}));
    }
}

}  // namespace tributary
