// SPDX-License-Identifier: Apache-2.0
#include "daemon/pipeline/live_flows.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>

#include "daemon/machine/host_clock.hpp"
#include "daemon/pipeline/mailbox.hpp"
#include "export/ipfix/ipfix_encoder.hpp"

namespace tributary {
namespace {

constexpr std::size_t kMessageOctets = 16'384;
constexpr std::size_t kRecordsAtATime = 2048;

/// Has a queue's thread carry out one command. @return  the command as the thread left it
template <class Command>
Command carried_out(Pipeline& pipeline, std::size_t queue, const Command& command) {
    InputCommand given = command;
    if (!pipeline.send_command(queue, given)) {
        throw ThreadHangs("thread " + pipeline.threads()[queue]->thread + " does not answer");
    }
    return std::get<Command>(given);
}

/// @errors  also std::runtime_error: no room for the records
void end_flows_of(Pipeline& pipeline, std::size_t queue) {
    using std::chrono::steady_clock;
    EndFlows command;
    auto moved_at = steady_clock::now();
    while (!command.is_through) {
        const EndFlows next = carried_out(pipeline, queue, command);
        if (next.scan != command.scan) {
            moved_at = steady_clock::now();
        } else if (steady_clock::now() - moved_at >= Pipeline::kCommandPatience) {
            throw std::runtime_error(
                "no collector takes records, rings and caches are full; flows go on");
        }
        command = next;
    }
}

/// Encodes records, and passes each full message to `write`.
class MessageWriter {
public:
    MessageWriter(const ExportOptions& options, const RecordLayout& layout,
                  const std::function<bool(MessageView)>& write)
        : encoder_(options, layout, kMessageOctets), write_(write) {}

    /// @return  false: `write` has returned false
    [[nodiscard]] bool add(const std::byte* record) {
        return encoder_.append(record) == AppendResult::added ||
               (close() && encoder_.append(record) == AppendResult::added);
    }
    /// @return  false: `write` has returned false
    [[nodiscard]] bool add_all(std::span<const std::byte> records, std::size_t record_bytes) {
        bool goes_on = true;
        for (; goes_on && !records.empty(); records = records.subspan(record_bytes)) {
            goes_on = add(records.data());
        }
        return goes_on;
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
        numbering_.stamp(message_, records, host_clock(), latest_end);
        return write_(message_);
    }

    IpfixEncoder encoder_;
    MessageNumbering numbering_;
    const std::function<bool(MessageView)>& write_;
    std::size_t templates_ = 0;  ///< written
    std::vector<std::byte> message_;
};

/// Sends all queues a command. Where a thread hangs, the queues before it get the former command
/// again, as far as they answer.
template <class Command>
void set_everywhere(Pipeline& pipeline, QueueRange queues, const Command& wanted,
                    const Command& former) {
    std::size_t queue = queues.first;
    try {
        for (; queue < queues.first + queues.count; ++queue) {
            static_cast<void>(carried_out(pipeline, queue, wanted));
        }
    } catch (const ThreadHangs&) {
        while (queue-- > queues.first) {
            InputCommand back = former;
            static_cast<void>(pipeline.send_command(queue, back));
        }
        throw;
    }
}

}  // namespace

void write_live_flows(Pipeline& pipeline, const ExportOptions& options, const RecordLayout& layout,
                      const std::function<bool(MessageView)>& write) {
    MessageWriter messages(options, layout, write);
    const std::size_t record_bytes = record_size(layout);
    const std::size_t room = kRecordsAtATime * record_bytes;
    const std::shared_ptr<std::byte[]> records(new std::byte[room]);
    bool goes_on = true;
    for (std::size_t queue = 0; queue < pipeline.queue_count() && goes_on; ++queue) {
        CopyFlows command{.copies = records, .room = room};
        while (!command.is_through && goes_on) {
            command.records = 0;
            command = carried_out(pipeline, queue, command);
            goes_on =
                messages.add_all({records.get(), command.records * record_bytes}, record_bytes);
        }
    }
    if (goes_on) {
        static_cast<void>(messages.close());
    }
}

void end_live_flows(Pipeline& pipeline) {
    for (std::size_t queue = 0; queue < pipeline.queue_count(); ++queue) {
        end_flows_of(pipeline, queue);
    }
}

void set_live_timeouts(Pipeline& pipeline, const LiveTimeouts& timeouts) {
    const QueueRange all{.first = 0, .count = pipeline.queue_count()};
    set_everywhere(pipeline, all, SetTimeouts{timeouts.wanted}, SetTimeouts{timeouts.former});
}

void set_live_filter(Pipeline& pipeline, QueueRange queues, const LiveFilter& filter) {
    set_everywhere(pipeline, queues, SetFilter{filter.wanted}, SetFilter{filter.former});
}

}  // namespace tributary
